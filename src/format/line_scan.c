/* SPDX-License-Identifier: Apache-2.0 */
/* Looks for the ends of records, 64 bytes at a time. */
#include "format/line_scan.h"

#include <stdatomic.h>

#include "base/mem.h"
#include "base/thread.h"
#include "format/byte_mask.h"
#include "format/source_file.h"
#include "io/source_root.h"

#define WINDOW_BYTES ((size_t)1 << 20)
#define STEP CW_LINE_PIECE

struct scan {
    const char *name; /* of the file */
    const struct cw_line_rules *rules;
    struct cw_line_index *index;
    uint64_t begin;  /* of the record that is being looked at */
    uint64_t seen;   /* number of records before it, those of the head too */
    uint64_t inside; /* all ones while a quote is open */
    bool has_text;   /* there was text in the line so far */
    /* Of a piece of a file: records that begin at `limit` or behind are left to the next one. */
    uint64_t limit;
    bool is_partial; /* the line that is being looked at has begun before the piece */
    bool is_done;
};

static int no_memory(const struct scan *s, struct cw_err *err)
{
    return cw_err_set(err, CW_E_NOMEM, "%s: no memory for an index of %llu records", s->name,
                      (unsigned long long)s->seen);
}

static int end_record(struct scan *s, uint64_t end, bool has_text)
{
    const uint64_t begin = s->begin;
    s->begin = end;
    if (s->is_partial || begin >= s->limit) {
        s->is_done = begin >= s->limit;
        s->is_partial = false;
        return 0;
    }
    if (!has_text && s->rules->blank != CW_BLANK_KEPT)
        return 0;
    return s->seen++ < s->rules->head ? 0 : cw_line_index_add(s->index, begin);
}

static uint64_t text_of(const struct scan *s, const char *p, uint64_t newlines)
{
    switch (s->rules->blank) {
    case CW_BLANK_EMPTY:
        return ~(newlines | cw_mask64(p, '\r'));
    case CW_BLANK_SPACES:
        return cw_mask64_text(p);
    case CW_BLANK_KEPT:
    default:
        return ~UINT64_C(0);
    }
}

/* Looks at 64 bytes, of which those that `valid` has bits for belong to the file. */
static int scan_step(struct scan *s, uint64_t offset, const char *p, uint64_t valid)
{
    uint64_t ends = cw_mask64(p, '\n') & valid;
    uint64_t text = text_of(s, p, ends) & valid;
    if (offset < s->begin)
        text &= ~UINT64_C(0) << (s->begin - offset);
    if (s->rules->quote) {
        uint64_t quoted = cw_prefix_xor(cw_mask64(p, s->rules->quote) & valid) ^ s->inside;
        s->inside = 0 - (quoted >> 63);
        ends &= ~quoted;
    }
    while (ends && !s->is_done) {
        const unsigned i = (unsigned)__builtin_ctzll(ends);
        const uint64_t before = (UINT64_C(1) << i) - 1;
        int rc = end_record(s, offset + i + 1, s->has_text || (text & before) != 0);
        if (rc < 0)
            return rc;
        s->has_text = false;
        text &= ~before & ~(UINT64_C(1) << i);
        ends &= ends - 1;
    }
    s->has_text = s->has_text || text != 0;
    return 0;
}

static int scan_window(struct scan *s, uint64_t offset, const char *window, size_t n)
{
    int rc = 0;
    for (size_t i = 0; i < n && rc == 0; i += STEP) {
        const uint64_t valid = n - i >= STEP ? ~UINT64_C(0) : (UINT64_C(1) << (n - i)) - 1;
        rc = scan_step(s, offset + i, window + i, valid);
    }
    return rc;
}

/* Whether what lies behind `offset` is of no record of the piece, or of none but the last, which has text. */
static int is_behind(struct scan *s, uint64_t offset)
{
    const bool is_record = s->has_text || s->rules->blank == CW_BLANK_KEPT;
    if (offset < s->limit || s->rules->quote)
        return 0;
    if (s->begin < s->limit && !s->is_partial && !is_record)
        return 0;
    int rc = s->begin < s->limit ? end_record(s, s->limit, true) : 0;
    s->is_done = true;
    return rc;
}

static int scan_end(struct scan *s, uint64_t size, struct cw_err *err)
{
    if (s->inside)
        return cw_err_set(err, CW_E_CORRUPT,
                          "%s: record %llu at byte %llu: a quote is open until the end of the file",
                          s->name, (unsigned long long)s->seen, (unsigned long long)s->begin);
    int rc = s->begin < size && !s->is_done ? end_record(s, size, s->has_text) : 0;
    if (rc == 0)
        rc = cw_line_index_end(s->index, size);
    return rc < 0 ? no_memory(s, err) : 0;
}

/* Looks at n bytes, behind which there is room for STEP more. */
static int scan_bytes(struct scan *s, uint64_t offset, char *window, size_t n, struct cw_err *err)
{
    memset(window + n, 0, STEP);
    if (offset == 0 && s->rules->skips_mark && n >= 3 && memcmp(window, "\xef\xbb\xbf", 3) == 0)
        s->begin = 3;
    if (scan_window(s, offset, window, n) < 0 || is_behind(s, offset + n) < 0)
        return no_memory(s, err);
    return 0;
}

/* Looks at the file from `from` on, until it ends, or the piece. */
static int scan_from(struct scan *s, const struct cw_readable *file, uint64_t from, char *window,
                     struct cw_err *err)
{
    for (uint64_t offset = from; offset < file->size && !s->is_done; offset += WINDOW_BYTES) {
        const size_t n = (size_t)CW_MIN((uint64_t)WINDOW_BYTES, file->size - offset);
        int rc = cw_readable_get(file, offset, window, n, err);
        if (rc == 0)
            rc = scan_bytes(s, offset, window, n, err);
        if (rc < 0)
            return rc;
    }
    return scan_end(s, file->size, err);
}

/* Finds the records that begin in [from, limit). A piece begins with the byte before it, which tells
 * whether a record begins with the piece. window: memory for WINDOW_BYTES + STEP bytes. */
static int scan_piece(const struct cw_readable *file, const struct cw_line_rules *rules,
                      uint64_t from, uint64_t limit, char *window, struct cw_line_index **ret_index,
                      struct cw_err *err)
{
    const uint64_t begin = from > 0 ? from - 1 : 0;
    struct scan s = {.name = file->name,
                     .rules = rules,
                     .index = cw_line_index_new(),
                     .begin = begin,
                     .limit = limit,
                     .is_partial = from > 0};
    int rc = window ? scan_from(&s, file, begin, window, err) : no_memory(&s, err);
    if (rc < 0)
        cw_line_index_free(s.index);
    else
        *ret_index = s.index;
    return rc;
}

int cw_line_scan(const struct cw_readable *file, const struct cw_line_rules *rules,
                 struct cw_line_index **ret_index, struct cw_err *err)
{
    cw_autofree char *window = cw_mem_try(WINDOW_BYTES + STEP);
    return scan_piece(file, rules, 0, UINT64_MAX, window, ret_index, err);
}

/* ---- bytes that come ---- */

struct cw_line_scanner {
    struct scan scan;
    struct cw_line_rules rules;
    uint64_t offset;
};

struct cw_line_scanner *cw_line_scanner_new(const char *name, const struct cw_line_rules *rules)
{
    struct cw_line_scanner *scanner = CW_NEW(struct cw_line_scanner);
    scanner->rules = *rules;
    scanner->scan = (struct scan){
        .name = name, .rules = &scanner->rules, .index = cw_line_index_new(), .limit = UINT64_MAX};
    return scanner;
}

void cw_line_scanner_free(struct cw_line_scanner *scanner)
{
    if (!scanner)
        return;
    cw_line_index_free(scanner->scan.index);
    cw_mem_free(scanner);
}

int cw_line_scanner_add(struct cw_line_scanner *scanner, char *p, size_t n, struct cw_err *err)
{
    const uint64_t offset = scanner->offset;
    CW_ASSERT(offset % CW_LINE_PIECE == 0);
    scanner->offset += n;
    return n > 0 ? scan_bytes(&scanner->scan, offset, p, n, err) : 0;
}

int cw_line_scanner_end(struct cw_line_scanner *scanner, struct cw_line_index **ret_index,
                        struct cw_err *err)
{
    int rc = scan_end(&scanner->scan, scanner->offset, err);
    if (rc == 0)
        *ret_index = cw_steal(&scanner->scan.index);
    return rc;
}

/* ---- pieces ---- */

/* A file whose pieces several threads take, one after another. */
struct pieces {
    const struct cw_readable *file;
    struct cw_line_rules rules;
    uint64_t bytes;  /* of a piece */
    uint64_t store;  /* as in cw_source_use_store */
    uint32_t reader; /* as in cw_source_root_read_as */
    size_t n;
    struct cw_line_index **index; /* of each piece */
    _Atomic size_t next;
    struct cw_mutex mutex; /* guards what follows */
    int rc;                /* the error of the lowest piece that failed */
    size_t failed;
    struct cw_err err;
};

static void set_failed(struct pieces *p, size_t i, int rc, const struct cw_err *err)
{
    cw_mutex_lock(&p->mutex);
    if (p->rc == 0 || i < p->failed) {
        p->rc = rc;
        p->failed = i;
        p->err = *err;
    }
    cw_mutex_unlock(&p->mutex);
    atomic_store(&p->next, p->n);
}

static void scan_pieces(void *arg)
{
    struct pieces *p = arg;
    cw_autofree char *window = cw_mem_try(WINDOW_BYTES + STEP);
    cw_source_use_store(p->store);
    cw_source_root_read_as(p->reader);
    for (size_t i; (i = atomic_fetch_add(&p->next, 1)) < p->n;) {
        struct cw_err err = {0};
        int rc = scan_piece(p->file, &p->rules, i * p->bytes, (i + 1) * p->bytes, window,
                            &p->index[i], &err);
        if (rc < 0)
            set_failed(p, i, rc, &err);
    }
}

/* Puts the records of all pieces into one index, without the first `head` of them. */
static int join(struct pieces *p, uint64_t head, struct cw_line_index *index, struct cw_err *err)
{
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < p->n; i++) {
        const uint64_t n = cw_line_index_n(p->index[i]), skipped = CW_MIN(head, n);
        for (uint64_t k = skipped; rc == 0 && k < n; k++)
            rc = cw_line_index_add(index, cw_line_index_at(p->index[i], k));
        head -= skipped;
        cw_line_index_free(p->index[i]);
        p->index[i] = NULL;
    }
    if (rc == 0)
        rc = cw_line_index_end(index, p->file->size);
    return rc < 0 ? cw_err_set(err, CW_E_NOMEM, "%s: no memory for its index", p->file->name) : 0;
}

static void run_threads(struct pieces *p, unsigned n)
{
    struct cw_thread threads[CW_LINE_THREADS_MAX];
    for (unsigned i = 1; i < n; i++)
        cw_thread_start(&threads[i], "cachew-index", scan_pieces, p);
    scan_pieces(p);
    for (unsigned i = 1; i < n; i++)
        cw_thread_join(&threads[i]);
}

int cw_line_scan_pieces(const struct cw_readable *file, const struct cw_line_rules *rules,
                        uint64_t piece_bytes, unsigned threads, struct cw_line_index **ret_index,
                        struct cw_err *err)
{
    CW_ASSERT(piece_bytes > 3); /* a byte order mark lies in the first piece */
    const uint64_t n = file->size / piece_bytes + (file->size % piece_bytes > 0);
    if (rules->quote || threads < 2 || n < 2)
        return cw_line_scan(file, rules, ret_index, err);
    struct pieces p = {.file = file,
                       .rules = *rules,
                       .bytes = piece_bytes,
                       .store = cw_source_store_used(),
                       .reader = cw_source_root_reads_as(),
                       .n = (size_t)n,
                       .index = CW_NEW_ARRAY(struct cw_line_index *, (size_t)n)};
    p.rules.head = 0;
    cw_mutex_init(&p.mutex);
    run_threads(&p, (unsigned)CW_MIN(CW_MIN((uint64_t)threads, n), (uint64_t)CW_LINE_THREADS_MAX));
    struct cw_line_index *index = cw_line_index_new();
    int rc = p.rc;
    if (rc == 0)
        rc = join(&p, rules->head, index, err);
    else if (err)
        *err = p.err;
    for (size_t i = 0; i < p.n; i++)
        cw_line_index_free(p.index[i]);
    cw_mem_free(p.index);
    cw_mutex_fini(&p.mutex);
    if (rc < 0)
        cw_line_index_free(index);
    else
        *ret_index = index;
    return rc;
}
