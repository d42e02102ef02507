/* SPDX-License-Identifier: Apache-2.0 */
/* Looks for the ends of records, 64 bytes at a time. */
#include "format/line_scan.h"

#include "base/mem.h"
#include "format/byte_mask.h"

#define WINDOW_BYTES ((size_t)1 << 20)
#define STEP 64

struct scan {
    const struct cw_readable *file;
    const struct cw_line_rules *rules;
    struct cw_line_index *index;
    uint64_t begin;  /* of the record that is being looked at */
    uint64_t seen;   /* number of records before it, those of the head too */
    uint64_t inside; /* all ones while a quote is open */
    bool has_text;   /* there was text in the line so far */
};

static int no_memory(const struct scan *s, struct cw_err *err)
{
    return cw_err_set(err, CW_E_NOMEM, "%s: no memory for an index of %llu records", s->file->name,
                      (unsigned long long)s->seen);
}

static int end_record(struct scan *s, uint64_t end, bool has_text)
{
    const uint64_t begin = s->begin;
    s->begin = end;
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
    while (ends) {
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

static int scan_end(struct scan *s, struct cw_err *err)
{
    if (s->inside)
        return cw_err_set(err, CW_E_CORRUPT,
                          "%s: record %llu at byte %llu: a quote is open until the end of the file",
                          s->file->name, (unsigned long long)s->seen, (unsigned long long)s->begin);
    int rc = s->begin < s->file->size ? end_record(s, s->file->size, s->has_text) : 0;
    if (rc == 0)
        rc = cw_line_index_end(s->index, s->file->size);
    return rc < 0 ? no_memory(s, err) : 0;
}

static int scan_file(struct scan *s, char *window, struct cw_err *err)
{
    for (uint64_t offset = 0; offset < s->file->size; offset += WINDOW_BYTES) {
        const size_t n = (size_t)CW_MIN((uint64_t)WINDOW_BYTES, s->file->size - offset);
        int rc = cw_readable_get(s->file, offset, window, n, err);
        if (rc < 0)
            return rc;
        memset(window + n, 0, STEP);
        if (offset == 0 && s->rules->skips_mark && n >= 3 && memcmp(window, "\xef\xbb\xbf", 3) == 0)
            s->begin = 3;
        if (scan_window(s, offset, window, n) < 0)
            return no_memory(s, err);
    }
    return scan_end(s, err);
}

int cw_line_scan(const struct cw_readable *file, const struct cw_line_rules *rules,
                 struct cw_line_index **ret_index, struct cw_err *err)
{
    struct scan s = {.file = file, .rules = rules, .index = cw_line_index_new()};
    char *window = cw_mem_try(WINDOW_BYTES + STEP);
    int rc = window ? scan_file(&s, window, err) : no_memory(&s, err);
    cw_mem_free(window);
    if (rc < 0)
        cw_line_index_free(s.index);
    else
        *ret_index = s.index;
    return rc;
}
