/* SPDX-License-Identifier: Apache-2.0 */
/* Element operator `parse_members`: the values of the members of a WebDataset sample. It stands here since it has the columns
 * of the source. */
#include <string.h>

#include "base/mem.h"
#include "ops/op_util.h"
#include "ops/source/webdataset_columns.h"

enum { MISSING_FAIL, MISSING_EMPTY };
static const char *const missing_words[] = {"fail", "empty", NULL};

struct parse_members_opts {
    struct cw_value columns, types;
    int missing; /* index into missing_words */
};

#define OFFSET(member) offsetof(struct parse_members_opts, member)
static const struct cw_opt options[] = {
    {.name = "columns",
     .help = "the fields, as in webdataset",
     .type = CW_OPT_VALUE,
     .offset = OFFSET(columns),
     .flags = CW_OPT_REQUIRED},
    {.name = "types",
     .help = "what becomes of members, by field or extension: {\"npy\": \"f32[3,-1]\"}",
     .type = CW_OPT_VALUE,
     .offset = OFFSET(types)},
    {.name = "missing",
     .help = "what to do with a sample that lacks a field",
     .type = CW_OPT_ENUM,
     .offset = OFFSET(missing),
     .def = "\"fail\"",
     .names = missing_words},
    {0},
};

static const struct cw_wds_column *find_column(const struct cw_wds_columns *columns,
                                               const char *name)
{
    for (size_t i = 0; i < columns->n; i++)
        if (strcmp(columns->v[i].field.name, name) == 0)
            return &columns->v[i];
    return NULL;
}

static int check_fields(const struct cw_wds_columns *columns, const struct cw_spec *in,
                        struct cw_err *err)
{
    for (size_t i = 0; i < columns->n; i++) {
        const char *name = columns->v[i].field.name;
        const int at = cw_spec_find(in, name);
        if (at < 0 || in->fields[at].dtype != CW_DTYPE_STR || in->fields[at].rank != 0)
            return cw_err_set(err, CW_E_INVALID, "option columns: there is no str field \"%s\"",
                              name);
    }
    return 0;
}

static int infer(const void *opts, const struct cw_spec *in, size_t in_n, struct cw_spec *ret_spec,
                 struct cw_err *err)
{
    const struct parse_members_opts *o = opts;
    struct cw_wds_columns columns = {0};
    CW_SPEC_AUTO spec = {0};
    (void)in_n;
    int rc = cw_wds_columns_parse(&o->columns, &o->types, &columns, err);
    if (rc == 0)
        rc = check_fields(&columns, in, err);
    for (size_t i = 0; i < in->n && rc == 0; i++) {
        const struct cw_wds_column *column = find_column(&columns, in->fields[i].name);
        const struct cw_field *f = column ? &column->field : &in->fields[i];
        rc = cw_spec_add(&spec, f->name, f->dtype, f->rank, f->dims, err);
    }
    if (rc == 0)
        *ret_spec = cw_spec_take(&spec);
    cw_wds_columns_fini(&columns);
    return rc;
}

static int open_columns(const void *opts, const struct cw_op_open *how, void **ret_state,
                        struct cw_err *err)
{
    const struct parse_members_opts *o = opts;
    struct cw_wds_columns *columns = CW_NEW(struct cw_wds_columns);
    (void)how;
    int rc = cw_wds_columns_parse(&o->columns, &o->types, columns, err);
    if (rc < 0)
        cw_mem_free(columns);
    else
        *ret_state = columns;
    return rc;
}

static void close_columns(void *state)
{
    if (state)
        cw_wds_columns_fini(state);
    cw_mem_free(state);
}

static int make_value(const struct cw_op_ctx *ctx, const struct parse_members_opts *o,
                      const struct cw_wds_column *column, const struct cw_view *member,
                      struct cw_view *ret_view, struct cw_err *err)
{
    CW_STR_AUTO where = {0};
    if (member->bytes == 0)
        return o->missing == MISSING_EMPTY
                   ? cw_wds_empty(ctx, column, ret_view, err)
                   : cw_err_set(err, CW_E_CORRUPT,
                                "the sample has no member with the extension %s, of field \"%s\" "
                                "(the option missing says what to do then)",
                                column->exts, column->field.name);
    cw_str_addf(&where, "field \"%s\"", column->field.name);
    return cw_wds_value(ctx, column, (char *)member->data + 1, member->bytes - 1,
                        cw_str_text(&where), ret_view, err);
}

static int apply(const struct cw_op_ctx *ctx, const void *opts, void *state, void *scratch,
                 struct cw_element *element, struct cw_err *err)
{
    const struct cw_wds_columns *columns = state;
    int rc = 0;
    (void)scratch;
    for (size_t i = 0; i < columns->n && rc == 0; i++) {
        struct cw_view *field = &element->fields[cw_spec_find(ctx->in, columns->v[i].field.name)];
        const struct cw_view member = *field;
        rc = make_value(ctx, opts, &columns->v[i], &member, field, err);
    }
    return rc;
}

const struct cw_op cw_op_parse_members = {
    .name = "parse_members",
    .version = 1,
    .summary = "the values of the members of a WebDataset sample",
    .doc =
        "Makes of str fields as `webdataset_shards` and `unbatch` give them (the byte 1 and a "
        "member, or an empty string for\n"
        "none) what `webdataset` gives with the same `columns` and `types`. Other fields stay. A "
        "member that is wrong is an\n"
        "error of the element, and so is one that is missing, unless `missing` is \"empty\".",
    .kind = CW_OP_ELEMENT,
    .traits = 0,
    .inputs_min = 1,
    .inputs_max = 1,
    .options = options,
    .options_bytes = sizeof(struct parse_members_opts),
    .infer = infer,
    .open = open_columns,
    .close = close_columns,
    .apply = apply,
};
