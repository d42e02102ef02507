/* SPDX-License-Identifier: Apache-2.0 */
/* Cases of element operators, each element in several ways that must not show in the result. */
#include "ops/cases.h"

#include "base/mem.h"
#include "ops/apply_field.h"

#include <string.h>

struct run {
    struct test_case *c;
    struct cw_spec in, out;
    size_t fields[CW_FIELDS_MAX];
    size_t fields_n;
    struct cw_motion_fields moved;
    void *state, *scratch;
    struct cw_arena *arena;
};

static bool is_picked(const struct test_case *c, const struct cw_field *field, bool moves)
{
    const struct cw_value *names = cw_value_get(c->json, "fields");
    if (moves)
        return false;
    if (!names)
        return cw_op_accepts(c->op, field);
    for (size_t i = 0; i < names->n; i++) {
        if (strcmp(names->items[i].s, field->name) == 0)
            return true;
    }
    return false;
}

static int infer_fieldwise(struct run *r, struct cw_err *err)
{
    const struct cw_op *op = r->c->op;
    r->out = cw_spec_copy(&r->in);
    int rc = cw_motion_find(op, r->c->opts, &r->in, &r->moved, err);
    if (rc == 0)
        rc = cw_motion_infer(op, r->c->opts, &r->in, &r->moved, &r->out, err);
    if (rc < 0)
        return rc;
    for (size_t i = 0; i < r->in.n; i++) {
        if (!is_picked(r->c, &r->in.fields[i], cw_field_set_has(&r->moved.all, i)))
            continue;
        r->fields[r->fields_n++] = i;
        rc = op->infer_field(r->c->opts, &r->in.fields[i], &r->out.fields[i], err);
        if (rc < 0)
            return rc;
        if (strcmp(r->out.fields[i].name, r->in.fields[i].name) != 0)
            return cw_err_set(err, CW_E_INTERNAL, "infer_field changed a name");
    }
    if (r->fields_n == 0)
        return cw_err_set(err, CW_E_INVALID, "no field that %s works on", op->name);
    if (r->fields_n == 1 && op->out_name && cw_spec_find(&r->in, op->out_name) < 0) {
        struct cw_field *field = &r->out.fields[r->fields[0]];
        memset(field->name, 0, sizeof(field->name));
        memcpy(field->name, op->out_name, strlen(op->out_name));
    }
    return 0;
}

static struct cw_op_ctx make_ctx(struct run *r, uint64_t id)
{
    struct cw_op_ctx ctx = {.arena = r->arena,
                            .in = &r->in,
                            .out = &r->out,
                            .fields = r->fields,
                            .fields_n = r->fields_n};
    cw_rng_init(&ctx.rng, r->c->seed, r->c->tag, r->c->epoch, r->c->rep, id);
    return ctx;
}

static int check_inferred(const struct cw_field *field, const struct cw_view *got,
                          struct cw_err *err)
{
    bool same = got->dtype == field->dtype && got->rank == field->rank;
    for (int i = 0; same && i < got->rank; i++)
        same = field->dims[i] < 0 || field->dims[i] == got->dims[i];
    return same ? 0 : cw_err_set(err, CW_E_INTERNAL, "%s: is not what infer said", field->name);
}

static int apply_one(struct run *r, const struct cw_op_ctx *ctx, const struct cw_view *in,
                     struct cw_view *out, struct cw_err *err)
{
    *out = *in;
    return cw_op_apply_field(r->c->op, ctx, r->c->opts, r->state, r->scratch, in, out, err);
}

/* The same field once more: from another address, into a slot, and with a used scratch. */
static int apply_variants(struct run *r, struct cw_op_ctx *ctx, const struct cw_view *in,
                          const struct cw_view *first, struct cw_err *err)
{
    size_t shift = in->dtype == CW_DTYPE_STR ? 1 : cw_dtype_bytes(in->dtype);
    cw_autofree char *moved = cw_mem_try_aligned(64, in->bytes + 2 * shift + 64);
    cw_autofree void *slot = cw_mem_try_aligned(64, first->bytes + 64);
    struct cw_view out, in_moved = *in;
    if (in->bytes > 0)
        memcpy(moved + shift, in->data, in->bytes);
    in_moved.data = moved + shift;
    int rc = apply_one(r, ctx, &in_moved, &out, err);
    if (rc == 0 && !test_view_same_bytes(first, &out))
        rc = cw_err_set(err, CW_E_INTERNAL, "another result from an unaligned address");
    ctx->slot = slot;
    ctx->slot_bytes = first->bytes;
    if (rc == 0)
        rc = apply_one(r, ctx, in, &out, err);
    if (rc == 0 && !test_view_same_bytes(first, &out))
        rc = cw_err_set(err, CW_E_INTERNAL, "another result in a slot");
    ctx->slot = NULL;
    if (rc == 0)
        rc = apply_one(r, ctx, in, &out, err);
    if (rc == 0 && !test_view_same_bytes(first, &out))
        rc = cw_err_set(err, CW_E_INTERNAL, "another result the next time");
    return rc;
}

/* Moves a field in the arena, and once more into a slot. */
static int apply_moved(struct run *r, struct cw_op_ctx *ctx, const struct cw_motion_run *run,
                       size_t i, struct cw_view *view, struct cw_err *err)
{
    struct cw_view in = *view, again = *view;
    cw_autofree void *before = cw_mem_new(in.bytes + 1);
    if (in.bytes > 0)
        memcpy(before, in.data, in.bytes);
    int rc = cw_motion_apply(ctx, run, i, view, err);
    if (rc == 0)
        rc = check_inferred(&r->out.fields[i], view, err);
    cw_autofree void *slot = cw_mem_try_aligned(64, view->bytes + 64);
    ctx->slot = slot;
    ctx->slot_bytes = view->bytes;
    if (rc == 0)
        rc = cw_motion_apply(ctx, run, i, &again, err);
    ctx->slot = NULL;
    if (rc == 0 && !test_view_same_bytes(view, &again))
        rc = cw_err_set(err, CW_E_INTERNAL, "another result in a slot");
    if (rc == 0 && in.bytes > 0 && memcmp(before, in.data, in.bytes) != 0)
        rc = cw_err_set(err, CW_E_INTERNAL, "what moves as well was written to");
    return rc;
}

static int apply_fields(struct run *r, struct cw_op_ctx *ctx, struct cw_element *e,
                        struct cw_err *err)
{
    struct cw_motion_run run = {.op = r->c->op,
                                .opts = r->c->opts,
                                .state = r->state,
                                .scratch = r->scratch,
                                .fields = r->moved};
    int rc = !cw_field_set_is_empty(&r->moved.all) ? cw_motion_begin(ctx, &run, e, err) : 0;
    for (size_t k = 0; k < r->fields_n && rc == 0; k++) {
        struct cw_view in = e->fields[r->fields[k]], out;
        ctx->field = r->fields[k];
        cw_autofree void *before = cw_mem_new(in.bytes + 1);
        if (in.bytes > 0)
            memcpy(before, in.data, in.bytes);
        rc = apply_one(r, ctx, &in, &out, err);
        if (rc == 0)
            rc = check_inferred(&r->out.fields[r->fields[k]], &out, err);
        if (rc == 0)
            rc = apply_variants(r, ctx, &in, &out, err);
        if (rc == 0 && in.bytes > 0 && memcmp(before, in.data, in.bytes) != 0)
            rc = cw_err_set(err, CW_E_INTERNAL, "the input was written to");
        e->fields[r->fields[k]] = out;
    }
    for (size_t i = 0; i < e->n && rc == 0; i++)
        if (cw_field_set_has(&r->moved.all, i))
            rc = apply_moved(r, ctx, &run, i, &e->fields[i], err);
    return rc;
}

static int apply_whole(struct run *r, const struct cw_op_ctx *ctx, struct cw_element *e,
                       struct cw_err *err)
{
    const struct cw_op *op = r->c->op;
    struct cw_element again = *e;
    int rc = op->apply(ctx, r->c->opts, r->state, r->scratch, e, err);
    if (rc < 0)
        return rc;
    if (op->apply(ctx, r->c->opts, r->state, r->scratch, &again, err) != rc)
        return cw_err_set(err, CW_E_INTERNAL, "another answer the next time");
    for (size_t i = 0; rc == 0 && i < e->n; i++) {
        if (!test_view_same_bytes(&e->fields[i], &again.fields[i]))
            return cw_err_set(err, CW_E_INTERNAL, "another result the next time");
        int bad = check_inferred(&r->out.fields[i], &e->fields[i], err);
        if (bad < 0)
            return bad;
    }
    return rc;
}

static int run_one(struct run *r, size_t i, struct cw_err *err)
{
    const struct cw_value *ids = cw_value_get(r->c->json, "ids");
    const struct cw_value *wants = cw_value_get(r->c->expect, "elements");
    struct test_element input;
    int rc =
        test_element_parse(&cw_value_get(r->c->json, "input")->items[i], r->c->folder, &input, err);
    struct cw_op_ctx ctx = make_ctx(r, ids ? (uint64_t)ids->items[i].i : i);
    if (rc == 0)
        rc = r->c->op->apply ? apply_whole(r, &ctx, &input.e, err)
                             : apply_fields(r, &ctx, &input.e, err);
    bool wanted = !wants || wants->items[i].type != CW_VALUE_NULL;
    if (rc >= 0 && wants && (rc == 0) != wanted)
        rc = cw_err_set(err, CW_E_INVALID, "element %zu: %s", i,
                        rc ? "was left out" : "was not left out");
    if (rc == 0 && wants)
        rc = test_check_element(r->c, i, &r->out, &input.e, err);
    test_element_fini(&input);
    cw_arena_reset(r->arena);
    return CW_MIN(rc, 0);
}

/* ---- many elements at once, as src/exec calls operators for blocks of rows ---- */

static bool all_fixed(const struct cw_spec *spec)
{
    for (size_t f = 0; f < spec->n; f++)
        if (!cw_field_is_fixed(&spec->fields[f]) || spec->fields[f].rank >= CW_RANK_MAX)
            return false;
    return true;
}

static struct cw_spec with_lead(const struct cw_spec *one)
{
    struct cw_spec many = cw_spec_copy(one);
    for (size_t f = 0; f < many.n; f++) {
        struct cw_field *field = &many.fields[f];
        memmove(field->dims + 1, field->dims, (size_t)field->rank * sizeof(field->dims[0]));
        field->dims[0] = -1;
        field->rank++;
    }
    return many;
}

/* Whether it may be called for many, and what is known then. */
static bool takes_many(const struct run *r, struct run *ret_many)
{
    const struct cw_op *op = r->c->op;
    struct cw_op_facts facts = {0};
    *ret_many = (struct run){.c = r->c, .arena = r->arena, .state = r->state};
    if (!all_fixed(&r->in) || !all_fixed(&r->out))
        return false;
    cw_op_facts_get(op, r->c->opts, &r->in, r->fields, r->fields_n, &facts);
    if (!facts.known || !facts.by_batch || facts.refuses || facts.drops)
        return false;
    ret_many->in = with_lead(&r->in);
    CW_SPEC_AUTO out = with_lead(&r->out);
    const int rc = op->infer_field ? infer_fieldwise(ret_many, NULL)
                                   : op->infer(r->c->opts, &ret_many->in, 1, &ret_many->out, NULL);
    return rc >= 0 && cw_spec_eq(&ret_many->out, &out) && ret_many->fields_n == r->fields_n &&
           memcmp(ret_many->fields, r->fields, r->fields_n * sizeof(r->fields[0])) == 0;
}

static int apply_quietly(struct run *r, struct cw_element *e, struct cw_err *err)
{
    struct cw_op_ctx ctx = make_ctx(r, 0);
    int rc = 0;
    if (r->c->op->apply)
        return r->c->op->apply(&ctx, r->c->opts, r->state, r->scratch, e, err);
    for (size_t k = 0; k < r->fields_n && rc == 0; k++) {
        struct cw_view *view = &e->fields[r->fields[k]], in = *view;
        ctx.field = r->fields[k];
        rc = apply_one(r, &ctx, &in, view, err);
    }
    return rc;
}

/* Appends the fields of an element to memory of each field. */
static void append(const struct cw_element *e, uint8_t **columns, size_t row)
{
    for (size_t f = 0; f < e->n; f++)
        if (e->fields[f].bytes > 0)
            memcpy(columns[f] + row * e->fields[f].bytes, e->fields[f].data, e->fields[f].bytes);
}

static void columns_new(const struct cw_spec *spec, size_t rows, uint8_t **ret_columns)
{
    for (size_t f = 0; f < spec->n; f++)
        ret_columns[f] = cw_mem_new(rows * (size_t)cw_field_bytes(&spec->fields[f]) + 1);
}

static void columns_free(const struct cw_spec *spec, uint8_t **columns)
{
    for (size_t f = 0; f < spec->n; f++)
        cw_mem_free(columns[f]);
}

static struct cw_element view_columns(const struct cw_spec *spec, uint8_t **columns, size_t rows)
{
    struct cw_element e = {.n = spec->n};
    for (size_t f = 0; f < spec->n; f++) {
        const struct cw_field *field = &spec->fields[f];
        struct cw_view *view = &e.fields[f];
        *view = (struct cw_view){.data = columns[f],
                                 .bytes = rows * (size_t)cw_field_bytes(field),
                                 .dtype = field->dtype,
                                 .rank = field->rank + 1};
        view->dims[0] = (int64_t)rows;
        memcpy(view->dims + 1, field->dims, (size_t)field->rank * sizeof(field->dims[0]));
    }
    return e;
}

/* Computes the rows one by one: what comes in and what comes out, as columns. Elements take turns, so there
 * are at least three. */
static int compute_rows(struct run *r, size_t rows, uint8_t **in, uint8_t **out, struct cw_err *err)
{
    const struct cw_value *inputs = cw_value_get(r->c->json, "input");
    int rc = 0;
    for (size_t i = 0; i < rows && rc == 0; i++) {
        struct test_element input;
        rc = test_element_parse(&inputs->items[i % inputs->n], r->c->folder, &input, err);
        if (rc == 0) {
            append(&input.e, in, i);
            rc = apply_quietly(r, &input.e, err);
        }
        if (rc == 0)
            append(&input.e, out, i);
        test_element_fini(&input);
        cw_arena_reset(r->arena);
    }
    return rc;
}

static int compare_many(struct run *many, const struct cw_spec *one_in,
                        const struct cw_spec *one_out, size_t rows, uint8_t **in, uint8_t **out,
                        struct cw_err *err)
{
    struct cw_element e = view_columns(one_in, in, rows);
    int rc = apply_quietly(many, &e, err);
    for (size_t f = 0; rc == 0 && f < one_out->n; f++) {
        const size_t bytes = rows * (size_t)cw_field_bytes(&one_out->fields[f]);
        if (e.fields[f].bytes != bytes || (bytes && memcmp(e.fields[f].data, out[f], bytes) != 0))
            rc = cw_err_set(err, CW_E_INTERNAL, "%s: another result for many elements at once",
                            one_out->fields[f].name);
    }
    return rc;
}

static void fini_specs(struct run *r)
{
    cw_spec_fini(&r->in);
    cw_spec_fini(&r->out);
}

static int check_many(struct run *r, struct cw_err *err)
{
    const struct cw_value *inputs = cw_value_get(r->c->json, "input");
    uint8_t *in[CW_FIELDS_MAX], *out[CW_FIELDS_MAX];
    struct run many;
    if (!inputs || inputs->n == 0)
        return 0;
    if (!takes_many(r, &many)) {
        fini_specs(&many);
        return 0;
    }
    const size_t rows = CW_MAX(inputs->n, 3);
    if (r->c->op->scratch_new)
        many.scratch = r->c->op->scratch_new(r->c->opts, r->state);
    columns_new(&r->in, rows, in);
    columns_new(&r->out, rows, out);
    int rc = compute_rows(r, rows, in, out, err);
    if (rc == 0)
        rc = compare_many(&many, &r->in, &r->out, rows, in, out, err);
    columns_free(&r->in, in);
    columns_free(&r->out, out);
    if (many.scratch && r->c->op->scratch_free)
        r->c->op->scratch_free(many.scratch);
    fini_specs(&many);
    return rc;
}

static int run_all(struct run *r, struct cw_err *err)
{
    const struct cw_op *op = r->c->op;
    const struct cw_value *inputs = cw_value_get(r->c->json, "input");
    const struct cw_op_open how = {.out = &r->out};
    int rc = test_input_spec(r->c, &r->in, err);
    if (rc == 0)
        rc = op->infer_field ? infer_fieldwise(r, err)
                             : op->infer(r->c->opts, &r->in, 1, &r->out, err);
    if (rc == 0)
        rc = test_check_spec(r->c, &r->out, err);
    if (rc == 0 && op->open)
        rc = op->open(r->c->opts, &how, &r->state, err);
    if (rc == 0 && op->scratch_new)
        r->scratch = op->scratch_new(r->c->opts, r->state);
    for (size_t i = 0; inputs && i < inputs->n && rc == 0; i++)
        rc = run_one(r, i, err);
    return rc == 0 ? check_many(r, err) : rc;
}

int test_run_element(struct test_case *c, struct cw_err *err)
{
    struct run r = {.c = c, .arena = cw_arena_new((size_t)1 << 20)};
    int rc = run_all(&r, err);
    if (r.scratch && c->op->scratch_free)
        c->op->scratch_free(r.scratch);
    if (c->op->close)
        c->op->close(r.state);
    cw_arena_free(r.arena);
    fini_specs(&r);
    return rc;
}
