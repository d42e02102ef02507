/* SPDX-License-Identifier: Apache-2.0 */
/* Cases of sources. */
#include "ops/cases.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

struct run {
    struct test_case *c;
    struct cw_spec spec;
    struct cw_arena *arena;
};

static int read_at(struct run *r, void *state, int64_t pos, struct cw_element *ret,
                   struct cw_err *err)
{
    struct cw_op_ctx ctx = {.arena = r->arena, .out = &r->spec};
    *ret = (struct cw_element){0};
    int rc = r->c->op->read(&ctx, r->c->opts, state, pos, ret, err);
    if (rc == 0 && ret->n != r->spec.n)
        rc = cw_err_set(err, CW_E_INTERNAL, "the element has %zu fields, the spec %zu", ret->n,
                        r->spec.n);
    return rc;
}

static int64_t position(const struct run *r, size_t i)
{
    const struct cw_value *at = cw_value_get(r->c->expect, "at");
    return at ? at->items[i].i : (int64_t)i;
}

static bool has_columns(const struct run *r)
{
    for (size_t f = 0; f < r->spec.n; f++)
        if (cw_field_bytes(&r->spec.fields[f]) < 0)
            return false;
    return r->c->op->read_rows && r->spec.n > 0;
}

/* Whether the element's fields are what stands in row i. */
static bool is_row(const struct run *r, const struct cw_column *columns, size_t i,
                   const struct cw_element *e)
{
    for (size_t f = 0; f < r->spec.n; f++)
        if (columns[f].bytes && memcmp((const char *)columns[f].data + i * columns[f].bytes,
                                       e->fields[f].data, columns[f].bytes) != 0)
            return false;
    return true;
}

#define ROWS_MOST 50
#define ROWS_MIXED 300

/* Positions forwards, in larger steps, backwards, or for step 0 in no order, and repeated. */
static int64_t row_position(int64_t n, int64_t step, int64_t i)
{
    if (step == 0)
        return (i * 7919 + i / n) % n;
    return step > 0 ? i * step : n - 1 + i * step;
}

/* What read_rows gives is what read gives. It may refuse rows only if one of them is refused by read, too. */
static int check_rows(struct run *r, void *state, int64_t n, int64_t step, struct cw_err *err)
{
    const struct cw_op *op = r->c->op;
    struct cw_column columns[CW_FIELDS_MAX];
    static int64_t positions[ROWS_MIXED];
    const int64_t count =
        step == 0 ? ROWS_MIXED : CW_MIN((n + llabs(step) - 1) / llabs(step), ROWS_MOST);
    int rc = 0;
    if (!has_columns(r) || n == 0)
        return 0;
    for (size_t f = 0; f < r->spec.n; f++) {
        columns[f].bytes = (size_t)cw_field_bytes(&r->spec.fields[f]);
        columns[f].data = cw_mem_new((size_t)count * columns[f].bytes + 1);
    }
    for (int64_t i = 0; i < count; i++)
        positions[i] = row_position(n, step, i);
    const bool refused = op->read_rows(r->c->opts, state, positions, (size_t)count, columns) < 0;
    bool read_refuses = false;
    for (int64_t i = 0; i < count && rc == 0 && !read_refuses; i++) {
        struct cw_element e;
        rc = read_at(r, state, positions[i], &e, err);
        if (rc < 0 && refused) {
            read_refuses = true;
            rc = 0;
        } else if (rc == 0 && !refused && !is_row(r, columns, (size_t)i, &e)) {
            rc = cw_err_set(err, CW_E_INTERNAL, "read_rows differs from read at position %lld",
                            (long long)positions[i]);
        }
    }
    if (rc == 0 && refused && !read_refuses)
        rc = cw_err_set(err, CW_E_INTERNAL, "read_rows refuses what read gives");
    for (size_t f = 0; f < r->spec.n; f++)
        cw_mem_free(columns[f].data);
    return rc;
}

/* ---- the same of read_loose ---- */

/* Whether it may be called for such a field; *ret_is_loose: its size is not fixed. */
static bool is_for_loose(const struct cw_field *field, bool *ret_is_loose)
{
    *ret_is_loose = cw_field_bytes(field) < 0;
    if (field->dtype == CW_DTYPE_STR)
        return field->rank == 0;
    for (int i = 1; i < field->rank; i++)
        if (field->dims[i] < 0)
            return false;
    return true;
}

static bool has_loose(const struct run *r)
{
    bool any = false;
    for (size_t f = 0; f < r->spec.n; f++) {
        bool is_loose;
        if (!is_for_loose(&r->spec.fields[f], &is_loose))
            return false;
        any = any || is_loose;
    }
    return any && r->c->op->read_loose;
}

static void *get(void *arg, size_t bytes)
{
    return cw_arena_alloc(arg, bytes);
}

static bool is_loose_row(const struct run *r, const struct cw_loose_column *columns, size_t i,
                         const struct cw_element *e)
{
    for (size_t f = 0; f < r->spec.n; f++) {
        const int64_t *ends = columns[f].ends;
        const size_t begin = !ends    ? i * columns[f].bytes
                             : i == 0 ? 0
                                      : (size_t)ends[i - 1],
                     bytes = ends ? (size_t)ends[i] - begin : columns[f].bytes;
        if (bytes != e->fields[f].bytes ||
            (bytes > 0 &&
             memcmp((const char *)columns[f].data + begin, e->fields[f].data, bytes) != 0))
            return false;
    }
    return true;
}

/* What read_loose gives is what read gives. */
static int check_loose(struct run *r, void *state, int64_t n, int64_t step, struct cw_err *err)
{
    struct cw_loose_column columns[CW_FIELDS_MAX] = {{0}};
    static int64_t positions[ROWS_MIXED];
    const int64_t count =
        step == 0 ? ROWS_MIXED : CW_MIN((n + llabs(step) - 1) / llabs(step), ROWS_MOST);
    int rc = 0;
    if (!has_loose(r) || n == 0)
        return 0;
    struct cw_arena *arena = cw_arena_new(1 << 16);
    for (size_t f = 0; f < r->spec.n; f++) {
        const int64_t bytes = cw_field_bytes(&r->spec.fields[f]);
        void *p = cw_arena_alloc(arena, (size_t)count * (bytes < 0 ? 8 : (size_t)bytes) + 1);
        columns[f] = bytes < 0 ? (struct cw_loose_column){.ends = p}
                               : (struct cw_loose_column){.data = p, .bytes = (size_t)bytes};
    }
    for (int64_t i = 0; i < count; i++)
        positions[i] = row_position(n, step, i);
    const struct cw_loose_rows rows = {positions, (size_t)count, columns, get, arena};
    bool refused = r->c->op->read_loose(r->c->opts, state, &rows) < 0, read_refuses = false;
    for (int64_t i = 0; i < count && rc == 0 && !read_refuses; i++) {
        struct cw_element e;
        rc = read_at(r, state, positions[i], &e, err);
        read_refuses = rc < 0 && refused;
        if (rc == 0 && !refused && !is_loose_row(r, columns, (size_t)i, &e))
            rc = cw_err_set(err, CW_E_INTERNAL, "read_loose differs from read at position %lld",
                            (long long)positions[i]);
    }
    if (refused)
        rc =
            read_refuses ? 0 : cw_err_set(err, CW_E_INTERNAL, "read_loose refuses what read gives");
    cw_arena_free(arena);
    return rc;
}

static int check_orders(struct run *r, void *state, int64_t n, struct cw_err *err)
{
    static const int64_t steps[] = {1, 3, -1, 0};
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < CW_ARRAY_LEN(steps); i++) {
        rc = check_rows(r, state, n, steps[i], err);
        if (rc == 0)
            rc = check_loose(r, state, n, steps[i], err);
    }
    return rc;
}

static int check_elements(struct run *r, void *state, struct cw_err *err)
{
    const struct cw_value *wants = cw_value_get(r->c->expect, "elements");
    const struct cw_value *describe = cw_value_get(r->c->expect, "describe");
    int64_t n = 0;
    int rc = r->c->op->count(r->c->opts, state, NULL, 0, &n, err);
    int64_t want_n = test_number(r->c->expect, "count", n);
    if (rc == 0 && n != want_n)
        return cw_err_set(err, CW_E_INVALID, "count is %lld, expected %lld", (long long)n,
                          (long long)want_n);
    for (size_t i = 0; wants && i < wants->n && rc == 0; i++) {
        struct cw_element e;
        rc = read_at(r, state, position(r, i), &e, err);
        if (rc == 0)
            rc = test_check_element(r->c, i, &r->spec, &e, err);
    }
    if (rc == 0 && describe) {
        CW_STR_AUTO text = {0};
        r->c->op->describe(r->c->opts, state, position(r, 0), &text);
        if (!strstr(cw_str_text(&text), describe->s))
            rc = cw_err_set(err, CW_E_INVALID, "describe says \"%s\"", cw_str_text(&text));
    }
    return rc < 0 ? rc : check_orders(r, state, n, err);
}

/* A case that expects an error may get it from any element. */
static int read_all(struct run *r, void *state, struct cw_err *err)
{
    int64_t n = 0;
    int rc = r->c->op->count(r->c->opts, state, NULL, 0, &n, err);
    for (int64_t i = 0; i < CW_MIN(n, 1000) && rc == 0; i++) {
        struct cw_element e;
        rc = read_at(r, state, i, &e, err);
    }
    return rc;
}

static int open_and_check(struct run *r, const struct cw_value *manifest,
                          struct cw_value *ret_manifest, struct cw_err *err)
{
    const struct cw_op *op = r->c->op;
    const struct cw_op_open how = {.manifest = manifest, .out = &r->spec};
    void *state = NULL;
    int rc = op->open ? op->open(r->c->opts, &how, &state, err) : 0;
    if (rc == 0)
        rc = cw_value_get(r->c->expect, "error") ? read_all(r, state, err)
                                                 : check_elements(r, state, err);
    if (rc == 0 && op->manifest && ret_manifest)
        op->manifest(r->c->opts, state, ret_manifest);
    if (op->close && state)
        op->close(state);
    cw_arena_reset(r->arena);
    return rc;
}

int test_run_source(struct test_case *c, struct cw_err *err)
{
    struct run r = {.c = c, .arena = cw_arena_new((size_t)1 << 20)};
    struct cw_value manifest = {0};
    int rc = c->op->infer(c->opts, NULL, 0, &r.spec, err);
    if (rc == 0)
        rc = test_check_spec(c, &r.spec, err);
    if (rc == 0)
        rc = open_and_check(&r, NULL, &manifest, err);
    if (rc == 0 && c->op->manifest) {
        rc = open_and_check(&r, &manifest, NULL, err);
        if (rc < 0)
            cw_err_wrap(err, "opened with the manifest");
    }
    cw_value_fini(&manifest);
    cw_spec_fini(&r.spec);
    cw_arena_free(r.arena);
    return rc;
}
