/* SPDX-License-Identifier: Apache-2.0 */
/* Source `text_ranges`: ranges of bytes of text files, so that nothing is scanned before the first of them. An
 * element has the lines that begin in its range, whole. */
#include <string.h>

#include "base/mem.h"
#include "format/inflate.h"
#include "ops/op_util.h"
#include "ops/source/file_source.h"
#include "ops/source/text_head.h"
#include "ops/source/whole_file.h"

struct ranges_opts {
    struct cw_str_list pattern;
    char *field, *head, *quote;
    int64_t bytes, line_max, inflated_max;
    bool skip_mark, keep_head;
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
    {.name = "head",
     .help = "name of another field: the first record of the file, which is left out of the lines; "
             "\"\" = none",
     .type = CW_OPT_STR,
     .offset = OFFSET(head),
     .def = "\"\"",
     .flags = CW_OPT_NEWER},
    {.name = "keep_head",
     .help = "with head: it stays among the lines",
     .type = CW_OPT_BOOL,
     .offset = OFFSET(keep_head),
     .def = "false",
     .flags = CW_OPT_NEWER},
    {.name = "quote",
     .help = "the byte around text in which there may be newlines: each file is one range then",
     .type = CW_OPT_STR,
     .offset = OFFSET(quote),
     .def = "\"\"",
     .flags = CW_OPT_NEWER},
    {.name = "inflated_max",
     .help = "most bytes that a file may have which is one range, once it is inflated",
     .type = CW_OPT_BYTES,
     .offset = OFFSET(inflated_max),
     .def = "\"1GiB\"",
     .min = 1,
     .max = 0x1p50,
     .flags = CW_OPT_NO_FINGERPRINT},
    {0},
};

static int check(const void *opts, struct cw_err *err)
{
    const struct ranges_opts *o = opts;
    if (strlen(o->quote) > 1 || o->quote[0] == '\n' || o->quote[0] == '\r')
        return cw_err_set(err, CW_E_INVALID, "option quote: is one byte, no newline, or \"\"");
    return 0;
}

static int infer(const void *opts, const struct cw_spec *in, size_t in_n, struct cw_spec *ret_spec,
                 struct cw_err *err)
{
    const struct ranges_opts *o = opts;
    CW_SPEC_AUTO spec = {0};
    (void)in;
    (void)in_n;
    int rc = cw_spec_add(&spec, o->field, CW_DTYPE_STR, 0, NULL, err);
    if (rc == 0 && o->head[0])
        rc = cw_spec_add(&spec, o->head, CW_DTYPE_STR, 0, NULL, err);
    if (rc == 0)
        *ret_spec = cw_spec_take(&spec);
    return rc;
}

/* Whether a file is one range: what is inside of quotes, and what is compressed, can be told from its beginning only. */
static bool is_whole(const struct ranges_opts *o, const char *path)
{
    return o->quote[0] || cw_inflate_is_name(path);
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
    const bool whole = is_whole(s->opts, file->path);
    const int64_t bytes = whole ? INT64_MAX : s->opts->bytes;
    const int64_t n = file->stamp.size / bytes + (file->stamp.size % bytes > 0);
    if (how->manifest)
        return cw_file_source_compare(&s->source, i, (uint64_t)n, "ranges", err);
    if (whole && file->stamp.size > s->opts->inflated_max)
        return cw_err_set(err, CW_E_INVALID,
                          "%s: has %lld bytes, which are read together without an index; option "
                          "inflated_max allows %lld",
                          file->path, (long long)file->stamp.size,
                          (long long)s->opts->inflated_max);
    file->records = n;
    return 0;
}

static int load_head(void *state, size_t i, void **ret_loaded, struct cw_err *err)
{
    struct ranges_state *s = state;
    struct cw_file_use use;
    struct cw_text_head *head = NULL;
    int rc = cw_file_set_use(s->source.files, i, &use, err);
    if (rc < 0)
        return rc;
    rc = cw_text_head_read(&use.readable, &head, err);
    cw_file_set_release(s->source.files, &use);
    *ret_loaded = head;
    return rc;
}

static const struct cw_file_source_kind kind = {.state_bytes = sizeof(struct ranges_state),
                                                .begin = begin,
                                                .prepare = prepare,
                                                .load = load_head,
                                                .unload = cw_mem_free};

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

/* Leaves out a byte order mark at p, which is the beginning of a file. */
static void skip_mark(const struct ranges_opts *o, struct cw_view *text)
{
    if (!o->skip_mark || text->bytes < 3 || memcmp(text->data, "\xef\xbb\xbf", 3) != 0)
        return;
    text->data = (char *)text->data + 3;
    text->bytes -= 3;
}

/* head: the file's first record, which is left out if it begins in the range; NULL: nothing is left out. */
static int read_lines(const struct cw_op_ctx *ctx, const struct ranges_state *s,
                      const struct cw_readable *file, uint64_t k, const struct cw_text_head *head,
                      struct cw_view *view, struct cw_err *err)
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
    if (head && head->begin >= begin && head->begin < end)
        begin = head->end;
    view->bytes = (size_t)(end > begin ? end - begin : 0);
    view->data = cw_op_scratch(ctx, view->bytes + 1, err);
    if (!view->data)
        return CW_E_NOMEM;
    rc = cw_readable_get(file, begin, view->data, view->bytes, err);
    if (rc == 0 && begin == 0)
        skip_mark(s->opts, view);
    return rc;
}

static int read_part(const struct cw_op_ctx *ctx, struct ranges_state *s, size_t i, uint64_t k,
                     const struct cw_file_use *use, struct cw_view *views, struct cw_err *err)
{
    const void *loaded = NULL;
    if (!s->opts->head[0])
        return read_lines(ctx, s, &use->readable, k, NULL, &views[0], err);
    int rc = cw_file_source_get(&s->source, i, &loaded, err);
    if (rc < 0)
        return cw_range_error(rc, err);
    const struct cw_text_head *head = loaded;
    views[1].bytes = (size_t)(head->end - head->begin);
    views[1].data = cw_op_scratch(ctx, views[1].bytes + 1, err);
    rc = views[1].data ? read_lines(ctx, s, &use->readable, k, s->opts->keep_head ? NULL : head,
                                    &views[0], err)
                       : CW_E_NOMEM;
    if (rc == 0)
        memcpy(views[1].data, head->bytes, views[1].bytes);
    cw_file_source_put(&s->source, i);
    return rc;
}

static bool ends_in_quotes(const struct cw_view *text, char quote)
{
    size_t quotes = 0;
    for (size_t i = 0; i < text->bytes; i++)
        quotes += ((const char *)text->data)[i] == quote;
    return quotes % 2 > 0;
}

/* Reads the text of a whole file. */
static int read_text(const struct cw_op_ctx *ctx, const struct ranges_opts *o,
                     const struct cw_readable *file, struct cw_view *views, struct cw_err *err)
{
    struct cw_view *text = &views[0];
    uint64_t begin, end;
    text->bytes = (size_t)file->size;
    text->data = cw_op_scratch(ctx, text->bytes + 1, err);
    if (!text->data)
        return CW_E_NOMEM;
    int rc = cw_readable_get(file, 0, text->data, text->bytes, err);
    if (rc < 0)
        return rc;
    if (o->quote[0] && ends_in_quotes(text, o->quote[0]))
        return cw_err_set(err, CW_E_CORRUPT, "%s: a quote is open until the end of the file",
                          file->name);
    if (o->head[0]) {
        (void)cw_text_head_find(text->data, text->bytes, o->quote[0], &begin, &end);
        views[1].data = (char *)text->data + begin;
        views[1].bytes = (size_t)(end - begin);
    }
    skip_mark(o, text);
    if (o->head[0] && !o->keep_head) {
        text->bytes -= (size_t)((char *)views[1].data + views[1].bytes - (char *)text->data);
        text->data = (char *)views[1].data + views[1].bytes;
    }
    return 0;
}

static int read_file(const struct cw_op_ctx *ctx, const struct ranges_opts *o,
                     const struct cw_file_use *use, struct cw_view *views, struct cw_err *err)
{
    struct cw_whole_file file;
    int rc = cw_whole_file_open(use, o->inflated_max, &file, err);
    if (rc == 0) {
        rc = read_text(ctx, o, &file.readable, views, err);
        cw_whole_file_close(&file);
    }
    return cw_range_error(rc, err);
}

static int read_range(const struct cw_op_ctx *ctx, const void *opts, void *state, int64_t pos,
                      struct cw_element *ret_element, struct cw_err *err)
{
    const struct ranges_opts *o = opts;
    struct ranges_state *s = state;
    const size_t i = cw_file_set_locate(s->source.files, pos);
    const uint64_t k = (uint64_t)(pos - s->source.files->v[i].first);
    struct cw_file_use use;
    int rc = cw_file_set_use(s->source.files, i, &use, err);
    if (rc < 0)
        return rc;
    ret_element->n = o->head[0] ? 2 : 1;
    for (size_t f = 0; f < ret_element->n; f++)
        ret_element->fields[f] = (struct cw_view){.dtype = CW_DTYPE_STR};
    rc = is_whole(o, use.readable.name) ? read_file(ctx, o, &use, ret_element->fields, err)
                                        : read_part(ctx, s, i, k, &use, ret_element->fields, err);
    cw_file_set_release(s->source.files, &use);
    return rc;
}

static void remark(const void *opts, struct cw_str *out)
{
    const struct ranges_opts *o = opts;
    if (o->quote[0])
        cw_str_add(
            out,
            "each file is one range, all of which is in memory while its records are made, since "
            "there may be newlines inside of quotes: if there are none, csv makes ranges of "
            "bytes with `newlines` false");
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
    if (!ahead || !cw_file_set_can_ahead(files))
        return cw_file_set_can_ahead(files);
    const size_t i = cw_file_set_locate(files, pos);
    if (is_whole(o, files->v[i].path)) {
        cw_file_set_ahead(files, i, 0, (uint64_t)files->v[i].stamp.size, ahead);
        return true;
    }
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
        "ranges. Files whose\n"
        "names end in .gz or .zst are one range, and so are all where `quote` says that newlines "
        "may stand inside of quotes:\n"
        "nothing tells in the middle of them where a line begins. With `head` each element has the "
        "first record of its file,\n"
        "too, which `parse_csv` wants.\n"
        "\n"
        "Patterns as for `files`.",
    .kind = CW_OP_SOURCE,
    .traits = CW_OP_FILES,
    .options = options,
    .options_bytes = sizeof(struct ranges_opts),
    .check = check,
    .infer = infer,
    .open = open_files,
    .close = cw_file_source_free,
    .count = cw_file_source_count,
    .read = read_range,
    .manifest = cw_file_source_manifest,
    .describe = describe,
    .locate = cw_file_source_locate,
    .ahead = ahead_of,
    .remark = remark,
};
