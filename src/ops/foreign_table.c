/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the descriptor and the table of options of an operator from its definition. */
#include "ops/foreign_table.h"

#include <string.h>

#include "base/mem.h"

#define HEAD_ROWS 3 /* rows that all tables begin with */
#define WORDS_MAX 256
#define INPUTS_MAX 64

/* Bytes of an option in a struct that nobody else knows: the most that one needs. */
#define OPTION_BYTES 16

static const char *const kind_names[] = {"source", "index", "element", "group"};

static int wrong(const char *what, struct cw_err *err)
{
    return cw_err_set(err, CW_E_INVALID,
                      "the definition of an operator of a plugin is not valid: %s", what);
}

static const char *text_of(const struct cw_value *object, const char *key)
{
    const struct cw_value *value = cw_value_get(object, key);
    return value && value->type == CW_VALUE_STR ? value->s : NULL;
}

static int64_t number_of(const struct cw_value *object, const char *key)
{
    const struct cw_value *value = cw_value_get(object, key);
    return value && value->type == CW_VALUE_I64 ? value->i : 0;
}

static double real_of(const struct cw_value *object, const char *key)
{
    const struct cw_value *value = cw_value_get(object, key);
    return !value                        ? 0
           : value->type == CW_VALUE_F64 ? value->f
           : value->type == CW_VALUE_I64 ? (double)value->i
                                         : 0;
}

/* A word of a few characters that stand in names, with dots between if `dots`. */
static bool is_name(const char *s, bool dots)
{
    size_t n = s ? strlen(s) : 0, dots_n = 0;
    for (size_t i = 0; i < n; i++) {
        bool letter = (s[i] >= 'a' && s[i] <= 'z') || (s[i] >= 'A' && s[i] <= 'Z') || s[i] == '_';
        bool digit = i > 0 && ((s[i] >= '0' && s[i] <= '9') || s[i] == '-');
        bool dot = dots && s[i] == '.' && i > 0 && i + 1 < n && s[i - 1] != '.';
        dots_n += dot;
        if (!letter && !digit && !dot)
            return false;
    }
    return n > 0 && n <= 100 && (dots_n > 0) == dots;
}

/* ---- options ---- */

static bool is_reserved(const char *name)
{
    static const char *const taken[] = {"op",     "name",  "inputs",        "fields",
                                        "plugin", "gives", "keep_position", "depends_on"};
    for (size_t i = 0; i < CW_ARRAY_LEN(taken); i++)
        if (strcmp(taken[i], name) == 0)
            return true;
    return false;
}

static int read_words(const struct cw_value *words, struct cw_opt *row, struct cw_err *err)
{
    if (!words || words->type != CW_VALUE_LIST || words->n == 0 || words->n > WORDS_MAX)
        return wrong("an option with words has none, or too many", err);
    const char **names = CW_NEW_ARRAY(const char *, words->n + 1);
    row->names = names;
    for (size_t i = 0; i < words->n; i++) {
        if (words->items[i].type != CW_VALUE_STR)
            return wrong("a word of an option is no string", err);
        names[i] = words->items[i].s;
    }
    return 0;
}

static int read_row(const struct cw_value *option, struct cw_opt *row, struct cw_err *err)
{
    if (option->type != CW_VALUE_OBJECT)
        return wrong("an option is no object", err);
    const char *name = text_of(option, "name"), *help = text_of(option, "help");
    int64_t type = number_of(option, "type");
    if (!is_name(name, false) || is_reserved(name))
        return wrong("the name of an option is none, or is taken", err);
    if (type < CW_OPT_BOOL || type > CW_OPT_BYTES)
        return wrong("the type of an option is unknown", err);
    row->name = name;
    row->help = help ? help : "";
    row->type = (enum cw_opt_type)type;
    row->def = text_of(option, "default");
    row->min = real_of(option, "min");
    row->max = real_of(option, "max");
    row->len_min = (size_t)CW_MAX(number_of(option, "len_min"), 0);
    row->len_max = (size_t)CW_MAX(number_of(option, "len_max"), 0);
    row->flags = (unsigned)number_of(option, "flags") & (CW_OPT_REQUIRED | CW_OPT_NO_FINGERPRINT);
    return type == CW_OPT_ENUM ? read_words(cw_value_get(option, "words"), row, err) : 0;
}

static void head_rows(struct cw_opt *rows, size_t index)
{
    rows[0] = (struct cw_opt){.name = "operator",
                              .help = "its number",
                              .type = CW_OPT_I64,
                              .offset = offsetof(struct cw_foreign_opts, index),
                              .def = cw_mem_printf("%zu", index),
                              .flags = CW_OPT_OWN};
    rows[1] =
        (struct cw_opt){.name = "plugin",
                        .help = "written down when a job is prepared: what the operator is, and "
                                "of which file",
                        .type = CW_OPT_VALUE,
                        .offset = offsetof(struct cw_foreign_opts, plugin),
                        .flags = CW_OPT_NEWER | CW_OPT_WRITTEN};
    rows[2] =
        (struct cw_opt){.name = "gives",
                        .help = "written down when a job is prepared: the fields that come out",
                        .type = CW_OPT_STR_LIST,
                        .offset = offsetof(struct cw_foreign_opts, gives),
                        .flags = CW_OPT_NO_FINGERPRINT | CW_OPT_WRITTEN};
}

static bool is_twice(const struct cw_opt *rows, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(rows[i].name, name) == 0)
            return true;
    return false;
}

/* A default is tried, so that a table that cannot be used is found here. */
static int try_default(const struct cw_opt *row, struct cw_err *err)
{
    struct cw_opt one[2] = {*row, {0}};
    char memory[OPTION_BYTES] = {0};
    one[0].offset = 0;
    one[0].flags &= ~(unsigned)CW_OPT_REQUIRED;
    int rc = cw_opt_parse(one, NULL, memory, err);
    if (rc == 0)
        cw_opt_fini(one, memory);
    return rc;
}

static int read_options(const struct cw_foreign_new *how, size_t index, struct cw_foreign *foreign,
                        struct cw_err *err)
{
    const struct cw_value *options = cw_value_get(&foreign->definition, "options");
    size_t n = options && options->type == CW_VALUE_LIST ? options->n : 0;
    const char *span = text_of(&foreign->definition, "span");
    if (n > CW_FOREIGN_OPTIONS_MAX)
        return wrong("it has too many options", err);
    struct cw_opt *rows = CW_NEW_ARRAY(struct cw_opt, HEAD_ROWS + n + 1);
    foreign->op.options = rows;
    head_rows(rows, index);
    for (size_t i = 0; i < n; i++) {
        struct cw_opt *row = &rows[HEAD_ROWS + i];
        int rc = read_row(&options->items[i], row, err);
        if (rc == 0 && is_twice(rows, HEAD_ROWS + i, row->name))
            rc = wrong("two options have one name", err);
        if (rc == 0)
            rc = try_default(row, err);
        if (rc < 0)
            return rc;
        row->offset = CW_FOREIGN_OPTS_BYTES + (how->offsets ? how->offsets[i] : i * OPTION_BYTES);
        if (span && strcmp(span, row->name) == 0 && row->type == CW_OPT_I64)
            foreign->span_offset = row->offset;
    }
    foreign->op.options_bytes =
        CW_FOREIGN_OPTS_BYTES + (how->offsets ? how->opts_bytes : n * OPTION_BYTES);
    return span && foreign->span_offset == 0 ? wrong("its span is no option", err) : 0;
}

/* ---- the rest ---- */

static unsigned traits_of(const struct cw_value *definition)
{
    static const struct {
        unsigned theirs, ours;
    } pairs[] = {{CW_FOREIGN_RANDOM, CW_OP_RANDOM}, {CW_FOREIGN_SHRINKS, CW_OP_SHRINK},
                 {CW_FOREIGN_GROWS, CW_OP_GROW},    {CW_FOREIGN_DROPS, CW_OP_CHANGES_COUNT},
                 {CW_FOREIGN_AFFINE, CW_OP_AFFINE}, {CW_FOREIGN_PERMUTES, CW_OP_PERMUTES}};
    const unsigned said = (unsigned)number_of(definition, "traits");
    unsigned traits = 0;
    for (size_t i = 0; i < CW_ARRAY_LEN(pairs); i++)
        if (said & pairs[i].theirs)
            traits |= pairs[i].ours;
    if (number_of(definition, "fieldwise"))
        traits |= CW_OP_FIELDWISE;
    if (number_of(definition, "facts") & CW_FOREIGN_EACH_VALUE)
        traits |= CW_OP_POINTWISE;
    else
        traits |= CW_OP_OPAQUE;
    return traits;
}

/* What the kinds do not have. */
static unsigned allowed_traits(const struct cw_op *op)
{
    const unsigned any = CW_OP_RANDOM | CW_OP_SHRINK | CW_OP_GROW | CW_OP_OPAQUE;
    switch (op->kind) {
    case CW_OP_SOURCE:
        return CW_OP_SHRINK | CW_OP_GROW | CW_OP_OPAQUE;
    case CW_OP_INDEX:
        return any | (op->inputs_max == 1 ? CW_OP_AFFINE | CW_OP_PERMUTES : 0);
    case CW_OP_GROUP:
        return any | CW_OP_CHANGES_COUNT;
    case CW_OP_ELEMENT:
        break;
    }
    return (op->traits & CW_OP_FIELDWISE) ? any | CW_OP_FIELDWISE | CW_OP_POINTWISE
                                          : any | CW_OP_CHANGES_COUNT;
}

static int read_kind(struct cw_foreign *foreign, struct cw_err *err)
{
    struct cw_op *op = &foreign->op;
    const char *kind = text_of(&foreign->definition, "kind");
    size_t k = 0;
    while (kind && k < CW_ARRAY_LEN(kind_names) && strcmp(kind, kind_names[k]) != 0)
        k++;
    if (!kind || k == CW_ARRAY_LEN(kind_names))
        return wrong("its kind is unknown", err);
    op->kind = (enum cw_op_kind)k;
    op->inputs_min = op->inputs_max = op->kind == CW_OP_SOURCE ? 0 : 1;
    int64_t least = number_of(&foreign->definition, "inputs_min"),
            most = number_of(&foreign->definition, "inputs_max");
    if (op->kind == CW_OP_INDEX && most > 0) {
        if (least < 1 || least > most || most > INPUTS_MAX)
            return wrong("its numbers of inputs", err);
        op->inputs_min = (size_t)least;
        op->inputs_max = (size_t)most;
    }
    op->traits = traits_of(&foreign->definition);
    if (op->kind == CW_OP_GROUP)
        op->traits |= CW_OP_CHANGES_COUNT;
    if (op->traits & ~allowed_traits(op))
        return wrong("it claims a trait that is not for its kind", err);
    return 0;
}

static int read_takes(struct cw_foreign *foreign, struct cw_err *err)
{
    const uint32_t numbers = (1u << CW_DTYPE_STR) - 1;
    const uint32_t dtypes = (uint32_t)number_of(&foreign->definition, "dtypes");
    const int64_t least = number_of(&foreign->definition, "rank_min"),
                  most = number_of(&foreign->definition, "rank_max");
    if (least < 0 || most < 0 || most > CW_RANK_MAX || least > CW_RANK_MAX)
        return wrong("the ranks that it takes", err);
    foreign->takes = (struct cw_op_takes){.dtypes = dtypes ? dtypes : numbers,
                                          .rank_min = (int)least,
                                          .rank_max = most || least ? (int)most : CW_RANK_MAX};
    foreign->op.takes = &foreign->takes;
    return 0;
}

static int read_all(const struct cw_foreign_new *how, size_t index, struct cw_foreign *foreign,
                    struct cw_err *err)
{
    const struct cw_value *definition = &foreign->definition;
    const char *name = text_of(definition, "name"), *hash = text_of(definition, "hash"),
               *library = text_of(definition, "library"), *summary = text_of(definition, "summary");
    int64_t version = number_of(definition, "version");
    if (!is_name(name, true))
        return wrong("its name must be words with a dot between, such as mylab.whiten", err);
    if (!hash || strlen(hash) != CW_HASH_TEXT_BYTES - 1 || !library)
        return wrong("it does not say of which file it is", err);
    if (version < 0 || version > UINT32_MAX)
        return wrong("its version", err);
    foreign->op.name = name;
    foreign->op.version = (uint32_t)version;
    foreign->op.summary = summary ? summary : "";
    foreign->op.doc = how->doc ? how->doc : foreign->op.summary;
    foreign->op.foreign = true;
    foreign->hash = cw_mem_strdup(hash);
    foreign->library = cw_mem_strdup(library);
    int rc = read_kind(foreign, err);
    if (rc == 0)
        rc = read_takes(foreign, err);
    return rc == 0 ? read_options(how, index, foreign, err) : rc;
}

static bool varies(const void *opts)
{
    (void)opts;
    return true;
}

static int64_t span(const void *opts)
{
    int64_t rows;
    memcpy(&rows, (const char *)opts + cw_foreign_of(opts)->span_offset, sizeof(rows));
    return rows;
}

void cw_foreign_common(struct cw_foreign *foreign)
{
    if (number_of(&foreign->definition, "traits") & CW_FOREIGN_VARIES)
        foreign->op.varies = varies;
    if (foreign->span_offset)
        foreign->op.span = span;
}

static void foreign_free(struct cw_foreign *foreign)
{
    const struct cw_opt *rows = foreign->op.options;
    for (size_t i = 0; rows && rows[i].name; i++)
        if (i >= HEAD_ROWS)
            cw_mem_free((void *)(uintptr_t)rows[i].names);
    if (rows)
        cw_mem_free((void *)(uintptr_t)rows[0].def);
    cw_mem_free((void *)(uintptr_t)rows);
    cw_value_fini(&foreign->definition);
    cw_mem_free(foreign->text);
    cw_mem_free(foreign->hash);
    cw_mem_free(foreign->library);
    cw_mem_free(foreign);
}

int cw_foreign_table(const struct cw_foreign_new *how, const char *text, size_t index,
                     struct cw_foreign **ret_foreign, struct cw_err *err)
{
    if (how->definition->type != CW_VALUE_OBJECT)
        return wrong("it is no object", err);
    struct cw_foreign *foreign = CW_NEW(struct cw_foreign);
    cw_value_copy(&foreign->definition, how->definition);
    foreign->text = cw_mem_strdup(text);
    foreign->impl = how->impl;
    foreign->announced = how->announced;
    int rc = read_all(how, index, foreign, err);
    if (rc == 0)
        *ret_foreign = foreign;
    else
        foreign_free(foreign);
    return rc;
}
