/* SPDX-License-Identifier: Apache-2.0 */
/* Group operator `pack`: fills rows of one length with sequences, so that little of them is padding. */
#include "ops/group/pack_plan.h"
#include "ops/group/pad_options.h"
#include "ops/group/within.h"

#include <string.h>

enum { MASK_NONE, MASK_OWN, MASK_NEXT };
static const char *const mode_words[] = {"first_fit", "stream", NULL};
static const char *const longer_words[] = {"cut", "truncate", "fail", NULL};
static const char *const mask_words[] = {"none", "own", "next", NULL};

struct pack_opts {
    int64_t length, span;
    int mode, longer, loss_mask;
    bool segments, positions, drop_remainder;
    struct cw_str_list only;
    struct cw_value value;
};

#define OFFSET(member) offsetof(struct pack_opts, member)
static const struct cw_opt options[] = {
    {.name = "length",
     .help = "values of a row",
     .type = CW_OPT_I64,
     .offset = OFFSET(length),
     .min = 1,
     .max = 1 << 24,
     .flags = CW_OPT_REQUIRED},
    {.name = "mode",
     .help = "first_fit: each sequence goes into the first row of the item that has room for it; "
             "stream: all sequences one after another, cut into rows",
     .type = CW_OPT_ENUM,
     .offset = OFFSET(mode),
     .names = mode_words,
     .def = "\"first_fit\""},
    {.name = "longer",
     .help = "first_fit: what becomes of a sequence that is longer than a row: it is cut into rows "
             "and a rest, its end is left out, or it is bad",
     .type = CW_OPT_ENUM,
     .offset = OFFSET(longer),
     .names = longer_words,
     .def = "\"cut\""},
    {.name = "only",
     .help = "the fields that are packed; empty = all of one dimension that are numbers",
     .type = CW_OPT_STR_LIST,
     .offset = OFFSET(only)},
    {.name = "value",
     .help = "what is filled in: a number, or numbers by field",
     .type = CW_OPT_VALUE,
     .offset = OFFSET(value),
     .def = "0"},
    {.name = "segments",
     .help = "add a field `segment`, i32: 1, 2, ... for the sequences of a row, 0 where it is "
             "filled up",
     .type = CW_OPT_BOOL,
     .offset = OFFSET(segments),
     .def = "true"},
    {.name = "positions",
     .help = "add a field `position`, i32: the place in the sequence's part, from 0",
     .type = CW_OPT_BOOL,
     .offset = OFFSET(positions),
     .def = "true"},
    {.name = "loss_mask",
     .help = "add a field `loss_mask`, bool: own, true where a sequence is; next, true where the "
             "next value is of the same sequence, for predicting it",
     .type = CW_OPT_ENUM,
     .offset = OFFSET(loss_mask),
     .names = mask_words,
     .def = "\"none\""},
    {.name = "drop_remainder",
     .help = "stream: leave out an item's last row if it is not full",
     .type = CW_OPT_BOOL,
     .offset = OFFSET(drop_remainder),
     .def = "false"},
    CW_SPAN_ROW(OFFSET(span)),
    {0},
};

static int check(const void *opts, struct cw_err *err)
{
    const struct pack_opts *o = opts;
    if (o->drop_remainder && o->mode != CW_PACK_STREAM)
        return cw_err_set(err, CW_E_INVALID, "option drop_remainder: is only for mode: \"stream\"");
    return cw_pad_value_check(&o->value, err);
}

/* ---- fields ---- */

static bool is_sequence(const struct cw_field *field)
{
    return field->dtype != CW_DTYPE_STR && field->rank == 1;
}

static bool is_named(const struct pack_opts *o, const char *name)
{
    for (size_t i = 0; i < o->only.n; i++)
        if (strcmp(o->only.v[i], name) == 0)
            return true;
    return o->only.n == 0;
}

/* Finds the fields that are packed; they come first in the output, in this order. */
static size_t find_fields(const struct pack_opts *o, const struct cw_spec *in, size_t *ret_fields)
{
    size_t n = 0;
    for (size_t f = 0; f < in->n; f++)
        if (is_sequence(&in->fields[f]) && is_named(o, in->fields[f].name))
            ret_fields[n++] = f;
    return n;
}

static int check_names(const struct pack_opts *o, const struct cw_spec *in, struct cw_err *err)
{
    CW_STR_AUTO spec = {0};
    cw_spec_print(in, &spec);
    for (size_t i = 0; i < o->only.n; i++) {
        int f = cw_spec_find(in, o->only.v[i]);
        if (f < 0 || !is_sequence(&in->fields[f]))
            return cw_err_set(err, CW_E_INVALID, "option only: %s \"%s\"; what comes in is %s",
                              f < 0 ? "there is no field" : "no sequence of numbers is in field",
                              o->only.v[i], cw_str_text(&spec));
    }
    for (size_t i = 0; o->value.type == CW_VALUE_OBJECT && i < o->value.n; i++)
        if (cw_spec_find(in, o->value.keys[i]) < 0)
            return cw_err_set(err, CW_E_INVALID,
                              "option value: there is no field \"%s\"; what comes in is %s",
                              o->value.keys[i], cw_str_text(&spec));
    return 0;
}

static int infer(const void *opts, const struct cw_spec *in, size_t in_n, struct cw_spec *ret_spec,
                 struct cw_err *err)
{
    const struct pack_opts *o = opts;
    size_t fields[CW_FIELDS_MAX], n = find_fields(o, in, fields);
    CW_SPEC_AUTO spec = {0};
    (void)in_n;
    int rc = check_names(o, in, err);
    if (rc == 0 && n == 0)
        rc = cw_err_set(err, CW_E_INVALID, "no field that comes in is a sequence of numbers");
    for (size_t i = 0; rc == 0 && i < n; i++)
        rc = cw_spec_add(&spec, in->fields[fields[i]].name, in->fields[fields[i]].dtype, 1,
                         &o->length, err);
    if (rc == 0 && o->segments)
        rc = cw_spec_add(&spec, "segment", CW_DTYPE_I32, 1, &o->length, err);
    if (rc == 0 && o->positions)
        rc = cw_spec_add(&spec, "position", CW_DTYPE_I32, 1, &o->length, err);
    if (rc == 0 && o->loss_mask != MASK_NONE)
        rc = cw_spec_add(&spec, "loss_mask", CW_DTYPE_BOOL, 1, &o->length, err);
    if (rc == 0)
        *ret_spec = cw_spec_take(&spec);
    return rc;
}

static int check_row(const void *opts, const struct cw_spec *in, const struct cw_view *row,
                     struct cw_err *err)
{
    const struct pack_opts *o = opts;
    size_t fields[CW_FIELDS_MAX];
    fields[0] = 0; /* infer has seen to it that there is one */
    const size_t n = find_fields(o, in, fields);
    int64_t length = row[fields[0]].dims[0];
    for (size_t i = 1; i < n; i++)
        if (row[fields[i]].dims[0] != length)
            return cw_err_set(err, CW_E_INVALID,
                              "field \"%s\" has %lld values, and field \"%s\" has %lld",
                              in->fields[fields[i]].name, (long long)row[fields[i]].dims[0],
                              in->fields[fields[0]].name, (long long)length);
    if (o->mode == CW_PACK_FIRST_FIT && o->longer == CW_PACK_FAIL && length > o->length)
        return cw_err_set(err, CW_E_INVALID, "field \"%s\" has %lld values, a row has %lld",
                          in->fields[fields[0]].name, (long long)length, (long long)o->length);
    return 0;
}

/* ---- rows ---- */

struct packing {
    const struct cw_op_ctx *ctx;
    const struct pack_opts *o;
    const struct cw_op_rows *rows;
    const struct cw_pack_plan *plan;
    size_t fields[CW_FIELDS_MAX], n;
};

static int new_field(const struct packing *p, size_t f, struct cw_view *view, struct cw_err *err)
{
    enum cw_dtype dtype = p->ctx->out->fields[f].dtype;
    *view = (struct cw_view){
        .dtype = dtype, .rank = 1, .dims = {p->o->length}, .bytes = (size_t)p->o->length};
    view->bytes *= cw_dtype_bytes(dtype);
    view->data = cw_op_scratch(p->ctx, view->bytes, err);
    return view->data ? 0 : CW_E_NOMEM;
}

/* Copies the pieces of a bin into a field, and fills it up. */
static void fill_field(const struct packing *p, const struct cw_pack_bin *bin, size_t f,
                       struct cw_view *view)
{
    const struct cw_field *field = &p->ctx->out->fields[f];
    size_t unit = cw_dtype_bytes(field->dtype);
    unsigned char value[8] = {0};
    char *to = view->data, *end = to + view->bytes;
    for (uint32_t i = bin->first; i != CW_PACK_END; i = p->plan->pieces[i].next) {
        const struct cw_pack_piece *piece = &p->plan->pieces[i];
        const char *from = p->rows->row[piece->row][p->fields[f]].data;
        memcpy(to, from + (size_t)piece->begin * unit, (size_t)piece->n * unit);
        to += (size_t)piece->n * unit;
    }
    cw_pad_value_set(&p->o->value, field, value);
    for (; to < end; to += unit)
        memcpy(to, value, unit);
}

/* Writes n numbers: `first`, and each `step` more than the one before. Up to STEP - 1 behind them, where there is
 * room, are overwritten: what belongs there comes later. */
static void fill_numbers(int32_t *to, int64_t n, int64_t room, int32_t first, int32_t step)
{
    enum { STEP = 16 };
    int64_t k = 0;
    for (; k < n && k + STEP <= room; k += STEP)
        for (int32_t i = 0; i < STEP; i++)
            to[k + i] = first + ((int32_t)k + i) * step;
    for (; k < n; k++)
        to[k] = first + (int32_t)k * step;
}

static void fill_segments(const struct packing *p, const struct cw_pack_bin *bin, int32_t *to)
{
    int64_t at = 0;
    int32_t segment = 1;
    for (uint32_t i = bin->first; i != CW_PACK_END; i = p->plan->pieces[i].next, segment++) {
        fill_numbers(to + at, p->plan->pieces[i].n, p->o->length - at, segment, 0);
        at += p->plan->pieces[i].n;
    }
    memset(to + at, 0, (size_t)(p->o->length - at) * sizeof(*to));
}

static void fill_positions(const struct packing *p, const struct cw_pack_bin *bin, int32_t *to)
{
    int64_t at = 0;
    for (uint32_t i = bin->first; i != CW_PACK_END; i = p->plan->pieces[i].next) {
        fill_numbers(to + at, p->plan->pieces[i].n, p->o->length - at, 0, 1);
        at += p->plan->pieces[i].n;
    }
    memset(to + at, 0, (size_t)(p->o->length - at) * sizeof(*to));
}

static void fill_mask(const struct packing *p, const struct cw_pack_bin *bin, uint8_t *to)
{
    uint8_t *at = to;
    for (uint32_t i = bin->first; i != CW_PACK_END; i = p->plan->pieces[i].next) {
        size_t n = (size_t)p->plan->pieces[i].n;
        memset(at, 1, n);
        if (p->o->loss_mask == MASK_NEXT)
            at[n - 1] = 0;
        at += n;
    }
    memset(at, 0, (size_t)(to + p->o->length - at));
}

static int make_row(const struct packing *p, const struct cw_pack_bin *bin, struct cw_err *err)
{
    struct cw_view *fields = cw_op_scratch(p->ctx, (p->ctx->out->n + 1) * sizeof(*fields), err);
    size_t f = 0;
    if (!fields)
        return CW_E_NOMEM;
    int rc = cw_stop_check(p->ctx->stop, err);
    for (size_t k = 0; rc == 0 && k < p->ctx->out->n; k++)
        rc = new_field(p, k, &fields[k], err);
    if (rc < 0)
        return rc;
    for (; f < p->n; f++)
        fill_field(p, bin, f, &fields[f]);
    if (p->o->segments)
        fill_segments(p, bin, fields[f++].data);
    if (p->o->positions)
        fill_positions(p, bin, fields[f++].data);
    if (p->o->loss_mask != MASK_NONE)
        fill_mask(p, bin, fields[f].data);
    return p->rows->make(p->rows, p->plan->pieces[bin->first].row, fields, err);
}

static int inside(const struct cw_op_ctx *ctx, const void *opts, const struct cw_op_rows *rows,
                  struct cw_err *err)
{
    const struct pack_opts *o = opts;
    struct cw_pack_plan plan = {
        .length = o->length, .mode = o->mode, .longer = o->longer, .drop_rest = o->drop_remainder};
    struct packing p = {.ctx = ctx, .o = o, .rows = rows, .plan = &plan};
    p.n = find_fields(o, ctx->in, p.fields);
    int64_t *lengths = cw_op_scratch(ctx, (rows->n + 1) * sizeof(*lengths), err);
    for (size_t r = 0; lengths && r < rows->n; r++)
        lengths[r] = rows->row[r][p.fields[0]].dims[0];
    int rc = lengths ? cw_pack_plan(&plan, ctx, lengths, rows->n, err) : CW_E_NOMEM;
    for (size_t b = 0; rc == 0 && b < plan.bins_n; b++)
        rc = make_row(&p, &plan.bins[b], err);
    return rc;
}

static int64_t span(const void *opts)
{
    return ((const struct pack_opts *)opts)->span;
}

const struct cw_op cw_op_pack = {
    .name = "pack",
    .version = 1,
    .summary = "fills rows of one length with sequences",
    .doc =
        "Makes rows of `length` values of the sequences that come in, whole where they fit (mode "
        "first_fit: the first\n"
        "row of the item that has room, in order), or cut wherever a row ends (stream). Fields "
        "that are packed\n"
        "together must have equal lengths in an element: tokens, and a mask or labels of them. "
        "Other fields are\n"
        "left out. `segment` tells which sequence a value is of, for attention masks, and "
        "`position` its place\n"
        "in it; what is cut counts as a sequence of its own in each row. Empty sequences leave "
        "nothing.\n"
        "\n" CW_INSIDE_DOC,
    .kind = CW_OP_GROUP,
    .traits = CW_OP_CHANGES_COUNT,
    .inputs_min = 1,
    .inputs_max = 1,
    .options = options,
    .options_bytes = sizeof(struct pack_opts),
    .check = check,
    .infer = infer,
    .inside = inside,
    .check_row = check_row,
    .span = span,
};
