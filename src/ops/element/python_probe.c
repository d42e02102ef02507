/* SPDX-License-Identifier: Apache-2.0 */
/* Tries a function when a job is prepared: what its results are, if that was not said, and whether two
 * processes get the same. */
#include <string.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/mem.h"
#include "ops/element/python_op.h"
#include "ops/op_util.h"

/* Elements are called for at most so long; the first one always is. */
#define TRY_MS 2000

struct trial {
    const struct cw_python_opts *o;
    const struct cw_op_probe *probe;
    struct cw_python_function function;
    struct cw_python_layout layout;
    const struct cw_spec *told; /* what has to come out; NULL: it is to be found out */
    size_t n;                   /* elements that are called for */
    uint64_t sums[16];
    struct cw_spec found; /* what the first element's result was, without names */
    char *names;
};

static void hash_results(struct cw_hasher *hasher, const struct cw_view *results, size_t n)
{
    for (size_t k = 0; k < n; k++) {
        cw_hasher_add_u64(hasher, results[k].dtype);
        for (int i = 0; i < results[k].rank; i++)
            cw_hasher_add_u64(hasher, (uint64_t)results[k].dims[i]);
        cw_hasher_add(hasher, results[k].data, results[k].bytes);
    }
}

static void note_first(struct trial *t, const struct cw_python_child *child,
                       const struct cw_view *results, size_t n)
{
    cw_spec_reset(&t->found, n);
    for (size_t k = 0; k < n; k++) {
        struct cw_field *field = &t->found.fields[k];
        field->dtype = results[k].dtype;
        field->rank = results[k].rank;
        memcpy(field->dims, results[k].dims, (size_t)field->rank * sizeof(field->dims[0]));
        if (t->o->batched && field->rank > 0)
            field->dims[0] = -1;
    }
    cw_mem_free(t->names);
    t->names = cw_mem_strdup(cw_python_child_names(child));
}

static int call_one(struct trial *t, struct cw_python_child *child, size_t i, uint64_t *ret_sum,
                    struct cw_err *err)
{
    struct cw_view given[CW_PYTHON_FIELDS_MAX], results[CW_PYTHON_FIELDS_MAX];
    size_t n = 0;
    for (size_t k = 0; k < t->layout.given_n; k++)
        given[k] = t->probe->elements[i].fields[t->layout.index[k]];
    int rc =
        cw_python_child_call(child, given, t->layout.given_n, i, t->probe->stop, results, &n, err);
    if (rc < 0)
        return rc;
    if (i == 0)
        note_first(t, child, results, n);
    struct cw_hasher *hasher = cw_hasher_new();
    cw_hasher_add_u64(hasher, (uint64_t)rc);
    hash_results(hasher, results, n);
    *ret_sum = cw_hasher_get(hasher).lo;
    cw_hasher_free(hasher);
    return 0;
}

/* Calls for the elements in a child of their own, and remembers or compares the results. An element that
 * fails ends the trial if it is the first one, and is left to the job else. */
static int try_in_child(struct trial *t, bool again, struct cw_err *err)
{
    struct cw_python_child *child = NULL;
    int64_t end_ms = cw_clock_ms() + TRY_MS;
    int rc = cw_python_child_start(&t->function, t->probe->stop, &child, err);
    if (rc == 0)
        rc = cw_python_child_tell(child, &t->layout.given, t->told, t->probe->stop, err);
    for (size_t i = 0; rc == 0 && i < t->n; i++) {
        uint64_t sum = 0;
        if (!again && i > 0 && cw_clock_ms() > end_ms)
            t->n = i;
        else if (call_one(t, child, i, &sum, i == 0 ? err : NULL) < 0)
            rc = i == 0 && err ? err->code : 1;
        else if (again && sum != t->sums[i])
            rc = cw_err_set(err, CW_E_INVALID,
                            "it gave different results for element %zu in two processes: draw from "
                            "libcachew.rng(), random or numpy.random, whose seed is the element's, "
                            "or say deterministic=False",
                            i);
        else
            t->sums[i] = sum;
        if (rc == 1) {
            t->n = i;
            rc = 0;
        }
    }
    cw_python_child_free(child);
    return rc;
}

static int say_spec(struct trial *t, struct cw_value *said, struct cw_err *err)
{
    struct cw_value names = {0};
    CW_SPEC_AUTO spec = {0};
    int rc = cw_value_parse(t->names, strlen(t->names), "names", &names, err);
    if (rc == 0 && (names.type != CW_VALUE_LIST || names.n != t->found.n || names.n == 0))
        rc = cw_err_set(err, CW_E_INVALID, "it returned no fields");
    for (size_t k = 0; rc == 0 && k < names.n; k++) {
        const struct cw_field *field = &t->found.fields[k];
        const char *name = names.items[k].type == CW_VALUE_STR ? names.items[k].s : "";
        rc = cw_spec_add(&spec, name, field->dtype, field->rank, field->dims, err);
    }
    if (rc == 0)
        cw_op_spec_to_list(&spec, cw_value_member(said, "spec"));
    cw_value_fini(&names);
    return rc;
}

static int try_it(struct trial *t, struct cw_value *said, struct cw_err *err)
{
    bool known = t->o->filters || t->o->spec.n > 0;
    int rc = cw_python_layout(t->o, t->probe->in, &t->layout, err);
    t->told = known && !t->o->filters ? &t->layout.result : NULL;
    if (!t->o->deterministic)
        t->n = 1;
    if (rc == 0)
        rc = try_in_child(t, false, err);
    if (rc == 0 && t->o->deterministic)
        rc = try_in_child(t, true, err);
    return rc == 0 && !known ? say_spec(t, said, err) : rc;
}

int cw_python_op_probe(const void *opts, const struct cw_op_probe *probe, struct cw_value *said,
                       struct cw_err *err)
{
    struct trial t = {.o = opts, .probe = probe};
    t.n = CW_MIN(probe->n, CW_ARRAY_LEN(t.sums));
    cw_python_function_of(t.o, &t.function);
    int rc = try_it(&t, said, err);
    cw_mem_free(t.names);
    cw_spec_fini(&t.found);
    cw_python_layout_fini(&t.layout);
    return rc < 0 ? cw_python_wrap(t.o, err) : rc;
}
