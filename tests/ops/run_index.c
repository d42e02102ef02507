/* SPDX-License-Identifier: Apache-2.0 */
/* Cases of index and group operators. */
#include "ops/cases.h"

#include "base/mem.h"

struct run {
    struct test_case *c;
    int64_t in_n[CW_FIELDS_MAX];
    size_t inputs_n;
    int64_t n;
    void *state;
};

static int64_t map_at(const struct run *r, int64_t pos, struct cw_at *ret_at, size_t *ret_input)
{
    const struct test_case *c = r->c;
    struct cw_at at = {.seed = c->seed,
                       .epoch = c->epoch,
                       .tag = c->tag,
                       .rep = c->rep,
                       .in_n = r->in_n,
                       .n = r->n};
    *ret_input = 0;
    int64_t up = c->op->map(c->opts, r->state, &at, pos, ret_input);
    *ret_at = at;
    return up;
}

static int infer_spec(const struct test_case *c, size_t inputs_n, struct cw_err *err)
{
    const struct cw_value *specs = cw_value_get(c->json, "input_specs");
    struct cw_spec in[16] = {{0}};
    CW_SPEC_AUTO out = {0};
    int rc = 0;
    for (size_t i = 0; i < inputs_n && rc == 0; i++)
        rc = specs ? test_spec_parse(&specs->items[i], &in[i], err)
                   : cw_spec_add(&in[i], "x", CW_DTYPE_I64, 0, NULL, err);
    if (rc == 0)
        rc = c->op->infer(c->opts, in, inputs_n, &out, err);
    for (size_t i = 0; i < inputs_n; i++)
        cw_spec_fini(&in[i]);
    return rc < 0 ? rc : test_check_spec(c, &out, err);
}

static int check_list(const struct run *r, struct cw_err *err)
{
    const struct cw_value *positions = cw_value_get(r->c->expect, "positions");
    const struct cw_value *reps = cw_value_get(r->c->expect, "reps");
    const struct cw_value *times = cw_value_get(r->c->expect, "times");
    const struct cw_value *chosen = cw_value_get(r->c->expect, "chosen");
    for (size_t i = 0; positions && i < positions->n; i++) {
        struct cw_at at;
        size_t input;
        int64_t up = map_at(r, (int64_t)i, &at, &input);
        if (chosen && (int64_t)input != chosen->items[i].i)
            return cw_err_set(err, CW_E_INVALID, "position %zu is of input %zu, expected %lld", i,
                              input, (long long)chosen->items[i].i);
        if (up != positions->items[i].i)
            return cw_err_set(err, CW_E_INVALID, "position %zu is upstream %lld, expected %lld", i,
                              (long long)up, (long long)positions->items[i].i);
        if (times && at.each != (uint64_t)times->items[i].i)
            return cw_err_set(err, CW_E_INVALID, "position %zu is time %llu, expected %lld", i,
                              (unsigned long long)at.each, (long long)times->items[i].i);
        if (reps && at.rep != (uint64_t)reps->items[i].i)
            return cw_err_set(err, CW_E_INVALID, "position %zu has repetition %llu, expected %lld",
                              i, (unsigned long long)at.rep, (long long)reps->items[i].i);
    }
    return 0;
}

static int check_permutation(const struct run *r, struct cw_err *err)
{
    cw_autofree bool *seen = cw_mem_new((size_t)r->n + 1);
    if (!cw_value_get(r->c->expect, "permutation"))
        return 0;
    for (int64_t i = 0; i < r->n; i++) {
        struct cw_at at;
        size_t input;
        int64_t up = map_at(r, i, &at, &input);
        if (up < 0 || up >= r->n || seen[up])
            return cw_err_set(err, CW_E_INVALID,
                              "position %lld is upstream %lld: outside, or for the second time",
                              (long long)i, (long long)up);
        seen[up] = true;
    }
    return 0;
}

int test_run_index(struct test_case *c, struct cw_err *err)
{
    const struct cw_value *inputs = cw_value_get(c->json, "inputs");
    struct run r = {.c = c, .inputs_n = inputs ? inputs->n : 1};
    for (size_t i = 0; inputs && i < inputs->n; i++)
        r.in_n[i] = inputs->items[i].i;
    const struct cw_op_open how = {.manifest = cw_value_get(c->json, "manifest")};
    int rc = infer_spec(c, r.inputs_n, err);
    if (rc == 0 && c->op->open)
        rc = c->op->open(c->opts, &how, &r.state, err);
    if (rc == 0)
        rc = c->op->count(c->opts, r.state, r.in_n, r.inputs_n, &r.n, err);
    if (rc == 0 && r.n != test_number(c->expect, "count", r.n))
        rc = cw_err_set(err, CW_E_INVALID, "count is %lld", (long long)r.n);
    if (rc == 0)
        rc = check_list(&r, err);
    if (rc == 0)
        rc = check_permutation(&r, err);
    if (r.state && c->op->close)
        c->op->close(r.state);
    return rc;
}

int test_run_group(struct test_case *c, struct cw_err *err)
{
    CW_SPEC_AUTO in = {0};
    CW_SPEC_AUTO out = {0};
    int rc = test_input_spec(c, &in, err);
    if (rc == 0)
        rc = c->op->infer(c->opts, &in, 1, &out, err);
    if (rc == 0)
        rc = test_check_spec(c, &out, err);
    if (rc == 0 &&
        c->op->group_size(c->opts) != test_number(c->expect, "size", c->op->group_size(c->opts)))
        rc = cw_err_set(err, CW_E_INVALID, "groups of %lld", (long long)c->op->group_size(c->opts));
    return rc;
}
