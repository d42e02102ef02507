/* SPDX-License-Identifier: Apache-2.0 */
/* Finds separators outside of quotes by masks of 64 bytes. */
#include "format/csv_split.h"

#include <string.h>

#include "format/byte_mask.h"

#define STEP 64

struct split {
    const struct cw_csv_rules *rules;
    const char *p;
    const int32_t *slots;
    size_t slots_n;
    struct cw_csv_cell *cells;
    size_t n;         /* cells so far */
    size_t begin;     /* of the cell that is being looked at */
    uint64_t inside;  /* all ones while a quote is open */
    bool has_quote;   /* in the cell so far */
    bool is_finished; /* the newline was there */
};

int cw_csv_rules_check(const char *separator, const char *quote, struct cw_err *err)
{
    if (strlen(separator) != 1 || strchr("\r\n", separator[0]))
        return cw_err_set(err, CW_E_INVALID, "option separator: is one byte, no newline");
    if (strlen(quote) > 1 || (quote[0] && strchr("\r\n", quote[0])))
        return cw_err_set(err, CW_E_INVALID, "option quote: is one byte, no newline, or \"\"");
    if (quote[0] == separator[0])
        return cw_err_set(err, CW_E_INVALID, "option quote: is the separator");
    return 0;
}

static bool has_single_quote(const char *p, size_t n, char quote)
{
    for (const char *at = p; (at = memchr(at, quote, n - (size_t)(at - p))) != NULL; at += 2) {
        if ((size_t)(at - p) + 1 >= n || at[1] != quote)
            return true;
    }
    return false;
}

static int end_cell(struct split *s, size_t end, struct cw_err *err)
{
    const size_t c = s->n++;
    struct cw_csv_cell cell = {.p = s->p + s->begin, .n = end - s->begin};
    const char quote = s->rules->quote;
    s->begin = end + 1;
    if (c >= s->slots_n || s->slots[c] < 0)
        return 0;
    if (s->has_quote) {
        if (cell.n < 2 || cell.p[0] != quote || cell.p[cell.n - 1] != quote)
            return cw_err_set(err, CW_E_CORRUPT,
                              "column %zu: a quote is not at the beginning and the end of it", c);
        cell.p++;
        cell.n -= 2;
        cell.is_escaped = memchr(cell.p, quote, cell.n) != NULL;
        if (cell.is_escaped && has_single_quote(cell.p, cell.n, quote))
            return cw_err_set(err, CW_E_CORRUPT, "column %zu: a quote in it is not doubled", c);
    }
    s->cells[s->slots[c]] = cell;
    return 0;
}

static int split_step(struct split *s, size_t at, const char *block, uint64_t valid,
                      struct cw_err *err)
{
    uint64_t quotes = s->rules->quote ? cw_mask64(block, s->rules->quote) & valid : 0;
    const uint64_t quoted = cw_prefix_xor(quotes) ^ s->inside;
    const uint64_t newlines = cw_mask64(block, '\n');
    uint64_t ends = (cw_mask64(block, s->rules->separator) | newlines) & valid & ~quoted;
    int rc = 0;
    s->inside = 0 - (quoted >> 63);
    for (; ends && rc == 0; ends &= ends - 1) {
        const unsigned i = (unsigned)__builtin_ctzll(ends);
        const uint64_t before = (UINT64_C(1) << i) - 1;
        size_t end = at + i;
        s->is_finished = (newlines >> i & 1) != 0;
        s->has_quote = s->has_quote || (quotes & before) != 0;
        if (s->is_finished && end > s->begin && s->p[end - 1] == '\r')
            end--;
        rc = end_cell(s, end, err);
        s->has_quote = false;
        quotes &= ~before;
        if (s->is_finished)
            return rc;
        s->begin = at + i + 1;
    }
    s->has_quote = s->has_quote || quotes != 0;
    return rc;
}

int cw_csv_split(const struct cw_csv_rules *rules, const char *p, size_t n, const int32_t *slots,
                 size_t slots_n, struct cw_csv_cell *cells, size_t *ret_n, struct cw_err *err)
{
    struct split s = {.rules = rules, .p = p, .slots = slots, .slots_n = slots_n, .cells = cells};
    int rc = 0;
    for (size_t at = 0; at < n && rc == 0 && !s.is_finished; at += STEP) {
        char tail[STEP] = {0};
        const size_t left = n - at;
        if (left < STEP)
            memcpy(tail, p + at, left);
        const uint64_t valid = left >= STEP ? ~UINT64_C(0) : (UINT64_C(1) << left) - 1;
        rc = split_step(&s, at, left >= STEP ? p + at : tail, valid, err);
    }
    if (rc == 0 && !s.is_finished) {
        if (s.inside)
            return cw_err_set(err, CW_E_CORRUPT, "column %zu: a quote is not closed", s.n);
        rc = end_cell(&s, n > s.begin && p[n - 1] == '\r' ? n - 1 : n, err);
    }
    *ret_n = s.n;
    return rc;
}

size_t cw_csv_unescape(const struct cw_csv_cell *cell, char quote, char *dst)
{
    const char *p = cell->p, *end = cell->p + cell->n;
    char *out = dst;
    while (p < end) {
        const char *at = memchr(p, quote, (size_t)(end - p));
        const size_t n = (size_t)((at ? at + 1 : end) - p);
        memcpy(out, p, n);
        out += n;
        p += n + (at ? 1 : 0);
    }
    return (size_t)(out - dst);
}
