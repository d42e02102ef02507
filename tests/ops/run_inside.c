/* SPDX-License-Identifier: Apache-2.0 */
/* Cases of group operators that work inside items: all input elements are the rows of one item. */
#include "ops/cases.h"

#include "base/mem.h"
#include "src/ops/kernels/num.h"

#include <string.h>

struct run {
    struct test_case *c;
    struct cw_spec in, out;
    struct test_element *rows;
    size_t made, joined; /* so many elements and groups have come */
    size_t begin;        /* the operator sees the rows from here on */
};

static int check_first(const struct run *r, size_t i, size_t first, struct cw_err *err)
{
    const struct cw_value *firsts = cw_value_get(r->c->expect, "firsts");
    if (!firsts || (i < firsts->n && (size_t)firsts->items[i].i == first))
        return 0;
    return cw_err_set(err, CW_E_INVALID, "element %zu begins with row %zu", i, first);
}

static int make(const struct cw_op_rows *rows, size_t first, const struct cw_view *fields,
                struct cw_err *err)
{
    struct run *r = rows->arg;
    const struct cw_value *wants = cw_value_get(r->c->expect, "elements");
    struct cw_element element = {.n = r->out.n};
    memcpy(element.fields, fields, r->out.n * sizeof(*fields));
    size_t i = r->made++;
    int rc = check_first(r, i, r->begin + first, err);
    if (rc < 0 || !wants)
        return rc;
    if (i >= wants->n)
        return cw_err_set(err, CW_E_INVALID, "more than %zu elements are made", wants->n);
    return test_check_element(r->c, i, &r->out, &element, err);
}

static bool is_row(const struct cw_view *view, const struct cw_value *numbers)
{
    size_t n = view->bytes / cw_dtype_bytes(view->dtype);
    bool same = numbers->n == n;
    for (size_t i = 0; same && i < n; i++)
        same = cw_num_get_f64(view->dtype, view->data, i) == (double)numbers->items[i].i;
    return same;
}

static int join(const struct cw_op_rows *rows, size_t first, const struct cw_view *const *row,
                size_t n, int64_t length, struct cw_err *err)
{
    struct run *r = rows->arg;
    const struct cw_value *wants = cw_value_get(r->c->expect, "groups");
    size_t i = r->joined++;
    if (!wants || i >= wants->n)
        return cw_err_set(err, CW_E_INVALID, "more than %zu groups are made", wants ? wants->n : 0);
    const struct cw_value *want = cw_value_get(&wants->items[i], "rows");
    if (want->n != n || test_number(&wants->items[i], "length", length) != length)
        return cw_err_set(err, CW_E_INVALID, "group %zu has %zu rows, at least %lld long", i, n,
                          (long long)length);
    for (size_t k = 0; k < n; k++)
        if (!is_row(&row[k][0], &want->items[k]))
            return cw_err_set(err, CW_E_INVALID, "group %zu, row %zu is another one", i, k);
    return check_first(r, i, first, err);
}

static int call(struct run *r, const struct cw_value *input, struct cw_err *err)
{
    const struct cw_op *op = r->c->op;
    struct cw_arena *arena = cw_arena_new(1 << 20);
    struct cw_op_ctx ctx = {.arena = arena, .in = &r->in, .out = &r->out};
    const struct cw_view **row = CW_NEW_ARRAY(const struct cw_view *, input->n + 1);
    uint64_t *id = CW_NEW_ARRAY(uint64_t, input->n + 1);
    struct cw_op_rows rows = {
        .n = input->n, .row = row, .id = id, .make = make, .join = join, .arg = r};
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < input->n; i++) {
        row[i] = r->rows[i].e.fields;
        id[i] = i;
        rc = op->check_row ? op->check_row(r->c->opts, &r->in, row[i], err) : 0;
    }
    if (rc == 0)
        rc = op->inside(&ctx, r->c->opts, &rows, err);
    if (op->takes_apart) /* the same, when it sees one row at a time */
        r->made = 0;
    for (; rc == 0 && op->takes_apart && r->begin < input->n; r->begin++) {
        rows.n = 1;
        rows.row = row + r->begin;
        rows.id = id + r->begin;
        rc = op->inside(&ctx, r->c->opts, &rows, err);
    }
    cw_mem_free(id);
    cw_mem_free(row);
    cw_arena_free(arena);
    return rc;
}

static int check_numbers(const struct run *r, struct cw_err *err)
{
    const struct cw_value *elements = cw_value_get(r->c->expect, "elements"),
                          *groups = cw_value_get(r->c->expect, "groups");
    if (elements && elements->n != r->made)
        return cw_err_set(err, CW_E_INVALID, "%zu elements are made, expected %zu", r->made,
                          elements->n);
    if (groups && groups->n != r->joined)
        return cw_err_set(err, CW_E_INVALID, "%zu groups are made, expected %zu", r->joined,
                          groups->n);
    return 0;
}

static void fini(struct run *r)
{
    cw_spec_fini(&r->in);
    cw_spec_fini(&r->out);
}

int test_run_inside(struct test_case *c, struct cw_err *err)
{
    const struct cw_value *input = cw_value_get(c->json, "input");
    struct run r = {.c = c};
    size_t n = 0;
    int rc = test_input_spec(c, &r.in, err);
    if (rc == 0)
        rc = c->op->infer(c->opts, &r.in, 1, &r.out, err);
    if (rc == 0)
        rc = test_check_spec(c, &r.out, err);
    if (rc < 0 || !input) {
        fini(&r);
        return rc;
    }
    r.rows = CW_NEW_ARRAY(struct test_element, input->n + 1);
    for (; rc == 0 && n < input->n; n++)
        rc = test_element_parse(&input->items[n], c->folder, &r.rows[n], err);
    if (rc == 0)
        rc = call(&r, input, err);
    if (rc == 0)
        rc = check_numbers(&r, err);
    for (size_t i = 0; i < n; i++)
        test_element_fini(&r.rows[i]);
    cw_mem_free(r.rows);
    fini(&r);
    return rc;
}
