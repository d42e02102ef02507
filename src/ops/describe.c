/* SPDX-License-Identifier: Apache-2.0 */
/* Prints the tables of operators as text, JSON and Markdown. */
#include "ops/describe.h"

#include "ops/foreign.h"

#include <string.h>

static const struct {
    enum cw_op_traits bit;
    const char *name, *means;
} traits[] = {{CW_OP_RANDOM, "random",
               "draws from the random stream of its element, or permutes by seed and epoch"},
              {CW_OP_POINTWISE, "pointwise", "each value by itself"},
              {CW_OP_GEOMETRIC, "geometric", "moves pixels"},
              {CW_OP_CROP, "crop", "keeps a part of an image"},
              {CW_OP_SHRINK, "shrink", "usually fewer bytes out than in"},
              {CW_OP_GROW, "grow", "usually more bytes out than in"},
              {CW_OP_CAST, "cast", "changes the dtype"},
              {CW_OP_OPAQUE, "opaque", "nothing may be assumed about it"},
              {CW_OP_CHANGES_COUNT, "changes_count", "how many elements there are depends on data"},
              {CW_OP_FIELDWISE, "fieldwise", "works on one field at a time; `fields` picks which"},
              {CW_OP_FILES, "files", "reads files"},
              {CW_OP_AFFINE, "affine", "position p is position a + b p of its input"},
              {CW_OP_MERGE, "merge", "puts one element of every input together"},
              {CW_OP_PERMUTES, "permutes", "gives each element once, in another order"},
              {CW_OP_AGAIN, "again", "may give an element several times"},
              {CW_OP_POSITION, "position", "adds the position of an element"}};

static const char *const kinds_mean[] = {
    [CW_OP_SOURCE] = "says how many elements there are, and gives each by its position",
    [CW_OP_INDEX] = "decides which elements come, and where, without looking at them",
    [CW_OP_ELEMENT] = "computes one element from one element",
    [CW_OP_GROUP] = "makes one element of several"};

static void add_traits(const struct cw_op *op, const char *quote, const char *between,
                       struct cw_str *out)
{
    bool first = true;
    for (size_t i = 0; i < CW_ARRAY_LEN(traits); i++) {
        if (op->traits & traits[i].bit) {
            cw_str_addf(out, "%s%s%s%s", first ? "" : between, quote, traits[i].name, quote);
            first = false;
        }
    }
}

static bool has_range(const struct cw_opt *row)
{
    bool number = row->type == CW_OPT_I64 || row->type == CW_OPT_F64 ||
                  row->type == CW_OPT_I64_LIST || row->type == CW_OPT_F64_LIST ||
                  row->type == CW_OPT_BYTES;
    return number && (row->min != 0 || row->max != 0);
}

/* Appends the range of a numeric option. A limit that only keeps arithmetic safe is not
 * mentioned. */
static void add_range(const struct cw_opt *row, struct cw_str *out)
{
    if (!has_range(row))
        return;
    if (row->max < 0x1p40)
        cw_str_addf(out, "%.10g to %.10g", row->min, row->max);
    else
        cw_str_addf(out, "at least %.10g", row->min);
}

static void add_words(const struct cw_opt *row, struct cw_str *out)
{
    for (size_t i = 0; row->names && row->names[i]; i++)
        cw_str_addf(out, "%s%s", i ? ", " : "", row->names[i]);
}

static void add_default(const struct cw_opt *row, struct cw_str *out)
{
    cw_str_add(out, row->flags & CW_OPT_REQUIRED ? "required" : row->def ? row->def : "not set");
}

static const char *inputs_text(const struct cw_op *op)
{
    if (op->inputs_max == 0)
        return "none";
    return op->inputs_max == 1 ? "one" : "several";
}

/* The operator's paragraphs, and what it has in common with all that move fields together. */
static void add_doc(const struct cw_op *op, struct cw_str *out)
{
    cw_str_add(out, op->doc);
    if (!op->moves)
        return;
    cw_str_add(out, "\n\nWhat is named by `masks`, `boxes`, `labels` and `points` moves with the "
                    "images (pipelines.md, \"What moves together\").");
    if (op->moves->clips)
        cw_str_add(out,
                   "\nBoxes are cut off at the edges of the result, and those of which nothing "
                   "is left go.");
}

/* Whether people give the option. */
static bool is_shown(const struct cw_opt *row)
{
    return !(row->flags & (CW_OPT_OWN | CW_OPT_WRITTEN));
}

static bool has_options(const struct cw_op *op)
{
    const struct cw_opt *row = op->options;
    while (row && row->name && !is_shown(row))
        row++;
    return row && row->name;
}

static void text_of(const struct cw_op *op, struct cw_str *out)
{
    cw_str_addf(out, "%s: %s\n\n", op->name, op->summary);
    add_doc(op, out);
    cw_str_addf(out, "\n\nkind: %s; inputs: %s; version: %u", cw_op_kind_name(op->kind),
                inputs_text(op), op->version);
    if (op->traits) {
        cw_str_add(out, "; traits: ");
        add_traits(op, "", ", ", out);
    }
    cw_str_add(out, has_options(op) ? "\n\noptions:\n" : "\n\noptions: none\n");
    for (const struct cw_opt *row = op->options; row && row->name; row++) {
        if (!is_shown(row))
            continue;
        cw_str_addf(out, "  %s (%s; ", row->name, cw_opt_type_name(row->type));
        add_default(row, out);
        if (has_range(row) || row->names)
            cw_str_add(out, "; ");
        add_range(row, out);
        add_words(row, out);
        cw_str_addf(out, ")\n      %s\n", row->help);
    }
}

void cw_ops_describe_text(const struct cw_op *op, struct cw_str *out)
{
    size_t n, own_n = 0;
    const struct cw_op *const *all = cw_op_all(&n);
    if (op) {
        text_of(op, out);
        return;
    }
    for (size_t i = 0; i < n; i++)
        cw_str_addf(out, "%-20s  %-8s %s\n", all[i]->name, cw_op_kind_name(all[i]->kind),
                    all[i]->summary);
    for (const struct cw_foreign *own; (own = cw_foreign_loaded(own_n)) != NULL; own_n++)
        cw_str_addf(out, "%-20s  %-8s %s  (%s)\n", own->op.name, cw_op_kind_name(own->op.kind),
                    own->op.summary, own->library);
}

static void add_member(const char *key, const char *text, struct cw_str *out)
{
    cw_str_addf(out, "\"%s\":", key);
    cw_str_add_json(out, text, strlen(text));
}

/* Returns the name of a type for programs; cw_opt_type_name gives the one for people. */
static const char *type_word(enum cw_opt_type type)
{
    static const char *const words[] = {
        [CW_OPT_BOOL] = "bool",         [CW_OPT_I64] = "i64",
        [CW_OPT_F64] = "f64",           [CW_OPT_STR] = "str",
        [CW_OPT_ENUM] = "enum",         [CW_OPT_I64_LIST] = "i64_list",
        [CW_OPT_F64_LIST] = "f64_list", [CW_OPT_STR_LIST] = "str_list",
        [CW_OPT_BYTES] = "bytes",       [CW_OPT_VALUE] = "value"};
    return words[type];
}

static void json_option(const struct cw_opt *row, struct cw_str *out)
{
    cw_str_add_char(out, '{');
    add_member("name", row->name, out);
    cw_str_add_char(out, ',');
    add_member("type", type_word(row->type), out);
    cw_str_addf(out, ",\"required\":%s,\"default\":%s,",
                row->flags & CW_OPT_REQUIRED ? "true" : "false", row->def ? row->def : "null");
    if (has_range(row))
        cw_str_addf(out, "\"min\":%.17g,\"max\":%.17g,", row->min, row->max);
    if (row->names) {
        cw_str_add(out, "\"words\":[");
        for (size_t i = 0; row->names[i]; i++) {
            cw_str_add(out, i ? "," : "");
            cw_str_add_json(out, row->names[i], strlen(row->names[i]));
        }
        cw_str_add(out, "],");
    }
    add_member("help", row->help, out);
    cw_str_add_char(out, '}');
}

static void json_of(const struct cw_op *op, struct cw_str *out)
{
    cw_str_add_char(out, '{');
    add_member("name", op->name, out);
    cw_str_addf(out, ",\"version\":%u,", op->version);
    add_member("kind", cw_op_kind_name(op->kind), out);
    cw_str_addf(out, ",\"inputs_min\":%zu,\"inputs_max\":%zu,\"traits\":[", op->inputs_min,
                op->inputs_max);
    add_traits(op, "\"", ",", out);
    cw_str_add(out, "],");
    add_member("summary", op->summary, out);
    cw_str_add_char(out, ',');
    CW_STR_AUTO doc = {0};
    add_doc(op, &doc);
    add_member("doc", cw_str_text(&doc), out);
    cw_str_add(out, ",\"options\":[");
    for (const struct cw_opt *row = op->options; row && row->name; row++) {
        if (!is_shown(row))
            continue;
        cw_str_add(out, out->s[out->len - 1] == '[' ? "" : ",");
        json_option(row, out);
    }
    cw_str_add(out, "]}");
}

void cw_ops_describe_json(const struct cw_op *op, struct cw_str *out)
{
    size_t n, own_n = 0;
    const struct cw_op *const *all = cw_op_all(&n);
    if (op) {
        json_of(op, out);
    } else {
        for (size_t i = 0; i < n; i++) {
            cw_str_add(out, i ? ",\n " : "[");
            json_of(all[i], out);
        }
        for (const struct cw_foreign *own; (own = cw_foreign_loaded(own_n)) != NULL; own_n++) {
            cw_str_add(out, ",\n ");
            json_of(&own->op, out);
        }
        cw_str_add_char(out, ']');
    }
    cw_str_add_char(out, '\n');
}

static void markdown_option(const struct cw_opt *row, struct cw_str *out)
{
    cw_str_addf(out, "| `%s` | %s", row->name, cw_opt_type_name(row->type));
    if (row->names)
        cw_str_add(out, ": ");
    add_words(row, out);
    if (has_range(row))
        cw_str_add(out, ", ");
    add_range(row, out);
    cw_str_add(out, " | ");
    add_default(row, out);
    cw_str_addf(out, " | %s |\n", row->help);
}

static void markdown_of(const struct cw_op *op, struct cw_str *out)
{
    cw_str_addf(out, "## %s\n\n*%s.* ", op->name, op->summary);
    cw_str_addf(out, "Kind: %s. Inputs: %s. Version %u.", cw_op_kind_name(op->kind),
                inputs_text(op), op->version);
    if (op->traits) {
        cw_str_add(out, " Traits: ");
        add_traits(op, "", ", ", out);
        cw_str_add_char(out, '.');
    }
    cw_str_add(out, "\n\n");
    add_doc(op, out);
    cw_str_add(out, "\n\n");
    if (!has_options(op))
        return;
    cw_str_add(out, "| option | value | default | meaning |\n|---|---|---|---|\n");
    for (const struct cw_opt *row = op->options; row->name; row++)
        if (is_shown(row))
            markdown_option(row, out);
    cw_str_add_char(out, '\n');
}

static void markdown_head(struct cw_str *out)
{
    cw_str_add(
        out,
        "# Operators\n\n"
        "Made by `cachew ops --markdown` from the tables in `src/ops`; a test compares the two.\n"
        "How pipelines are written is in [pipelines.md](pipelines.md), how an operator is added "
        "in\n"
        "[adding-an-operator.md](adding-an-operator.md).\n\n| kind | |\n|---|---|\n");
    for (size_t i = 0; i < CW_ARRAY_LEN(kinds_mean); i++)
        cw_str_addf(out, "| %s | %s |\n", cw_op_kind_name((enum cw_op_kind)i), kinds_mean[i]);
    cw_str_add(out, "\n| trait | |\n|---|---|\n");
    for (size_t i = 0; i < CW_ARRAY_LEN(traits); i++)
        cw_str_addf(out, "| %s | %s |\n", traits[i].name, traits[i].means);
    cw_str_add_char(out, '\n');
}

void cw_ops_describe_markdown(const struct cw_op *op, struct cw_str *out)
{
    size_t n;
    const struct cw_op *const *all = cw_op_all(&n);
    if (op) {
        markdown_of(op, out);
        return;
    }
    markdown_head(out);
    for (size_t i = 0; i < n; i++)
        markdown_of(all[i], out);
    /* exactly one newline is left at the end */
    while (out->len > 1 && out->s[out->len - 2] == '\n')
        out->s[--out->len] = '\0';
}
