/* SPDX-License-Identifier: Apache-2.0 */
/* Group operator `group_by_window`: batches of elements that have one key. */
#include "ops/group/pad_options.h"
#include "ops/group/within.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/mem.h"
#include "ops/expr/expr.h"
#include "ops/kernels/num.h"

enum { SIZE_MAX_ROWS = 1 << 24, ROWS_AT_ONCE = 64 };

struct group_opts {
    char *key;
    int64_t size, span;
    struct cw_value sizes; /* null, or an object: sizes by key */
    bool drop_remainder;
    struct cw_pad_options pad;
};

#define OFFSET(member) offsetof(struct group_opts, member)
static const struct cw_opt options[] = {
    {.name = "key",
     .help = "a field, or an expression over the fields (see eval), that gives one number; what is "
             "no whole number is rounded down",
     .type = CW_OPT_STR,
     .offset = OFFSET(key),
     .flags = CW_OPT_REQUIRED},
    {.name = "size",
     .help = "elements of a batch",
     .type = CW_OPT_I64,
     .offset = OFFSET(size),
     .min = 1,
     .max = SIZE_MAX_ROWS,
     .flags = CW_OPT_REQUIRED},
    {.name = "sizes",
     .help = "elements of a batch for some keys: {\"3\": 16}",
     .type = CW_OPT_VALUE,
     .offset = OFFSET(sizes)},
    {.name = "drop_remainder",
     .help = "leave out what is left of each key at the end of an item",
     .type = CW_OPT_BOOL,
     .offset = OFFSET(drop_remainder),
     .def = "false"},
    CW_PAD_OPTION_ROWS(OFFSET(pad)),
    CW_SPAN_ROW(OFFSET(span)),
    {0},
};

/* ---- options ---- */

static int check_sizes(const struct cw_value *sizes, struct cw_err *err)
{
    if (sizes->type == CW_VALUE_NULL)
        return 0;
    if (sizes->type != CW_VALUE_OBJECT)
        return cw_err_set(err, CW_E_INVALID, "option sizes: is %s, and no object of sizes by key",
                          cw_value_type_name(sizes->type));
    for (size_t i = 0; i < sizes->n; i++) {
        const struct cw_value *size = &sizes->items[i];
        int64_t key;
        if (!cw_str_to_i64(sizes->keys[i], &key))
            return cw_err_set(err, CW_E_INVALID, "option sizes: \"%s\" is no whole number",
                              sizes->keys[i]);
        if (size->type != CW_VALUE_I64 || size->i < 1 || size->i > SIZE_MAX_ROWS)
            return cw_err_set(err, CW_E_INVALID,
                              "option sizes: the size for key %s is no number from 1 to %d",
                              sizes->keys[i], SIZE_MAX_ROWS);
    }
    return 0;
}

static int check(const void *opts, struct cw_err *err)
{
    const struct group_opts *o = opts;
    struct cw_expr *expr = NULL;
    int rc = cw_expr_parse(o->key, &expr, err);
    if (rc < 0)
        return cw_err_wrap(err, "option key");
    cw_expr_free(expr);
    rc = check_sizes(&o->sizes, err);
    return rc < 0 ? rc : cw_pad_options_check(&o->pad, err);
}

static bool reads_parts(const struct cw_expr *expr)
{
    for (size_t i = 0; i < expr->n; i++)
        if (expr->steps[i].part != 0 && !expr->steps[i].is_length)
            return true;
    return false;
}

/* Binds the key to what comes in. It must be one number, which every element has. */
static int compile_key(const struct group_opts *o, const struct cw_spec *in,
                       struct cw_expr **ret_expr, struct cw_err *err)
{
    struct cw_expr *expr = NULL;
    int rc = cw_expr_parse(o->key, &expr, err);
    if (rc == 0) {
        rc = cw_expr_bind(expr, in, err);
        if (rc == 0 && expr->result.rank > 0)
            rc = cw_err_set(err, CW_E_INVALID, "it gives a tensor, and not one number");
        if (rc == 0 && (reads_parts(expr) || cw_expr_refuses_values(expr)))
            rc =
                cw_err_set(err, CW_E_INVALID,
                           "an element may have no such value (a part of a field, a remainder by a "
                           "field, a power): compute it with `eval` before");
        if (rc < 0)
            cw_expr_free(expr);
    }
    if (rc < 0)
        return cw_err_wrap(err, "option key");
    *ret_expr = expr;
    return 0;
}

static int infer(const void *opts, const struct cw_spec *in, size_t in_n, struct cw_spec *ret_spec,
                 struct cw_err *err)
{
    const struct group_opts *o = opts;
    const bool one_size = o->drop_remainder && o->sizes.type == CW_VALUE_NULL;
    struct cw_expr *expr = NULL;
    (void)in_n;
    int rc = compile_key(o, in, &expr, err);
    if (rc < 0)
        return rc;
    cw_expr_free(expr);
    return cw_pad_options_infer(&o->pad, in, one_size ? o->size : -1, ret_spec, err);
}

static bool group_pad(const void *opts, const struct cw_spec *in, size_t f, struct cw_pad *ret_pad)
{
    return cw_pad_options_of(&((const struct group_opts *)opts)->pad, in, f, ret_pad);
}

/* ---- groups ---- */

/* Rows of one key that wait, in order. */
struct group {
    int64_t key;
    size_t size; /* elements of a batch */
    uint32_t *rows;
    size_t n, cap;
};
struct sorting {
    const struct cw_op_ctx *ctx;
    const struct group_opts *o;
    const struct cw_op_rows *rows;
    struct cw_expr *expr;
    struct cw_arena *arena; /* of keys while they are computed */
    struct cw_element *element;
    struct cw_map groups; /* by key */
    size_t groups_n;
};

/* The number that a key is: rounded down, and the least for what is no number. */
static int64_t whole(double v)
{
    v = floor(v);
    if (!(v >= -0x1p63))
        return INT64_MIN;
    return v >= 0x1p63 ? INT64_MAX : (int64_t)v;
}

static int key_of(struct sorting *s, size_t row, int64_t *ret_key, struct cw_err *err)
{
    struct cw_op_ctx ctx = *s->ctx;
    struct cw_view key;
    ctx.arena = s->arena;
    if (row % ROWS_AT_ONCE == 0)
        cw_arena_reset(s->arena);
    s->element->n = ctx.in->n;
    memcpy(s->element->fields, s->rows->row[row], ctx.in->n * sizeof(struct cw_view));
    int rc = cw_expr_eval(s->expr, &ctx, s->element, &key, err);
    if (rc < 0)
        return rc;
    *ret_key = cw_dtype_is_float(key.dtype) ? whole(cw_num_get_f64(key.dtype, key.data, 0))
                                            : cw_num_get_i64(key.dtype, key.data, 0);
    return 0;
}

static size_t size_for(const struct group_opts *o, int64_t key)
{
    for (size_t i = 0; o->sizes.type == CW_VALUE_OBJECT && i < o->sizes.n; i++) {
        int64_t other;
        if (cw_str_to_i64(o->sizes.keys[i], &other) && other == key)
            return (size_t)o->sizes.items[i].i;
    }
    return (size_t)o->size;
}

static struct group *group_of(struct sorting *s, int64_t key, struct cw_err *err)
{
    struct group *group = cw_map_get(&s->groups, (uint64_t)key);
    if (group)
        return group;
    group = cw_op_scratch(s->ctx, sizeof(*group), err);
    if (!group)
        return NULL;
    *group = (struct group){.key = key, .size = size_for(s->o, key)};
    cw_map_set(&s->groups, (uint64_t)key, group);
    s->groups_n++;
    return group;
}

static int give(struct sorting *s, struct group *group, struct cw_err *err)
{
    const struct cw_view **row = cw_op_scratch(s->ctx, (group->n + 1) * sizeof(*row), err);
    int rc = row ? cw_stop_check(s->ctx->stop, err) : CW_E_NOMEM;
    for (size_t i = 0; rc == 0 && i < group->n; i++)
        row[i] = s->rows->row[group->rows[i]];
    if (rc == 0)
        rc = s->rows->join(s->rows, group->rows[0], row, group->n, 0, err);
    group->n = 0;
    return rc;
}

static int add(struct sorting *s, struct group *group, uint32_t row, struct cw_err *err)
{
    if (group->n == group->cap) {
        const size_t cap = CW_MIN(CW_MAX(2 * group->cap, (size_t)16), group->size);
        uint32_t *rows = cw_op_scratch(s->ctx, cap * sizeof(*rows), err);
        if (!rows)
            return CW_E_NOMEM;
        if (group->n > 0)
            memcpy(rows, group->rows, group->n * sizeof(*rows));
        group->rows = rows;
        group->cap = cap;
    }
    group->rows[group->n++] = row;
    return group->n == group->size ? give(s, group, err) : 0;
}

static int compare(const void *a, const void *b)
{
    const struct group *x = *(struct group *const *)a, *y = *(struct group *const *)b;
    return x->key < y->key ? -1 : x->key > y->key;
}

/* At the end of an item: what is left, in the order of keys. */
static int give_rest(struct sorting *s, struct cw_err *err)
{
    struct group **groups = cw_op_scratch(s->ctx, (s->groups_n + 1) * sizeof(struct group *), err);
    uint64_t key;
    void *value;
    size_t n = 0;
    int rc = groups ? 0 : CW_E_NOMEM;
    for (size_t i = 0; rc == 0 && cw_map_next(&s->groups, &i, &key, &value);)
        groups[n++] = value;
    if (n > 1)
        qsort(groups, n, sizeof(*groups), compare);
    for (size_t i = 0; rc == 0 && i < n; i++)
        rc = groups[i]->n > 0 ? give(s, groups[i], err) : 0;
    return rc;
}

static int sort_rows(struct sorting *s, struct cw_err *err)
{
    int rc = 0;
    for (size_t r = 0; rc == 0 && r < s->rows->n; r++) {
        int64_t key = 0;
        rc = key_of(s, r, &key, err);
        struct group *group = rc == 0 ? group_of(s, key, err) : NULL;
        if (rc == 0)
            rc = group ? add(s, group, (uint32_t)r, err) : CW_E_NOMEM;
    }
    return rc == 0 && !s->o->drop_remainder ? give_rest(s, err) : rc;
}

static int inside(const struct cw_op_ctx *ctx, const void *opts, const struct cw_op_rows *rows,
                  struct cw_err *err)
{
    struct sorting s = {.ctx = ctx, .o = opts, .rows = rows};
    s.element = cw_op_scratch(ctx, sizeof(*s.element), err);
    int rc = s.element ? compile_key(opts, ctx->in, &s.expr, err) : CW_E_NOMEM;
    if (rc < 0)
        return rc;
    memset(s.element, 0, offsetof(struct cw_element, fields));
    s.arena = cw_arena_new((size_t)64 << 10);
    rc = sort_rows(&s, err);
    cw_arena_free(s.arena);
    cw_map_fini(&s.groups);
    cw_expr_free(s.expr);
    return rc;
}

static int64_t span(const void *opts)
{
    return ((const struct group_opts *)opts)->span;
}

const struct cw_op cw_op_group_by_window = {
    .name = "group_by_window",
    .version = 1,
    .summary = "batches of elements that have one key",
    .doc =
        "Sorts elements by `key`, a field or an expression that gives one number, and makes a "
        "batch of each key that has\n"
        "`size` of them, as tf.data's group_by_window with a batch as reduction does; `sizes` has "
        "other sizes for some\n"
        "keys. At the end of an item what is left of each key is a short batch, in the order of "
        "keys. Dimensions that are\n"
        "not known are filled up, as `padded_batch` does. `floor(len(tokens) / 64)` groups by "
        "length, `label` by class.\n"
        "\n" CW_INSIDE_DOC,
    .kind = CW_OP_GROUP,
    .traits = CW_OP_CHANGES_COUNT,
    .inputs_min = 1,
    .inputs_max = 1,
    .options = options,
    .options_bytes = sizeof(struct group_opts),
    .check = check,
    .infer = infer,
    .inside = inside,
    .group_pad = group_pad,
    .joins = true,
    .span = span,
};
