/* SPDX-License-Identifier: Apache-2.0 */
/* Source `text_ranges`: ranges of bytes of text files, so that nothing is scanned before the first of them. An
 * element has the lines that begin in its range, whole. */
#include <string.h>

#include "format/inflate.h"
#include "ops/op_util.h"
#include "ops/source/file_source.h"

struct ranges_opts {
    struct cw_str_list pattern;
    char *field;
    int64_t bytes, line_max;
    bool skip_mark;
};
struct ranges_state {
    struct cw_file_source source; /* the records of a file are its ranges */
    const struct ranges_opts *opts;
};

/* What is looked at for the end of a line at a time. */
#define LOOK_BYTES ((size_t)64 << 10)

#define OFFSET(member) offsetof(struct ranges_opts, member)
static const struct cw_opt options[] = {
    CW_FILE_PATTERN_ROW(OFFSET(pattern)),
    {.name = "field",
     .help = "name of the field",
     .type = CW_OPT_STR,
     .offset = OFFSET(field),
     .def = "\"text\""},
    {.name = "bytes",
     .help = "length of a range",
     .type = CW_OPT_BYTES,
     .offset = OFFSET(bytes),
     .def = "\"1MiB\"",
     .min = 1,
     .max = 0x1p30},
    {.name = "line_max",
     .help = "a line of more bytes is an error",
     .type = CW_OPT_BYTES,
     .offset = OFFSET(line_max),
     .def = "\"64MiB\"",
     .min = 1,
     .max = 0x1p30},
    {.name = "skip_mark",
     .help = "a byte order mark (UTF-8) at the beginning of a file is left out",
     .type = CW_OPT_BOOL,
     .offset = OFFSET(skip_mark),
     .def = "false"},
    {0},
};

static int infer(const void *opts, const struct cw_spec *in, size_t in_n, struct cw_spec *ret_spec,
                 struct cw_err *err)
{
    const struct ranges_opts *o = opts;
    (void)in;
    (void)in_n;
    return cw_op_infer_one(o->field, CW_DTYPE_STR, 0, NULL, ret_spec, err);
}

/* What is handed to `begin`, which is told that it gets the first member. */
struct ranges_open {
    struct cw_op_open how;
    const struct ranges_opts *opts;
};

static void begin(void *state, const struct cw_op_open *how)
{
    struct ranges_state *s = state;
    s->opts = ((const struct ranges_open *)(const void *)how)->opts;
}

static int prepare(void *state, size_t i, const struct cw_op_open *how, struct cw_err *err)
{
    struct ranges_state *s = state;
    struct cw_file *file = &s->source.files->v[i];
    const int64_t bytes = s->opts->bytes;
    const int64_t n = file->stamp.size / bytes + (file->stamp.size % bytes > 0);
    if (cw_inflate_is_name(file->path))
        return cw_err_set(err, CW_E_INVALID,
                          "%s: is compressed, so that nothing tells where its lines are before it "
                          "was scanned: use text_lines",
                          file->path);
    if (how->manifest)
        return cw_file_source_compare(&s->source, i, (uint64_t)n, "ranges", err);
    file->records = n;
    return 0;
}

static const struct cw_file_source_kind kind = {
    .state_bytes = sizeof(struct ranges_state), .begin = begin, .prepare = prepare};

static int open_files(const void *opts, const struct cw_op_open *how, void **ret_state,
                      struct cw_err *err)
{
    const struct ranges_opts *o = opts;
    const struct ranges_open mine = {.how = *how, .opts = o};
    return cw_file_source_new(&kind, &o->pattern, &mine.how, ret_state, err);
}

/* Finds where the first line begins that does so at `from` or behind: behind the first newline from the byte
 * before on; the file's size if none does. */
static int line_from(const struct ranges_state *s, const struct cw_readable *file, uint64_t from,
                     uint64_t *ret_begin, struct cw_err *err)
{
    char window[LOOK_BYTES / 8];
    uint64_t at = from - 1;
    *ret_begin = CW_MIN(from, file->size);
    if (from == 0 || from >= file->size)
        return 0;
    const uint64_t most = CW_MIN(file->size, from + (uint64_t)s->opts->line_max);
    while (at < most) {
        const size_t n = (size_t)CW_MIN((uint64_t)sizeof(window), most - at);
        int rc = cw_readable_get(file, at, window, n, err);
        if (rc < 0)
            return rc;
        const char *end = memchr(window, '\n', n);
        *ret_begin = end ? at + (uint64_t)(end - window) + 1 : at + n;
        if (end)
            return 0;
        at += n;
    }
    if (at >= file->size)
        return 0;
    return cw_err_set(err, CW_E_LIMIT,
                      "%s: the line that byte %llu is of has more than the %lld bytes that option "
                      "line_max allows",
                      file->name, (unsigned long long)from, (long long)s->opts->line_max);
}

static int read_lines(const struct cw_op_ctx *ctx, const struct ranges_state *s,
                      const struct cw_readable *file, uint64_t k, struct cw_view *view,
                      struct cw_err *err)
{
    const uint64_t bytes = (uint64_t)s->opts->bytes;
    uint64_t begin = 0, end = 0;
    int rc = line_from(s, file, k * bytes, &begin, err);
    if (rc == 0)
        rc = begin < CW_MIN((k + 1) * bytes, file->size)
                 ? line_from(s, file, (k + 1) * bytes, &end, err)
                 : 0;
    if (rc < 0)
        return rc;
    view->bytes = (size_t)(end > begin ? end - begin : 0);
    view->data = cw_op_scratch(ctx, view->bytes + 1, err);
    if (!view->data)
        return CW_E_NOMEM;
    rc = cw_readable_get(file, begin, view->data, view->bytes, err);
    if (rc == 0 && begin == 0 && s->opts->skip_mark && view->bytes >= 3 &&
        memcmp(view->data, "\xef\xbb\xbf", 3) == 0) {
        view->data = (char *)view->data + 3;
        view->bytes -= 3;
    }
    return rc;
}

static int read_range(const struct cw_op_ctx *ctx, const void *opts, void *state, int64_t pos,
                      struct cw_element *ret_element, struct cw_err *err)
{
    struct ranges_state *s = state;
    const size_t i = cw_file_set_locate(s->source.files, pos);
    const uint64_t k = (uint64_t)(pos - s->source.files->v[i].first);
    struct cw_view view = {.dtype = CW_DTYPE_STR};
    struct cw_file_use use;
    (void)opts;
    int rc = cw_file_set_use(s->source.files, i, &use, err);
    if (rc < 0)
        return rc;
    rc = read_lines(ctx, s, &use.readable, k, &view, err);
    cw_file_set_release(s->source.files, &use);
    ret_element->n = 1;
    ret_element->fields[0] = view;
    return rc;
}

static void describe(const void *opts, void *state, int64_t pos, struct cw_str *out)
{
    const struct ranges_state *s = state;
    const struct ranges_opts *o = opts;
    const struct cw_file *file = &s->source.files->v[cw_file_set_locate(s->source.files, pos)];
    cw_str_addf(out, "%s lines from byte %lld on", file->path,
                (long long)((pos - file->first) * o->bytes));
}

static bool ahead_of(const void *opts, void *state, int64_t pos, struct cw_ahead *ahead)
{
    const struct ranges_opts *o = opts;
    const struct ranges_state *s = state;
    const struct cw_file_set *files = s->source.files;
    if (!ahead || !files->can_ahead)
        return files->can_ahead;
    const size_t i = cw_file_set_locate(files, pos);
    const uint64_t from = (uint64_t)(pos - files->v[i].first) * (uint64_t)o->bytes;
    const uint64_t before = from > 0; /* the byte that is looked at first */
    cw_file_set_ahead(files, i, from - before, before + (uint64_t)o->bytes + LOOK_BYTES, ahead);
    return true;
}

const struct cw_op cw_op_text_ranges = {
    .name = "text_ranges",
    .version = 1,
    .summary = "ranges of bytes of text files, with the lines that begin in them",
    .doc =
        "For those who do not want to wait for an index: nothing of the files is read before the "
        "first element, and the\n"
        "sizes of the files say how many there are. Element p of a file has the lines that begin "
        "in the range of `bytes`\n"
        "bytes from p * `bytes` on, whole, with their ends; nothing if no line begins there. "
        "`split_lines` makes elements\n"
        "of the lines, and `parse_json` takes objects apart. A `shuffle` between the two permutes "
        "ranges.\n"
        "\n"
        "Not supported: compressed files, newlines inside of quotes. Patterns as for `files`.",
    .kind = CW_OP_SOURCE,
    .traits = CW_OP_FILES,
    .options = options,
    .options_bytes = sizeof(struct ranges_opts),
    .infer = infer,
    .open = open_files,
    .close = cw_file_source_free,
    .count = cw_file_source_count,
    .read = read_range,
    .manifest = cw_file_source_manifest,
    .describe = describe,
    .locate = cw_file_source_locate,
    .ahead = ahead_of,
};
