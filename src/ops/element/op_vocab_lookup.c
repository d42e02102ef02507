/* SPDX-License-Identifier: Apache-2.0 */
/* Element operator `vocab_lookup`: the number of a string in a list. */
#include <string.h>

#include "data/strings.h"
#include "ops/text/ids.h"
#include "ops/text/model_file.h"
#include "ops/text/vocab.h"

struct lookup_opts {
    char *vocab;
    struct cw_str_list strings;
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
    {.name = "unknown",
     .help = "id of a string that is not there; -1: it is an error of the element",
     .type = CW_OPT_I64,
     .offset = OFFSET(unknown),
     .def = "-1",
     .min = -1,
     .max = INT32_MAX},
    {0},
};

static int check(const void *opts, struct cw_err *err)
{
    const struct lookup_opts *o = opts;
    if ((o->vocab && o->vocab[0]) == (o->strings.n > 0))
        return cw_err_set(err, CW_E_INVALID, "one of the options vocab and strings is needed");
    return 0;
}

static int infer_field(const void *opts, const struct cw_field *in, struct cw_field *ret_field,
                       struct cw_err *err)
{
    int rc = cw_ids_infer(opts, in, ret_field, err);
    ret_field->rank = in->rank;
    memcpy(ret_field->dims, in->dims, sizeof(ret_field->dims));
    return rc;
}

struct state {
    struct cw_model_files files;
    struct cw_vocab strings;
};

static void close_state(void *state)
{
    struct state *s = state;
    if (!s)
        return;
    cw_model_files_fini(&s->files);
    cw_vocab_fini(&s->strings);
    cw_mem_free(s);
}

static int add_string(struct state *s, const char *text, size_t n, int64_t id, struct cw_err *err)
{
    int rc = cw_vocab_add(&s->strings, text, n, id, err);
    return rc != 0 ? CW_MIN(rc, 0)
                   : cw_err_set(err, CW_E_CORRUPT, "string %lld, \"%.*s\", was there before",
                                (long long)id, (int)CW_MIN(n, 80), text);
}

static int read_lines(struct state *s, const char *text, size_t n, struct cw_err *err)
{
    int64_t id = 0;
    int rc = 0;
    for (size_t at = 0; rc == 0 && at < n; id++) {
        const char *line = text + at, *end = memchr(line, '\n', n - at);
        const size_t line_n = end ? (size_t)(end - line) : n - at;
        at += line_n + 1;
        rc = add_string(s, line, line_n > 0 && line[line_n - 1] == '\r' ? line_n - 1 : line_n, id,
                        err);
    }
    return rc;
}

static int read_strings(struct state *s, const struct lookup_opts *o, const struct cw_op_open *how,
                        struct cw_err *err)
{
    cw_autofree char *bytes = NULL;
    size_t n;
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < o->strings.n; i++)
        rc = add_string(s, o->strings.v[i], strlen(o->strings.v[i]), (int64_t)i, err);
    if (rc < 0 || o->strings.n > 0)
        return rc < 0 ? cw_err_wrap(err, "option strings") : 0;
    rc = cw_model_file_read(&s->files, o->vocab, how, &bytes, &n, err);
    if (rc < 0)
        return rc;
    rc = read_lines(s, bytes, n, err);
    return rc < 0 ? cw_err_wrap(err, "%s", o->vocab) : 0;
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

static int look_up(const struct lookup_opts *o, const struct state *s, const void *p, size_t n,
                   int32_t *ret_id, struct cw_err *err)
{
    const int32_t found = cw_vocab_find(&s->strings, p, n);
    *ret_id = found >= 0 ? found : (int32_t)o->unknown;
    if (*ret_id >= 0)
        return 0;
    return cw_err_set(err, CW_E_INVALID, "\"%.*s\" is none of the %zu strings", (int)CW_MIN(n, 80),
                      (const char *)p, s->strings.n);
}

static int apply_field(const struct cw_op_ctx *ctx, const void *opts, void *state, void *scratch,
                       const struct cw_view *in, struct cw_view *out, struct cw_err *err)
{
    const int64_t count = cw_strings_count(in);
    int32_t id;
    (void)scratch;
    out->dtype = CW_DTYPE_I32;
    out->stamp = NULL;
    int rc = cw_op_output(ctx, out, err);
    for (int64_t i = 0; rc == 0 && i < count; i++) {
        size_t n = in->bytes;
        const char *p = in->rank > 0 ? cw_strings_get(in->data, count, i, &n) : in->data;
        rc = look_up(opts, state, p, n, &id, err);
        memcpy((char *)out->data + (size_t)i * sizeof(id), &id, sizeof(id));
    }
    return rc;
}

const struct cw_op cw_op_vocab_lookup = {
    .name = "vocab_lookup",
    .version = 1,
    .summary = "the number of a string in a list",
    .doc = "Replaces a string by its number in a list, from 0, as an i32: the lines of the file\n"
           "`vocab`, or `strings`. No string may be there twice. The file is identified by its\n"
           "content. A list of strings becomes as many numbers. Works on all str fields unless\n"
           "`fields` says which.",
    .kind = CW_OP_ELEMENT,
    .traits = CW_OP_SHRINK | CW_OP_FIELDWISE,
    .inputs_min = 1,
    .inputs_max = 1,
    .options = options,
    .options_bytes = sizeof(struct lookup_opts),
    .check = check,
    .takes_lists = true,
    .accepts = cw_ids_accepts,
    .infer_field = infer_field,
    .open = open_state,
    .close = close_state,
    .manifest = manifest,
    .apply_field = apply_field,
    .facts = cw_ids_facts,
};
