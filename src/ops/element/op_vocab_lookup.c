/* SPDX-License-Identifier: Apache-2.0 */
/* Element operator `vocab_lookup`: the number of a string in a list. */
#include <string.h>

#include "data/strings.h"
#include "ops/element/columns_op.h"
#include "ops/text/ids.h"
#include "ops/text/model_file.h"
#include "ops/text/vocab.h"

struct lookup_opts {
    char *vocab;
    struct cw_str_list strings;
    char *file;
    struct cw_str_list words_of;
    int64_t unknown;
};

#define OFFSET(member) offsetof(struct lookup_opts, member)
static const struct cw_opt options[] = {
    {.name = "vocab",
     .help = "path of a file with a string on each line, whose number from 0 is its id",
     .type = CW_OPT_STR,
     .offset = OFFSET(vocab)},
    {.name = "strings",
     .help = "the strings themselves, instead of a file",
     .type = CW_OPT_STR_LIST,
     .offset = OFFSET(strings)},
    {.name = "file",
     .help = "a file that `cachew analyze` wrote, which says the words of each field",
     .type = CW_OPT_STR,
     .offset = OFFSET(file),
     .flags = CW_OPT_NEWER},
    {.name = "words_of",
     .help = "the fields of which the file says words",
     .type = CW_OPT_STR_LIST,
     .offset = OFFSET(words_of),
     .def = "[]",
     .flags = CW_OPT_NEWER},
    {.name = "unknown",
     .help = "id of a string that is not there; -1: it is an error of the element",
     .type = CW_OPT_I64,
     .offset = OFFSET(unknown),
     .def = "-1",
     .min = -1,
     .max = INT32_MAX},
    {0},
};

static bool has(const char *option)
{
    return option && option[0];
}

static int check(const void *opts, struct cw_err *err)
{
    const struct lookup_opts *o = opts;
    if (has(o->vocab) + (o->strings.n > 0) + has(o->file) != 1)
        return cw_err_set(err, CW_E_INVALID,
                          "one of the options vocab, strings and file is needed");
    return 0;
}

/* ---- a file of cachew analyze ---- */

static bool is_complete(const void *opts)
{
    const struct lookup_opts *o = opts;
    return !has(o->file) || o->words_of.n > 0;
}

/* The words of a field, the most frequent one first; NULL: the file says none. */
static const struct cw_value *words_of(const struct cw_value *fields, size_t i)
{
    const struct cw_value *field = &fields->items[i];
    const struct cw_value *words =
        field->type == CW_VALUE_OBJECT ? cw_value_get(field, "vocabulary") : NULL;
    return words && words->type == CW_VALUE_LIST ? words : NULL;
}

/* The job says which fields the file has words of, so that another field is refused before there are elements;
 * the words themselves stay in the file, which is known by its content. */
static int complete(const void *opts, const struct cw_op_open *how, struct cw_value *said,
                    struct cw_err *err)
{
    const struct lookup_opts *o = opts;
    const struct cw_value *fields = NULL;
    struct cw_value value = {0};
    (void)how;
    int rc = cw_columns_load(o->file, &value, &fields, err);
    if (rc < 0)
        return rc;
    size_t n = 0, at = 0;
    for (size_t i = 0; i < fields->n; i++)
        n += words_of(fields, i) != NULL;
    struct cw_value *names = cw_value_set_list(cw_value_member(said, "words_of"), n);
    for (size_t i = 0; i < fields->n; i++)
        if (words_of(fields, i))
            cw_value_set_str(&names[at++], fields->keys[i]);
    if (n == 0)
        rc = cw_err_set(err, CW_E_INVALID, "option file: %s: says no words of any field", o->file);
    cw_value_fini(&value);
    return rc;
}

static int check_words(const struct lookup_opts *o, const char *field, struct cw_err *err)
{
    for (size_t i = 0; i < o->words_of.n; i++)
        if (cw_str_eq(o->words_of.v[i], field))
            return 0;
    return cw_err_set(err, CW_E_INVALID, "option file: it says no words of a field of this name");
}

static int infer_field(const void *opts, const struct cw_field *in, struct cw_field *ret_field,
                       struct cw_err *err)
{
    const struct lookup_opts *o = opts;
    int rc = has(o->file) ? check_words(o, in->name, err) : 0;
    if (rc == 0)
        rc = cw_ids_infer(opts, in, ret_field, err);
    if (rc < 0)
        return rc;
    ret_field->rank = in->rank;
    memcpy(ret_field->dims, in->dims, sizeof(ret_field->dims));
    return 0;
}

/* ---- state ---- */

struct words {
    char *field; /* NULL: those of all fields */
    struct cw_vocab strings;
};
struct state {
    struct cw_model_files files;
    struct words *v;
    size_t n;
};

static void close_state(void *state)
{
    struct state *s = state;
    if (!s)
        return;
    cw_model_files_fini(&s->files);
    for (size_t i = 0; i < s->n; i++) {
        cw_vocab_fini(&s->v[i].strings);
        cw_mem_free(s->v[i].field);
    }
    cw_mem_free(s->v);
    cw_mem_free(s);
}

static int add_string(struct words *words, const char *text, size_t n, int64_t id,
                      struct cw_err *err)
{
    int rc = cw_vocab_add(&words->strings, text, n, id, err);
    return rc != 0 ? CW_MIN(rc, 0)
                   : cw_err_set(err, CW_E_CORRUPT, "string %lld, \"%.*s\", was there before",
                                (long long)id, (int)CW_MIN(n, 80), text);
}

static int read_lines(struct words *words, const char *text, size_t n, struct cw_err *err)
{
    int64_t id = 0;
    int rc = 0;
    for (size_t at = 0; rc == 0 && at < n; id++) {
        const char *line = text + at, *end = memchr(line, '\n', n - at);
        const size_t line_n = end ? (size_t)(end - line) : n - at;
        at += line_n + 1;
        rc = add_string(words, line, line_n > 0 && line[line_n - 1] == '\r' ? line_n - 1 : line_n,
                        id, err);
    }
    return rc;
}

static int read_file(struct state *s, const char *path, const struct cw_op_open *how,
                     struct cw_err *err)
{
    cw_autofree char *bytes = NULL;
    size_t n;
    int rc = cw_model_file_read(&s->files, path, how, &bytes, &n, err);
    if (rc < 0)
        return rc;
    rc = read_lines(&s->v[0], bytes, n, err);
    return rc < 0 ? cw_err_wrap(err, "%s", path) : 0;
}

static int add_list(struct words *words, const struct cw_value *list, struct cw_err *err)
{
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < list->n; i++) {
        const struct cw_value *item = &list->items[i];
        rc = item->type == CW_VALUE_STR
                 ? add_string(words, item->s, strlen(item->s), (int64_t)i, err)
                 : cw_err_set(err, CW_E_CORRUPT, "word %zu is no string", i);
    }
    return rc;
}

/* Takes the words of each field, as `cachew analyze` has written them. */
static int read_words(struct state *s, const char *path, const struct cw_op_open *how,
                      struct cw_err *err)
{
    cw_autofree char *bytes = NULL;
    size_t n;
    struct cw_value value = {0};
    int rc = cw_model_file_read(&s->files, path, how, &bytes, &n, err);
    if (rc == 0)
        rc = cw_value_parse(bytes, n, path, &value, err);
    const struct cw_value *fields = rc == 0 ? cw_columns_fields(path, &value, err) : NULL;
    if (rc == 0 && !fields)
        rc = CW_E_INVALID;
    s->v = cw_mem_grow(s->v, (fields ? fields->n : 0) + 1, sizeof(*s->v));
    for (size_t i = 0; rc == 0 && i < fields->n; i++) {
        const struct cw_value *list = words_of(fields, i);
        if (!list)
            continue;
        struct words *words = &s->v[s->n++];
        *words = (struct words){.field = cw_mem_printf("%s", fields->keys[i])};
        rc = add_list(words, list, err);
        if (rc < 0)
            rc = cw_err_wrap(err, "option file: %s: field \"%s\"", path, words->field);
    }
    cw_value_fini(&value);
    return rc;
}

static int read_strings(struct state *s, const struct lookup_opts *o, const struct cw_op_open *how,
                        struct cw_err *err)
{
    int rc = 0;
    if (has(o->file))
        return read_words(s, o->file, how, err);
    s->v = CW_NEW_ARRAY(struct words, 1);
    s->n = 1;
    if (o->strings.n == 0)
        return read_file(s, o->vocab, how, err);
    for (size_t i = 0; rc == 0 && i < o->strings.n; i++)
        rc = add_string(&s->v[0], o->strings.v[i], strlen(o->strings.v[i]), (int64_t)i, err);
    return rc < 0 ? cw_err_wrap(err, "option strings") : 0;
}

static int open_state(const void *opts, const struct cw_op_open *how, void **ret_state,
                      struct cw_err *err)
{
    struct state *s = CW_NEW(struct state);
    int rc = read_strings(s, opts, how, err);
    if (rc < 0) {
        close_state(s);
        return rc;
    }
    *ret_state = s;
    return 0;
}

static void manifest(const void *opts, void *state, struct cw_value *ret_value)
{
    const struct state *s = state;
    (void)opts;
    cw_model_files_manifest(&s->files, ret_value);
}

static const struct words *find_words(const struct state *s, const char *field)
{
    for (size_t i = 0; i < s->n; i++)
        if (!s->v[i].field || cw_str_eq(s->v[i].field, field))
            return &s->v[i];
    return NULL;
}

static int look_up(const struct lookup_opts *o, const struct words *words, const void *p, size_t n,
                   int32_t *ret_id, struct cw_err *err)
{
    const int32_t found = cw_vocab_find(&words->strings, p, n);
    *ret_id = found >= 0 ? found : (int32_t)o->unknown;
    if (*ret_id >= 0)
        return 0;
    return cw_err_set(err, CW_E_INVALID, "\"%.*s\" is none of the %zu strings", (int)CW_MIN(n, 80),
                      (const char *)p, words->strings.n);
}

static int apply_field(const struct cw_op_ctx *ctx, const void *opts, void *state, void *scratch,
                       const struct cw_view *in, struct cw_view *out, struct cw_err *err)
{
    const struct words *words = find_words(state, ctx->in->fields[ctx->field].name);
    const int64_t count = cw_strings_count(in);
    int32_t id;
    (void)scratch;
    if (!words) /* the file has changed since the job was checked */
        return cw_err_set(err, CW_E_INVALID, "option file: it says no words of this field");
    out->dtype = CW_DTYPE_I32;
    out->stamp = NULL;
    int rc = cw_op_output(ctx, out, err);
    for (int64_t i = 0; rc == 0 && i < count; i++) {
        size_t n = in->bytes;
        const char *p = in->rank > 0 ? cw_strings_get(in->data, count, i, &n) : in->data;
        rc = look_up(opts, words, p, n, &id, err);
        memcpy((char *)out->data + (size_t)i * sizeof(id), &id, sizeof(id));
    }
    return rc;
}

static void facts(const void *opts, const struct cw_spec *in, const size_t *fields, size_t fields_n,
                  struct cw_op_facts *ret_facts)
{
    const struct lookup_opts *o = opts;
    *ret_facts = (struct cw_op_facts){0};
    /* with a file the words go by names of fields, which other operators may change */
    if (!has(o->file))
        cw_ids_facts(opts, in, fields, fields_n, ret_facts);
}

const struct cw_op cw_op_vocab_lookup = {
    .name = "vocab_lookup",
    .version = 1,
    .summary = "the number of a string in a list",
    .doc =
        "Replaces a string by its number in a list, from 0, as an i32: the lines of the file\n"
        "`vocab`, or `strings`. No string may be there twice. The file is identified by its\n"
        "content. A list of strings becomes as many numbers. Works on all str fields unless\n"
        "`fields` says which.\n"
        "\n"
        "`file` names a file that `cachew analyze` wrote: each field has its own words there, the\n"
        "most frequent one is 0. Which fields it has words of becomes part of the job\n"
        "(`words_of`).",
    .kind = CW_OP_ELEMENT,
    .traits = CW_OP_SHRINK | CW_OP_FIELDWISE,
    .inputs_min = 1,
    .inputs_max = 1,
    .options = options,
    .options_bytes = sizeof(struct lookup_opts),
    .check = check,
    .is_complete = is_complete,
    .complete = complete,
    .completed = "words_of",
    .takes_lists = true,
    .accepts = cw_ids_accepts,
    .infer_field = infer_field,
    .open = open_state,
    .close = close_state,
    .manifest = manifest,
    .apply_field = apply_field,
    .facts = facts,
};
