/* SPDX-License-Identifier: Apache-2.0 */
/* Element operator `parse_json`: fields out of a string with a JSON object in it. */
#include <string.h>

#include "base/mem.h"
#include "format/json_decode.h"
#include "ops/op_util.h"

struct parse_json_opts {
    char *field;
    struct cw_str_list schema;
    struct cw_value missing, null, mask;
    bool keep;
};

#define OFFSET(member) offsetof(struct parse_json_opts, member)
static const struct cw_opt options[] = {
    {.name = "field",
     .help = "the str field with the object",
     .type = CW_OPT_STR,
     .offset = OFFSET(field),
     .def = "\"text\""},
    {.name = "schema",
     .help = "the new fields: \"text: str\", \"label = meta.label: i64\", \"vector: f32[?]\", ...",
     .type = CW_OPT_STR_LIST,
     .offset = OFFSET(schema),
     .flags = CW_OPT_REQUIRED,
     .len_min = 1,
     .len_max = CW_FIELDS_MAX},
    {.name = "missing",
     .help = "an object without a key: \"fail\", a value, or an object of these by field",
     .type = CW_OPT_VALUE,
     .offset = OFFSET(missing)},
    {.name = "null",
     .help = "an object in which a value is null: the same",
     .type = CW_OPT_VALUE,
     .offset = OFFSET(null)},
    {.name = "mask",
     .help = "add a field NAME_mask, bool, for fields for which `missing` or `null` gives a value: "
             "false where that stands in. true = for all of these, or names",
     .type = CW_OPT_VALUE,
     .offset = OFFSET(mask),
     .flags = CW_OPT_NEWER},
    {.name = "keep",
     .help = "the field itself stays, before the new ones",
     .type = CW_OPT_BOOL,
     .offset = OFFSET(keep),
     .def = "false"},
    {0},
};

static int make_reader(const struct parse_json_opts *o, struct cw_json_reader **ret_reader,
                       struct cw_err *err)
{
    struct cw_text_schema schema = {0};
    int rc = cw_text_schema_parse(o->schema.v, o->schema.n, &o->missing, &o->null, &schema, err);
    if (rc == 0 && cw_text_schema_skips(&schema)) {
        cw_text_schema_fini(&schema);
        return cw_err_set(err, CW_E_INVALID,
                          "option missing: parse_json leaves no element out; give a value and use "
                          "`filter` behind it");
    }
    if (rc == 0)
        rc = cw_text_schema_mask(&schema, &o->mask, err);
    if (rc == 0)
        return cw_json_reader_new(&schema, ret_reader, err);
    cw_text_schema_fini(&schema);
    return rc;
}

static int infer(const void *opts, const struct cw_spec *in, size_t in_n, struct cw_spec *ret_spec,
                 struct cw_err *err)
{
    const struct parse_json_opts *o = opts;
    struct cw_json_reader *reader = NULL;
    CW_SPEC_AUTO spec = {0};
    CW_SPEC_AUTO made = {0};
    int rc = 0;
    (void)in_n;
    const int at = cw_spec_find(in, o->field);
    if (at < 0 || in->fields[at].dtype != CW_DTYPE_STR || in->fields[at].rank != 0)
        return cw_err_set(err, CW_E_INVALID, "option field: there is no str field \"%s\"",
                          o->field);
    for (size_t i = 0; i < in->n && rc == 0; i++) {
        const struct cw_field *f = &in->fields[i];
        if (i != (size_t)at || o->keep)
            rc = cw_spec_add(&spec, f->name, f->dtype, f->rank, f->dims, err);
    }
    if (rc == 0)
        rc = make_reader(o, &reader, err);
    if (rc == 0)
        rc = cw_text_schema_spec(cw_json_reader_schema(reader), &made, err);
    for (size_t i = 0; rc == 0 && i < made.n; i++) {
        const struct cw_field *f = &made.fields[i];
        rc = cw_spec_add(&spec, f->name, f->dtype, f->rank, f->dims, err);
    }
    cw_json_reader_free(reader);
    if (rc == 0)
        *ret_spec = cw_spec_take(&spec);
    return rc;
}

static int open_reader(const void *opts, const struct cw_op_open *how, void **ret_state,
                       struct cw_err *err)
{
    struct cw_json_reader *reader = NULL;
    (void)how;
    int rc = make_reader(opts, &reader, err);
    *ret_state = reader;
    return rc;
}

static void close_reader(void *state)
{
    cw_json_reader_free(state);
}

static int apply(const struct cw_op_ctx *ctx, const void *opts, void *state, void *scratch,
                 struct cw_element *element, struct cw_err *err)
{
    const struct parse_json_opts *o = opts;
    const struct cw_json_reader *reader = state;
    const size_t made = cw_json_reader_schema(reader)->n + cw_json_reader_schema(reader)->masks;
    struct cw_view *views = cw_op_scratch(ctx, (made + 1) * sizeof(*views), err);
    (void)scratch;
    if (!views)
        return CW_E_NOMEM;
    const size_t at = (size_t)cw_spec_find(ctx->in, o->field);
    const struct cw_view *text = &element->fields[at];
    int rc = cw_json_read(reader, text->data, text->bytes, ctx->arena, views, err);
    if (rc < 0)
        return rc;
    size_t n = 0;
    for (size_t i = 0; i < element->n; i++) {
        if (i != at || o->keep)
            element->fields[n++] = element->fields[i];
    }
    memcpy(element->fields + n, views, made * sizeof(*views));
    element->n = n + made;
    return 0;
}

static bool names(const void *opts, struct cw_op_names *names)
{
    cw_op_names_add(names, ((const struct parse_json_opts *)opts)->field);
    return true;
}

static void facts(const void *opts, const struct cw_spec *in, const size_t *fields, size_t fields_n,
                  struct cw_op_facts *ret_facts)
{
    const struct parse_json_opts *o = opts;
    const int at = cw_spec_find(in, o->field);
    (void)fields;
    (void)fields_n;
    *ret_facts = (struct cw_op_facts){0};
    if (at >= 0 && !cw_text_schema_asks_mask(&o->mask)) /* how many, only the schema tells */
        cw_facts_of_unpacking(in, (size_t)at, o->keep, o->schema.n, ret_facts);
}

const struct cw_op cw_op_parse_json = {
    .name = "parse_json",
    .version = 1,
    .summary = "fields out of a string with a JSON object in it",
    .doc =
        "Replaces a str field by the fields of `schema`, which are those that `jsonl` gives of a "
        "line with this text, by\n"
        "the same rules; they come behind the other fields. `missing` and `null` are \"fail\" or "
        "values: an element is\n"
        "not left out here, but a `filter` behind it can do so. Text that is no such object is an "
        "error of the element.",
    .kind = CW_OP_ELEMENT,
    .traits = 0,
    .inputs_min = 1,
    .inputs_max = 1,
    .options = options,
    .options_bytes = sizeof(struct parse_json_opts),
    .infer = infer,
    .open = open_reader,
    .close = close_reader,
    .apply = apply,
    .facts = facts,
    .names = names,
};
