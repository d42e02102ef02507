/* SPDX-License-Identifier: Apache-2.0 */
/* Makes indices of text files, and reads their records. */
#include "ops/source/text_source.h"

#include <string.h>

#include "base/mem.h"
#include "ops/source/index_parts.h"
#include "ops/source/line_blocks.h"

#define HEAD_BYTES_MAX ((uint64_t)16 << 20)
#define RUN_BYTES ((uint64_t)1 << 20)
#define LOOK_BYTES ((size_t)1 << 20)
#define PIECE_BYTES ((uint64_t)32 << 20) /* of a file for whose records several threads look */

/* What cw_text_source_new hands to `begin`; it begins with what `begin` is told to get. */
struct text_open {
    struct cw_op_open how;
    const struct cw_text_rules *rules;
};

static void begin(void *state, const struct cw_op_open *how)
{
    struct cw_text_source *s = state;
    s->rules = *((const struct text_open *)(const void *)how)->rules;
    s->inflated = cw_inflated_new(s->rules.inflated_max, s->rules.inflate_every);
}

static void end(void *state)
{
    cw_inflated_free(((struct cw_text_source *)state)->inflated);
}

static void unload(void *loaded)
{
    struct cw_text_file *text = loaded;
    cw_line_index_free(text->index);
    cw_access_points_free(text->points);
    cw_mem_free(text->head);
    cw_mem_free(text);
}

/* Records from `from` on whose bytes are read at once. */
struct run {
    uint64_t from, n, begin, end;
};

static struct run next_run(const struct cw_line_index *index, uint64_t from)
{
    struct run run = {.from = from, .n = 1, .begin = cw_line_index_at(index, from)};
    const uint64_t all = cw_line_index_n(index);
    while (from + run.n < all && cw_line_index_at(index, from + run.n + 1) - run.begin <= RUN_BYTES)
        run.n++;
    run.end = cw_line_index_at(index, from + run.n);
    return run;
}

static int keep_run(const struct cw_text_source *s, const struct cw_readable *file,
                    const struct cw_line_index *all, const struct run *run, const void *head,
                    struct cw_line_index *kept, struct cw_err *err)
{
    const size_t n = (size_t)(run->end - run->begin);
    char *bytes = cw_mem_try(n);
    int rc = bytes ? cw_readable_get(file, run->begin, bytes, n, err)
                   : cw_err_set(err, CW_E_NOMEM, "%s: no memory for %zu bytes", file->name, n);
    for (uint64_t k = run->from; k < run->from + run->n && rc == 0; k++) {
        const uint64_t at = cw_line_index_at(all, k), end = cw_line_index_at(all, k + 1);
        const char *p = bytes + (at - run->begin);
        if (s->rules.is_kept(s->rules.arg, head, p, (size_t)(end - at)) &&
            cw_line_index_add(kept, at) < 0)
            rc = cw_err_set(err, CW_E_NOMEM, "%s: no memory for its index", file->name);
    }
    cw_mem_free(bytes);
    return rc;
}

/* Makes an index of those records that are kept. */
static int leave_out(const struct cw_text_source *s, const struct cw_readable *file,
                     struct cw_text_file *text, struct cw_err *err)
{
    struct cw_line_index *all = text->index;
    const uint64_t n = cw_line_index_n(all);
    int rc = 0;
    text->index = cw_line_index_new();
    for (uint64_t k = 0; k < n && rc == 0;) {
        const struct run run = next_run(all, k);
        rc = keep_run(s, file, all, &run, text->head, text->index, err);
        k += run.n;
    }
    if (rc == 0 && cw_line_index_end(text->index, cw_line_index_at(all, n)) < 0)
        rc = cw_err_set(err, CW_E_NOMEM, "%s: no memory for its index", file->name);
    cw_line_index_free(all);
    return rc;
}

/* The first record, which begins behind a byte order mark and blank lines. */
static int load_head(const struct cw_text_source *s, const struct cw_readable *file,
                     struct cw_text_file *text, struct cw_err *err)
{
    const bool is_left_out = s->rules.lines.head > 0;
    const uint64_t begin = is_left_out ? 0 : cw_line_index_at(text->index, 0);
    const uint64_t end = cw_line_index_at(text->index, is_left_out ? 0 : 1);
    if (cw_line_index_n(text->index) == 0)
        return 0;
    if (end - begin > HEAD_BYTES_MAX)
        return cw_err_set(err, CW_E_LIMIT, "%s: its first record has more than %llu bytes",
                          file->name, (unsigned long long)HEAD_BYTES_MAX);
    size_t n = (size_t)(end - begin);
    cw_autofree char *bytes = cw_mem_try(n);
    if (!bytes)
        return cw_err_set(err, CW_E_NOMEM, "%s: no memory for %zu bytes", file->name, n);
    int rc = cw_readable_get(file, begin, bytes, n, err);
    if (rc < 0)
        return rc;
    const char *p = bytes;
    if (begin == 0 && n >= 3 && memcmp(p, "\xef\xbb\xbf", 3) == 0)
        p += 3;
    while (p < bytes + n && (*p == '\n' || *p == '\r'))
        p++;
    rc = s->rules.read_head(s->rules.arg, p, n - (size_t)(p - bytes), &text->head, err);
    return rc < 0 ? cw_err_wrap(err, "%s", file->name) : 0;
}

/* How many threads look for the records of a file: what few files leave of those for many. */
static unsigned threads_of(const struct cw_text_source *s)
{
    return (unsigned)CW_MAX(cw_index_parts_at_once() / s->source.files->n, (size_t)1);
}

static int scan_piece(void *arg, char *p, size_t n, struct cw_err *err)
{
    return cw_line_scanner_add(arg, p, n, err);
}

/* Finds the records of a compressed file, and its access points, while it is inflated. */
static int scan_packed(struct cw_text_source *s, size_t i, const struct cw_readable *file,
                       struct cw_text_file *text, struct cw_err *err)
{
    struct cw_line_scanner *scanner = cw_line_scanner_new(file->name, &s->rules.lines);
    const struct cw_access_sink sink = {scan_piece, scanner};
    int rc = cw_inflated_scan(s->inflated, i, file, &sink, &text->points, err);
    if (rc == 0)
        rc = cw_line_scanner_end(scanner, &text->index, err);
    cw_line_scanner_free(scanner);
    return rc;
}

static int unpack_text(struct cw_text_source *s, const struct cw_readable *file,
                       const uint8_t *kept, size_t kept_n, struct cw_text_file *text)
{
    int rc = cw_inflated_unpack(s->inflated, file->name, file->size, &kept, &kept_n, &text->points);
    if (rc == 0)
        text->index =
            cw_line_index_unpack(kept, kept_n, text->points ? text->points->size : file->size);
    return text->index ? 0 : CW_E_CORRUPT;
}

/* What cannot be read is told by whoever scans the file. */
static int look(const struct cw_text_source *s, const struct cw_readable *file, struct cw_err *err)
{
    cw_autofree char *bytes = NULL;
    size_t n = (size_t)CW_MIN(file->size, LOOK_BYTES);
    bool is_all = n == file->size;
    int rc;
    if (cw_inflate_is_name(file->name)) {
        rc = cw_inflate_head(file, LOOK_BYTES, &bytes, &n, &is_all, NULL);
    } else {
        bytes = cw_mem_new(n + 1);
        rc = cw_readable_get(file, 0, bytes, n, NULL);
    }
    while (rc == 0 && !is_all && n > 0 && bytes[n - 1] != '\n')
        n--;
    const size_t mark = rc == 0 && n >= 3 && memcmp(bytes, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
    rc = rc == 0 ? s->rules.look(s->rules.arg, bytes + mark, n - mark, err) : 0;
    return rc < 0 ? cw_err_wrap(err, "%s", file->name) : 0;
}

/* With `kept` the index is there already, in these bytes. */
static int load_text(struct cw_text_source *s, size_t i, const struct cw_file_use *use,
                     const void *kept, size_t kept_n, struct cw_text_file *text, struct cw_err *err)
{
    const struct cw_readable *file = &use->readable;
    struct cw_inflated_view view = {
        .inflated = s->inflated, .file = i, .packed = file, .source = &use->source};
    int rc = !kept && i == 0 && s->rules.look ? look(s, file, err) : 0;
    if (rc < 0)
        return rc;
    if (kept)
        rc = unpack_text(s, file, kept, kept_n, text);
    else if (cw_inflate_is_name(file->name))
        rc = scan_packed(s, i, file, text, err);
    else
        rc = cw_line_scan_pieces(file, &s->rules.lines, PIECE_BYTES, threads_of(s), &text->index,
                                 err);
    view.points = text->points;
    const struct cw_readable plain = cw_inflated_readable(&view);
    if (rc == 0 && s->rules.read_head)
        rc = load_head(s, &plain, text, err);
    if (rc == 0 && s->rules.is_kept && !kept)
        rc = leave_out(s, &plain, text, err);
    return rc;
}

static int load_from(struct cw_text_source *s, size_t i, const void *kept, size_t kept_n,
                     void **ret_loaded, struct cw_err *err)
{
    struct cw_file_use use;
    int rc = cw_file_set_use(s->source.files, i, &use, err);
    if (rc < 0)
        return rc;
    struct cw_text_file *text = CW_NEW(struct cw_text_file);
    rc = load_text(s, i, &use, kept, kept_n, text, err);
    cw_file_set_release(s->source.files, &use);
    if (rc < 0) {
        unload(text);
        return rc;
    }
    *ret_loaded = text;
    return 0;
}

static int load(void *state, size_t i, void **ret_loaded, struct cw_err *err)
{
    return load_from(state, i, NULL, 0, ret_loaded, err);
}

/* ---- the index ---- */

static int unpack(void *state, size_t i, const void *bytes, size_t n, void **ret_loaded,
                  struct cw_err *err)
{
    return load_from(state, i, bytes, n, ret_loaded, err);
}

static void pack(const void *loaded, struct cw_str *out)
{
    const struct cw_text_file *text = loaded;
    cw_inflated_pack(text->points, out);
    cw_line_index_pack(text->index, out);
}

static int64_t records(const void *loaded)
{
    return (int64_t)cw_line_index_n(((const struct cw_text_file *)loaded)->index);
}

static size_t bytes_of(const void *loaded)
{
    const struct cw_text_file *text = loaded;
    const size_t points = text->points ? cw_access_points_bytes(text->points) : 0;
    return sizeof(*text) + cw_line_index_bytes(text->index) + points;
}

static void key(const void *state, struct cw_str *out)
{
    const struct cw_text_source *s = state;
    const struct cw_line_rules *lines = &s->rules.lines;
    cw_str_addf(out, "quote %d blank %d mark %d head %llu\n", lines->quote, (int)lines->blank,
                lines->skips_mark, (unsigned long long)lines->head);
    if (s->rules.key)
        s->rules.key(s->rules.opts, out);
}

static int key_of(const void *state, size_t i, struct cw_str *out, struct cw_err *err)
{
    const struct cw_text_source *s = state;
    (void)err;
    cw_inflated_key(s->inflated, s->source.files->v[i].path, out);
    return 0;
}

static void add_blocks(void *state, size_t i, const void *loaded, int64_t first,
                       struct cw_blocks *blocks)
{
    const struct cw_text_file *text = loaded;
    (void)state;
    (void)i;
    cw_line_blocks(text->index, text->points, first, blocks);
}

static const struct cw_file_index index_kind = {.name = "lines 1",
                                                .key = key,
                                                .key_of = key_of,
                                                .records = records,
                                                .bytes = bytes_of,
                                                .pack = pack,
                                                .unpack = unpack};
static const struct cw_file_source_kind kind = {.state_bytes = sizeof(struct cw_text_source),
                                                .begin = begin,
                                                .end = end,
                                                .load = load,
                                                .unload = unload,
                                                .index = &index_kind,
                                                .blocks = add_blocks};

int cw_text_source_new(const struct cw_text_rules *rules, const struct cw_str_list *patterns,
                       const struct cw_op_open *how, void **ret_state, struct cw_err *err)
{
    const struct text_open mine = {.how = *how, .rules = rules};
    return cw_file_source_new(&kind, patterns, &mine.how, ret_state, err);
}

static int read_bytes(const struct cw_op_ctx *ctx, struct cw_text_source *s,
                      struct cw_text_record *record, struct cw_err *err)
{
    struct cw_file_use use;
    char *p = cw_op_scratch(ctx, record->n, err);
    if (!p)
        return CW_E_NOMEM;
    int rc = cw_file_set_use(s->source.files, record->file, &use, err);
    if (rc < 0)
        return rc;
    struct cw_inflated_view view = {s->inflated, record->file, record->text->points, &use.readable,
                                    &use.source};
    const struct cw_readable plain = cw_inflated_readable(&view);
    rc = cw_readable_get(&plain, record->begin, p, record->n, err);
    cw_file_set_release(s->source.files, &use);
    record->p = p;
    return rc;
}

/* Finds where a record is, and reads it. */
static int find_record(const struct cw_op_ctx *ctx, struct cw_text_source *s,
                       struct cw_text_record *record, struct cw_err *err)
{
    const struct cw_line_index *index = record->text->index;
    int rc =
        cw_file_source_compare(&s->source, record->file, cw_line_index_n(index), "records", err);
    if (rc < 0)
        return rc;
    record->begin = cw_line_index_at(index, record->k);
    const uint64_t n = cw_line_index_at(index, record->k + 1) - record->begin;
    rc = cw_record_max_check(s->rules.record_max, n, record->path, record->k, record->begin, err);
    record->n = (size_t)n;
    return rc < 0 ? rc : read_bytes(ctx, s, record, err);
}

int cw_text_source_get(const struct cw_op_ctx *ctx, struct cw_text_source *s, int64_t pos,
                       struct cw_text_record *ret_record, struct cw_err *err)
{
    const size_t i = cw_file_set_locate(s->source.files, pos);
    const struct cw_file *file = &s->source.files->v[i];
    struct cw_text_record record = {
        .path = file->path, .k = (uint64_t)(pos - file->first), .file = i};
    const void *loaded = NULL;
    int rc = cw_file_source_get(&s->source, i, &loaded, err);
    if (rc < 0)
        return rc;
    record.text = loaded;
    rc = find_record(ctx, s, &record, err);
    if (rc < 0)
        cw_file_source_put(&s->source, i);
    else
        *ret_record = record;
    return rc;
}

void cw_text_source_put(struct cw_text_source *s, const struct cw_text_record *record)
{
    cw_file_source_put(&s->source, record->file);
}

static struct cw_record_file parts(const void *loaded)
{
    const struct cw_text_file *text = loaded;
    return (struct cw_record_file){text->index, text->points};
}

struct cw_record_rows cw_text_source_rows(struct cw_text_source *s, const int64_t *positions,
                                          size_t n)
{
    return (struct cw_record_rows){.source = &s->source,
                                   .inflated = s->inflated,
                                   .parts = parts,
                                   .positions = positions,
                                   .n = n,
                                   .record_max = (uint64_t)s->rules.record_max};
}

bool cw_text_source_ahead(const void *opts, void *state, int64_t pos, struct cw_ahead *ahead)
{
    struct cw_text_source *s = state;
    const struct cw_file_set *files = s->source.files;
    const void *loaded = NULL;
    (void)opts;
    if (!ahead || !cw_file_set_can_ahead(files))
        return cw_file_set_can_ahead(files);
    const size_t i = cw_file_set_locate(files, pos);
    const uint64_t k = (uint64_t)(pos - files->v[i].first);
    if (cw_file_source_get(&s->source, i, &loaded, NULL) < 0)
        return true;
    const struct cw_text_file *text = loaded;
    if (k < cw_line_index_n(text->index)) {
        const uint64_t begin = cw_line_index_at(text->index, k);
        cw_inflated_ahead(s->inflated, files, i, text->points, begin,
                          cw_line_index_at(text->index, k + 1) - begin, ahead);
    }
    cw_file_source_put(&s->source, i);
    return true;
}

size_t cw_text_line_bytes(const char *p, size_t n)
{
    const char *end = memchr(p, '\n', n);
    if (!end)
        return n;
    n = (size_t)(end - p);
    return n > 0 && p[n - 1] == '\r' ? n - 1 : n;
}

int cw_text_record_wrap(const struct cw_text_record *record, struct cw_err *err)
{
    return cw_err_wrap(err, "%s record %llu at byte %llu", record->path,
                       (unsigned long long)record->k, (unsigned long long)record->begin);
}
