/* SPDX-License-Identifier: Apache-2.0 */
/* Group operator `split`: cuts sequences, documents or recordings, into parts of one length, which may
 * overlap. */
#include "ops/group/within.h"

#include <string.h>

enum { REST_KEEP, REST_DROP };
static const char *const rest_words[] = {"keep", "drop", NULL};

struct split_opts {
    int64_t length, shift, span;
    int rest;
    struct cw_str_list only;
    char *part;
    bool survey;
};

#define OFFSET(member) offsetof(struct split_opts, member)
static const struct cw_opt options[] = {
    {.name = "length",
     .help = "entries of the first dimension of a part",
     .type = CW_OPT_I64,
     .offset = OFFSET(length),
     .min = 1,
     .max = 1 << 28,
     .flags = CW_OPT_REQUIRED},
    {.name = "shift",
     .help = "how many entries further the next part begins; 0 = as many as a part has",
     .type = CW_OPT_I64,
     .offset = OFFSET(shift),
     .def = "0",
     .min = 0,
     .max = 1 << 28},
    {.name = "rest",
     .help = "what becomes of a last part that is shorter",
     .type = CW_OPT_ENUM,
     .offset = OFFSET(rest),
     .names = rest_words,
     .def = "\"keep\""},
    {.name = "only",
     .help = "the fields that are cut; empty = all of numbers whose first dimension is not known "
             "before the data are",
     .type = CW_OPT_STR_LIST,
     .offset = OFFSET(only)},
    {.name = "part",
     .help = "name of a field that is added, i64: the number of the part, from 0; empty = none",
     .type = CW_OPT_STR,
     .offset = OFFSET(part)},
    CW_SPAN_ROW(OFFSET(span)),
    CW_SURVEY_ROW(OFFSET(survey)),
    {0},
};

/* ---- fields ---- */

static bool has_length(const struct cw_field *field)
{
    return field->dtype != CW_DTYPE_STR && field->rank > 0 && !cw_field_is_ragged(field);
}

static bool is_cut(const struct split_opts *o, const struct cw_field *field)
{
    for (size_t i = 0; i < o->only.n; i++)
        if (strcmp(o->only.v[i], field->name) == 0)
            return has_length(field);
    return o->only.n == 0 && has_length(field) && field->dims[0] < 0;
}

/* Returns the first field that is cut; SIZE_MAX if there is none. */
static size_t first_cut(const struct split_opts *o, const struct cw_spec *in)
{
    for (size_t f = 0; f < in->n; f++)
        if (is_cut(o, &in->fields[f]))
            return f;
    return SIZE_MAX;
}

static int check_names(const struct split_opts *o, const struct cw_spec *in, struct cw_err *err)
{
    CW_STR_AUTO spec = {0};
    cw_spec_print(in, &spec);
    for (size_t i = 0; i < o->only.n; i++) {
        int f = cw_spec_find(in, o->only.v[i]);
        if (f < 0 || !has_length(&in->fields[f]))
            return cw_err_set(err, CW_E_INVALID, "option only: %s \"%s\"; what comes in is %s",
                              f < 0 ? "there is no field" : "nothing can be cut in field",
                              o->only.v[i], cw_str_text(&spec));
    }
    if (first_cut(o, in) == SIZE_MAX)
        return cw_err_set(err, CW_E_INVALID, "no field can be cut; what comes in is %s",
                          cw_str_text(&spec));
    return 0;
}

static int infer(const void *opts, const struct cw_spec *in, size_t in_n, struct cw_spec *ret_spec,
                 struct cw_err *err)
{
    const struct split_opts *o = opts;
    CW_SPEC_AUTO spec = cw_spec_copy(&in[0]);
    (void)in_n;
    int rc = check_names(o, &in[0], err);
    for (size_t f = 0; f < spec.n; f++)
        if (is_cut(o, &in->fields[f]))
            spec.fields[f].dims[0] = o->rest == REST_DROP ? o->length : -1;
    if (rc == 0 && o->part && o->part[0])
        rc = cw_spec_add(&spec, o->part, CW_DTYPE_I64, 0, NULL, err);
    if (rc == 0)
        *ret_spec = cw_spec_take(&spec);
    return rc;
}

static int check_row(const void *opts, const struct cw_spec *in, const struct cw_view *row,
                     struct cw_err *err)
{
    const struct split_opts *o = opts;
    size_t first = first_cut(o, in);
    for (size_t f = first + 1; f < in->n; f++)
        if (is_cut(o, &in->fields[f]) && row[f].dims[0] != row[first].dims[0])
            return cw_err_set(err, CW_E_INVALID,
                              "field \"%s\" has %lld entries, and field \"%s\" has %lld",
                              in->fields[f].name, (long long)row[f].dims[0], in->fields[first].name,
                              (long long)row[first].dims[0]);
    return 0;
}

/* ---- parts ---- */

static void cut(struct cw_view *view, int64_t all, int64_t begin, int64_t n)
{
    size_t entry = view->bytes / (size_t)all;
    view->data = (char *)view->data + (size_t)begin * entry;
    view->bytes = (size_t)n * entry;
    view->dims[0] = n;
}

static int number(const struct cw_op_ctx *ctx, int64_t part, struct cw_view *ret_view,
                  struct cw_err *err)
{
    int64_t *value = cw_op_scratch(ctx, sizeof(*value), err);
    if (!value)
        return CW_E_NOMEM;
    *value = part;
    *ret_view = (struct cw_view){.data = value, .bytes = sizeof(*value), .dtype = CW_DTYPE_I64};
    return 0;
}

static int make_part(const struct cw_op_ctx *ctx, const struct split_opts *o,
                     const struct cw_op_rows *rows, size_t r, int64_t part, struct cw_view *fields,
                     struct cw_err *err)
{
    int64_t all = rows->row[r][first_cut(o, ctx->in)].dims[0];
    int64_t shift = o->shift > 0 ? o->shift : o->length;
    int64_t begin = part * shift, n = CW_MIN(o->length, all - begin);
    for (size_t f = 0; f < ctx->in->n; f++) {
        fields[f] = rows->row[r][f];
        if (is_cut(o, &ctx->in->fields[f]))
            cut(&fields[f], all, begin, n);
    }
    int rc = ctx->out->n > ctx->in->n ? number(ctx, part, &fields[ctx->in->n], err) : 0;
    return rc < 0 ? rc : rows->make(rows, r, fields, err);
}

/* Returns how many parts a sequence has. A last part that has nothing but what the one before it has is
 * none. */
static int64_t parts_of(const struct split_opts *o, int64_t all)
{
    int64_t shift = o->shift > 0 ? o->shift : o->length;
    if (all < o->length)
        return all > 0 && o->rest == REST_KEEP;
    int64_t full = (all - o->length) / shift + 1, end = (full - 1) * shift + o->length;
    return full + (o->rest == REST_KEEP && end < all && full * shift < all);
}

static int inside(const struct cw_op_ctx *ctx, const void *opts, const struct cw_op_rows *rows,
                  struct cw_err *err)
{
    const struct split_opts *o = opts;
    size_t first = first_cut(o, ctx->in);
    struct cw_view *fields = cw_op_scratch(ctx, (ctx->out->n + 1) * sizeof(*fields), err);
    if (!fields)
        return CW_E_NOMEM;
    for (size_t r = 0; r < rows->n; r++) {
        int64_t parts = parts_of(o, rows->row[r][first].dims[0]);
        int rc = cw_stop_check(ctx->stop, err);
        for (int64_t part = 0; rc == 0 && part < parts; part++)
            rc = make_part(ctx, o, rows, r, part, fields, err);
        if (rc < 0)
            return rc;
    }
    return 0;
}

static int64_t span(const void *opts)
{
    return ((const struct split_opts *)opts)->span;
}

static bool asks_survey(const void *opts)
{
    return ((const struct split_opts *)opts)->survey;
}

const struct cw_op cw_op_split = {
    .name = "split",
    .version = 1,
    .summary = "cuts sequences into parts of one length",
    .doc =
        "Makes an element of each part of `length` entries of the first dimension: of documents, "
        "recordings, tracks.\n"
        "The next part begins `shift` entries further, so parts may overlap, or leave entries "
        "out. Fields that are cut\n"
        "together must have equal lengths in an element; other fields come with each part as "
        "they are. An empty\n"
        "sequence has no part.\n"
        "\n" CW_INSIDE_DOC CW_SURVEY_DOC,
    .kind = CW_OP_GROUP,
    .traits = CW_OP_CHANGES_COUNT,
    .inputs_min = 1,
    .inputs_max = 1,
    .options = options,
    .options_bytes = sizeof(struct split_opts),
    .infer = infer,
    .inside = inside,
    .check_row = check_row,
    .span = span,
    .asks_survey = asks_survey,
    .takes_apart = true,
};
