/* SPDX-License-Identifier: Apache-2.0 */
/* Calls functions in Python: the layout of what goes to a child and comes back, and children of
 * threads. */
#include "ops/element/python_op.h"

#include <stdatomic.h>
#include <string.h>

#include "base/mem.h"
#include "ops/op_util.h"

/* What a child may say that a call has used: a day. */
#define CPU_NS_MAX (INT64_C(86400) * 1000000000)

/* ---- layout ---- */

static bool is_packed(const struct cw_field *field)
{
    return (field->dtype == CW_DTYPE_STR && field->rank > 0) || cw_field_is_ragged(field);
}

static int find_given(const struct cw_python_opts *o, const struct cw_spec *in,
                      struct cw_python_layout *l, struct cw_err *err)
{
    l->given_n = o->on.n ? o->on.n : in->n;
    if (l->given_n > CW_PYTHON_FIELDS_MAX)
        return cw_err_set(
            err, CW_E_LIMIT,
            "a function gets at most %d fields, and would get %zu: name those that it "
            "needs with on",
            CW_PYTHON_FIELDS_MAX, l->given_n);
    for (size_t k = 0; k < l->given_n; k++) {
        int at = o->on.n ? cw_spec_find(in, o->on.v[k]) : (int)k;
        CW_STR_AUTO spec = {0};
        cw_spec_print(in, &spec);
        if (at < 0)
            return cw_err_set(err, CW_E_INVALID,
                              "option on: there is no field \"%s\"; what comes in is %s",
                              o->on.v[k], cw_str_text(&spec));
        if (is_packed(&in->fields[at]))
            return cw_err_set(err, CW_E_INVALID,
                              "field \"%s\" is a batch of strings or of rows of different shapes: "
                              "put the function before the batch, or name other fields with on",
                              in->fields[at].name);
        if (in->fields[at].dtype == CW_DTYPE_BF16)
            return cw_err_set(
                err, CW_E_INVALID,
                "field \"%s\" is bf16, which NumPy has not: cast it to f32 before, and "
                "back behind",
                in->fields[at].name);
        l->index[k] = (size_t)at;
        cw_spec_push(&l->given, &in->fields[at]);
    }
    return 0;
}

static bool is_given(const struct cw_python_layout *l, size_t field)
{
    for (size_t k = 0; k < l->given_n; k++)
        if (l->index[k] == field)
            return true;
    return false;
}

static int add_out(struct cw_python_layout *l, const struct cw_field *field, int from,
                   struct cw_err *err)
{
    l->from[l->out.n % CW_FIELDS_MAX] = from;
    return cw_spec_add(&l->out, field->name, field->dtype, field->rank, field->dims, err);
}

/* A result with the name of a field that came in takes its place; others stand behind. */
static int find_out(const struct cw_spec *in, struct cw_python_layout *l, struct cw_err *err)
{
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < in->n; i++) {
        int result = cw_spec_find(&l->result, in->fields[i].name);
        if (result >= 0)
            rc = add_out(l, &l->result.fields[result], -1 - result, err);
        else if (!is_given(l, i))
            rc = add_out(l, &in->fields[i], (int)i, err);
    }
    for (size_t k = 0; rc == 0 && k < l->result.n; k++)
        if (cw_spec_find(in, l->result.fields[k].name) < 0)
            rc = add_out(l, &l->result.fields[k], -1 - (int)k, err);
    return rc;
}

/* The results of a function of batches have as many rows as what it gets. */
static int set_rows(struct cw_python_layout *l, struct cw_err *err)
{
    for (size_t k = 0; k < l->given.n; k++)
        if (l->given.fields[k].rank < 1)
            return cw_err_set(err, CW_E_INVALID,
                              "a function of batches stands behind a batch, and field \"%s\" has "
                              "no rows",
                              l->given.fields[k].name);
    for (size_t k = 0; k < l->result.n; k++) {
        if (l->result.fields[k].rank < 1)
            return cw_err_set(err, CW_E_INVALID,
                              "field \"%s\": a function of batches gives rows, not one value",
                              l->result.fields[k].name);
        l->result.fields[k].dims[0] = l->given.fields[0].dims[0];
    }
    return 0;
}

void cw_python_layout_fini(struct cw_python_layout *layout)
{
    cw_spec_fini(&layout->out);
    cw_spec_fini(&layout->given);
    cw_spec_fini(&layout->result);
    *layout = (struct cw_python_layout){0};
}

int cw_python_layout(const struct cw_python_opts *o, const struct cw_spec *in,
                     struct cw_python_layout *layout, struct cw_err *err)
{
    struct cw_python_layout *l = layout;
    cw_python_layout_fini(l);
    int rc = find_given(o, in, l, err);
    if (rc == 0 && !o->filters)
        rc = cw_op_spec_from_list(&o->spec, &l->result, err);
    if (rc == 0 && o->batched)
        rc = set_rows(l, err);
    if (rc != 0)
        return rc;
    if (o->filters)
        l->out = cw_spec_copy(in);
    return o->filters ? 0 : find_out(in, l, err);
}

/* ---- children ---- */

struct state {
    struct cw_python_function function;
    struct cw_python_child *_Atomic spare; /* the child that open has started; NULL: it was taken */
};

struct scratch {
    struct state *state;
    struct cw_python_child *child; /* NULL: none runs */
    bool told;                     /* the child knows the fields */
    struct cw_python_layout layout;
};

void cw_python_function_of(const struct cw_python_opts *o, struct cw_python_function *ret)
{
    *ret = (struct cw_python_function){.code = o->function,
                                       .version = o->version,
                                       .packages = &o->packages,
                                       .on = &o->on,
                                       .filters = o->filters,
                                       .draws = o->random,
                                       .timeout_s = o->timeout,
                                       .memory_bytes = o->memory};
}

int cw_python_wrap(const struct cw_python_opts *o, struct cw_err *err)
{
    return cw_err_wrap(err, "%s", o->title);
}

static int open_with(const struct cw_python_opts *o, bool filters, const struct cw_op_open *how,
                     void **ret_state, struct cw_err *err)
{
    struct state *state = CW_NEW(struct state);
    struct cw_python_child *child = NULL;
    cw_python_function_of(o, &state->function);
    state->function.filters = filters;
    int rc = cw_python_child_start(&state->function, how->stop, &child, err);
    if (rc != 0) {
        cw_mem_free(state);
        return cw_python_wrap(o, err);
    }
    atomic_store(&state->spare, child);
    *ret_state = state;
    return 0;
}

int cw_python_op_open(const void *opts, const struct cw_op_open *how, void **ret_state,
                      struct cw_err *err)
{
    return open_with(opts, false, how, ret_state, err);
}

int cw_python_op_open_filter(const void *opts, const struct cw_op_open *how, void **ret_state,
                             struct cw_err *err)
{
    return open_with(opts, true, how, ret_state, err);
}

void cw_python_op_close(void *state)
{
    struct state *s = state;
    if (!s)
        return;
    cw_python_child_free(atomic_load(&s->spare));
    cw_mem_free(s);
}

void *cw_python_op_scratch_new(const void *opts, void *state)
{
    struct scratch *s = CW_NEW(struct scratch);
    (void)opts;
    s->state = state;
    return s;
}

void cw_python_op_scratch_free(void *scratch)
{
    struct scratch *s = scratch;
    if (!s)
        return;
    cw_python_child_free(s->child);
    cw_python_layout_fini(&s->layout);
    cw_mem_free(s);
}

/* Has a child that runs and knows the fields. */
static int have_child(const struct cw_op_ctx *ctx, const struct cw_python_opts *o,
                      struct scratch *s, struct cw_err *err)
{
    int rc = 0;
    if (s->child && cw_python_child_runs(s->child) && s->told)
        return 0;
    if (s->child && !cw_python_child_runs(s->child)) {
        cw_python_child_free(s->child);
        s->child = NULL;
    }
    if (!s->child)
        s->child = atomic_exchange(&s->state->spare, NULL);
    if (!s->child)
        rc = cw_python_child_start(&s->state->function, ctx->stop, &s->child, err);
    if (rc == 0)
        rc = cw_python_layout(o, ctx->in, &s->layout, err);
    if (rc == 0)
        rc = cw_python_child_tell(s->child, &s->layout.given, o->filters ? NULL : &s->layout.result,
                                  ctx->stop, err);
    s->told = rc == 0;
    return rc;
}

/* ---- results ---- */

static bool fits(const struct cw_view *view, const struct cw_field *field)
{
    bool fits = view->dtype == field->dtype && view->rank == field->rank;
    for (int i = 0; fits && i < field->rank; i++)
        fits = field->dims[i] < 0 || field->dims[i] == view->dims[i];
    return fits;
}

static int check_results(const struct cw_python_opts *o, const struct scratch *s,
                         const struct cw_element *element, const struct cw_view *results, size_t n,
                         struct cw_err *err)
{
    const struct cw_spec *spec = &s->layout.result;
    if (n != spec->n)
        return cw_err_set(err, CW_E_INVALID, "it returned %zu fields; %zu are expected", n,
                          spec->n);
    int64_t rows = o->batched ? element->fields[s->layout.index[0]].dims[0] : -1;
    for (size_t k = 0; k < n; k++) {
        CW_STR_AUTO text = {0};
        cw_field_print(&spec->fields[k], &text);
        if (!fits(&results[k], &spec->fields[k]))
            return cw_err_set(err, CW_E_INVALID, "it returned something else than %s",
                              cw_str_text(&text));
        if (o->batched && results[k].dims[0] != rows)
            return cw_err_set(err, CW_E_INVALID,
                              "field \"%s\": it returned %lld rows for a batch of %lld",
                              spec->fields[k].name, (long long)results[k].dims[0], (long long)rows);
    }
    return 0;
}

/* Copies a result out of the memory of the child. */
static int copy_result(const struct cw_op_ctx *ctx, const struct cw_view *result, bool in_slot,
                       struct cw_view *ret_view, struct cw_err *err)
{
    struct cw_op_ctx elsewhere = *ctx;
    elsewhere.slot = NULL;
    *ret_view = *result;
    int rc = cw_op_output(in_slot ? ctx : &elsewhere, ret_view, err);
    if (rc == 0 && result->bytes > 0)
        memcpy(ret_view->data, result->data, result->bytes);
    return rc;
}

static int take_results(const struct cw_op_ctx *ctx, const struct cw_python_layout *l,
                        const struct cw_view *results, struct cw_element *element,
                        struct cw_err *err)
{
    struct cw_view *out = cw_op_scratch(ctx, (l->out.n + 1) * sizeof(*out), err);
    int rc = out ? 0 : CW_E_NOMEM;
    for (size_t k = 0; rc == 0 && k < l->out.n; k++) {
        if (l->from[k] >= 0)
            out[k] = element->fields[l->from[k]];
        else
            rc = copy_result(ctx, &results[-1 - l->from[k]], k == 0, &out[k], err);
    }
    if (rc != 0)
        return rc;
    element->n = l->out.n;
    memcpy(element->fields, out, l->out.n * sizeof(out[0]));
    return 0;
}

static int call(const struct cw_op_ctx *ctx, const struct cw_python_opts *o, struct scratch *s,
                struct cw_element *element, struct cw_err *err)
{
    struct cw_view given[CW_PYTHON_FIELDS_MAX], results[CW_PYTHON_FIELDS_MAX];
    size_t n = 0;
    int rc = have_child(ctx, o, s, err);
    if (rc != 0)
        return rc;
    for (size_t k = 0; k < s->layout.given_n; k++)
        given[k] = element->fields[s->layout.index[k]];
    rc =
        cw_python_child_call(s->child, given, s->layout.given_n,
                             o->random ? cw_rng_u64(&ctx->rng, 0) : 0, ctx->stop, results, &n, err);
    if (ctx->elsewhere_ns)
        *ctx->elsewhere_ns += CW_MIN(cw_python_child_cpu_ns(s->child), CPU_NS_MAX);
    if (rc != 0 || o->filters)
        return rc;
    rc = check_results(o, s, element, results, n, err);
    return rc == 0 ? take_results(ctx, &s->layout, results, element, err) : rc;
}

int cw_python_op_apply(const struct cw_op_ctx *ctx, const void *opts, void *state, void *scratch,
                       struct cw_element *element, struct cw_err *err)
{
    (void)state;
    int rc = call(ctx, opts, scratch, element, err);
    return rc < 0 ? cw_python_wrap(opts, err) : rc;
}

bool cw_python_op_draws(const void *opts)
{
    return ((const struct cw_python_opts *)opts)->random;
}

bool cw_python_op_varies(const void *opts)
{
    return !((const struct cw_python_opts *)opts)->deterministic;
}
