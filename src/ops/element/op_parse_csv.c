/* SPDX-License-Identifier: Apache-2.0 */
/* Element operator `parse_csv`: fields out of a string with a record of CSV in it. */
#include <string.h>

#include "base/mem.h"
#include "format/csv.h"
#include "ops/op_util.h"

struct parse_csv_opts {
    char *field, *head, *separator, *quote;
    struct cw_str_list schema, empty;
    struct cw_value missing, mask;
    bool header;
};
/* Of one thread: what was found in the head that came last. */
struct scratch {
    char *bytes;
    size_t n;
    struct cw_csv_head *head;
};

#define OFFSET(member) offsetof(struct parse_csv_opts, member)
static const struct cw_opt options[] = {
    {.name = "field",
     .help = "the str field with the record",
     .type = CW_OPT_STR,
     .offset = OFFSET(field),
     .def = "\"text\""},
    {.name = "head",
     .help = "the str field with the first record of its file",
     .type = CW_OPT_STR,
     .offset = OFFSET(head),
     .def = "\"head\""},
    {.name = "schema",
     .help = "the new fields: \"label: i64\", \"age = Age in years: f32\", ...",
     .type = CW_OPT_STR_LIST,
     .offset = OFFSET(schema),
     .flags = CW_OPT_REQUIRED,
     .len_min = 1,
     .len_max = CW_FIELDS_MAX},
    {.name = "separator",
     .help = "the byte between cells; \"\\t\" for TSV",
     .type = CW_OPT_STR,
     .offset = OFFSET(separator),
     .def = "\",\""},
    {.name = "quote",
     .help = "the byte around cells; \"\" = there are no quotes",
     .type = CW_OPT_STR,
     .offset = OFFSET(quote),
     .def = "\"\\\"\""},
    {.name = "header",
     .help = "the head has the names; without it keys are numbers, from 0 on",
     .type = CW_OPT_BOOL,
     .offset = OFFSET(header),
     .def = "true"},
    {.name = "empty",
     .help = "cells that count as empty: [\"NA\", \"NULL\"]",
     .type = CW_OPT_STR_LIST,
     .offset = OFFSET(empty),
     .def = "[]",
     .len_max = 100},
    {.name = "missing",
     .help = "a record with an empty cell: \"fail\", a value, or an object of these by field",
     .type = CW_OPT_VALUE,
     .offset = OFFSET(missing)},
    {.name = "mask",
     .help =
         "add a field NAME_mask, bool, for fields for which `missing` gives a value: false where "
         "that stands in. true = for all of these, or names",
     .type = CW_OPT_VALUE,
     .offset = OFFSET(mask),
     .flags = CW_OPT_NEWER},
    {0},
};

static int check(const void *opts, struct cw_err *err)
{
    const struct parse_csv_opts *o = opts;
    return cw_csv_rules_check(o->separator, o->quote, err);
}

static int make_reader(const struct parse_csv_opts *o, struct cw_csv_reader **ret_reader,
                       struct cw_err *err)
{
    struct cw_text_schema schema = {0};
    const struct cw_value none = {0};
    const struct cw_csv_options how = {
        .rules = {.separator = o->separator[0], .quote = o->quote[0]},
        .has_header = o->header,
        .empty = o->empty.v,
        .empty_n = o->empty.n};
    int rc = cw_text_schema_parse(o->schema.v, o->schema.n, &o->missing, &none, &schema, err);
    if (rc == 0 && cw_text_schema_skips(&schema)) {
        cw_text_schema_fini(&schema);
        return cw_err_set(err, CW_E_INVALID,
                          "option missing: parse_csv leaves no element out; give a value and use "
                          "`filter` behind it");
    }
    if (rc == 0)
        rc = cw_text_schema_mask(&schema, &o->mask, err);
    if (rc == 0)
        return cw_csv_reader_new(&schema, &how, ret_reader, err);
    cw_text_schema_fini(&schema);
    return rc;
}

static int find_str(const struct cw_spec *in, const char *option, const char *name,
                    struct cw_err *err)
{
    const int at = cw_spec_find(in, name);
    return at >= 0 && in->fields[at].dtype == CW_DTYPE_STR && in->fields[at].rank == 0
               ? 0
               : cw_err_set(err, CW_E_INVALID, "option %s: there is no str field \"%s\"", option,
                            name);
}

static bool is_taken(const struct parse_csv_opts *o, const char *name)
{
    return strcmp(name, o->field) == 0 || strcmp(name, o->head) == 0;
}

static int infer(const void *opts, const struct cw_spec *in, size_t in_n, struct cw_spec *ret_spec,
                 struct cw_err *err)
{
    const struct parse_csv_opts *o = opts;
    struct cw_csv_reader *reader = NULL;
    CW_SPEC_AUTO spec = {0};
    CW_SPEC_AUTO made = {0};
    (void)in_n;
    int rc = find_str(in, "field", o->field, err);
    if (rc == 0)
        rc = find_str(in, "head", o->head, err);
    for (size_t i = 0; i < in->n && rc == 0; i++) {
        const struct cw_field *f = &in->fields[i];
        if (!is_taken(o, f->name))
            rc = cw_spec_add(&spec, f->name, f->dtype, f->rank, f->dims, err);
    }
    if (rc == 0)
        rc = make_reader(o, &reader, err);
    if (rc == 0)
        rc = cw_text_schema_spec(cw_csv_reader_schema(reader), &made, err);
    for (size_t i = 0; rc == 0 && i < made.n; i++) {
        const struct cw_field *f = &made.fields[i];
        rc = cw_spec_add(&spec, f->name, f->dtype, f->rank, f->dims, err);
    }
    cw_csv_reader_free(reader);
    if (rc == 0)
        *ret_spec = cw_spec_take(&spec);
    return rc;
}

static int open_reader(const void *opts, const struct cw_op_open *how, void **ret_state,
                       struct cw_err *err)
{
    struct cw_csv_reader *reader = NULL;
    (void)how;
    int rc = make_reader(opts, &reader, err);
    *ret_state = reader;
    return rc;
}

static void close_reader(void *state)
{
    cw_csv_reader_free(state);
}

static void *scratch_new(const void *opts, void *state)
{
    (void)opts;
    (void)state;
    return CW_NEW(struct scratch);
}

static void scratch_free(void *scratch)
{
    struct scratch *s = scratch;
    if (!s)
        return;
    cw_mem_free(s->bytes);
    cw_mem_free(s->head);
    cw_mem_free(s);
}

/* Finds the columns, unless the head is the last one again. A wrong head is none of an element: with it all records of a
 * file would be left out. */
static int use_head(const struct cw_csv_reader *reader, struct scratch *s,
                    const struct cw_view *head, struct cw_err *err)
{
    if (s->head && s->n == head->bytes && memcmp(s->bytes, head->data, s->n) == 0)
        return 0;
    cw_mem_free(s->head);
    cw_mem_free(s->bytes);
    *s = (struct scratch){0};
    int rc = cw_csv_head_new(reader, head->data, head->bytes, &s->head, err);
    if (rc < 0) {
        s->head = NULL;
        if (err && cw_err_is_of_data(rc))
            err->code = CW_E_STATE;
        return cw_err_is_of_data(rc) ? CW_E_STATE : rc;
    }
    s->bytes = cw_mem_dup(head->data, CW_MAX(head->bytes, 1));
    s->n = head->bytes;
    return 0;
}

static int apply(const struct cw_op_ctx *ctx, const void *opts, void *state, void *scratch,
                 struct cw_element *element, struct cw_err *err)
{
    const struct parse_csv_opts *o = opts;
    const struct cw_csv_reader *reader = state;
    struct scratch *s = scratch;
    const size_t made = cw_csv_reader_schema(reader)->n + cw_csv_reader_schema(reader)->masks;
    struct cw_view *views = cw_op_scratch(ctx, (made + 1) * sizeof(*views), err);
    if (!views)
        return CW_E_NOMEM;
    const struct cw_view *text = &element->fields[cw_spec_find(ctx->in, o->field)];
    int rc = use_head(reader, s, &element->fields[cw_spec_find(ctx->in, o->head)], err);
    if (rc == 0)
        rc = cw_csv_read(reader, s->head, text->data, text->bytes, ctx->arena, views, err);
    if (rc < 0)
        return rc;
    size_t n = 0;
    for (size_t i = 0; i < element->n; i++)
        if (!is_taken(o, ctx->in->fields[i].name))
            element->fields[n++] = element->fields[i];
    memcpy(element->fields + n, views, made * sizeof(*views));
    element->n = n + made;
    return 0;
}

static bool names(const void *opts, struct cw_op_names *names)
{
    cw_op_names_add(names, ((const struct parse_csv_opts *)opts)->field);
    cw_op_names_add(names, ((const struct parse_csv_opts *)opts)->head);
    return true;
}

const struct cw_op cw_op_parse_csv = {
    .name = "parse_csv",
    .version = 1,
    .summary = "fields out of a string with a record of CSV in it",
    .doc =
        "Replaces two str fields, a record and the first record of its file, by the fields of "
        "`schema`, which are those that\n"
        "`csv` gives of this record, by the same rules; they come behind the other fields. Behind "
        "`text_ranges` with `head`\n"
        "and `split_lines` this gives the records of files without an index of them. `missing` is "
        "\"fail\" or a value: an\n"
        "element is not left out here, but a `filter` behind it can do so. A record that is wrong "
        "is an error of the element;\n"
        "a head that lacks a column is one of the job.",
    .kind = CW_OP_ELEMENT,
    .traits = 0,
    .inputs_min = 1,
    .inputs_max = 1,
    .options = options,
    .options_bytes = sizeof(struct parse_csv_opts),
    .check = check,
    .infer = infer,
    .open = open_reader,
    .close = close_reader,
    .scratch_new = scratch_new,
    .scratch_free = scratch_free,
    .apply = apply,
    .names = names,
};
