/* SPDX-License-Identifier: Apache-2.0 */
/* Text files by all rules, and the same bytes as gzip and zstd files. The first byte chooses. */
#include <string.h>

#include "base/mem.h"
#include "format/inflate.h"
#include "format/line_scan.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

/* Pieces of a few bytes make the same index. */
static void scan_pieces(const struct cw_readable *file, const struct cw_line_rules *rules,
                        uint64_t piece_bytes, const struct cw_line_index *whole)
{
    struct cw_line_index *index = NULL;
    CW_ASSERT(cw_line_scan_pieces(file, rules, piece_bytes, 2, &index, NULL) == 0);
    CW_ASSERT(cw_line_index_n(index) == cw_line_index_n(whole));
    for (uint64_t k = 0; k < cw_line_index_n(index); k++)
        CW_ASSERT(cw_line_index_at(index, k) == cw_line_index_at(whole, k));
    cw_line_index_free(index);
}

static void scan(const char *p, size_t n, unsigned choice)
{
    struct cw_readable_bytes bytes = {p, n};
    struct cw_readable file = cw_readable_mem("f", &bytes);
    struct cw_line_index *index = NULL;
    struct cw_err err = {0};
    const struct cw_line_rules rules = {.quote = choice & 1 ? '"' : '\0',
                                        .blank = (enum cw_blank)(choice / 2 % 3),
                                        .skips_mark = (choice & 8) != 0,
                                        .head = choice / 16 % 2};
    int rc = cw_line_scan(&file, &rules, &index, &err);
    CW_ASSERT(rc == 0 || (rc == CW_E_CORRUPT && rules.quote && err.msg[0]));
    if (rc < 0)
        return;
    const uint64_t count = cw_line_index_n(index);
    CW_ASSERT(cw_line_index_at(index, count) == n);
    for (uint64_t k = 0; k < count; k++) {
        const uint64_t at = cw_line_index_at(index, k);
        CW_ASSERT(at < cw_line_index_at(index, k + 1) || (at == 3 && n == 3));
        CW_ASSERT(rules.quote || at == 0 || at == 3 || p[at - 1] == '\n');
    }
    if (n <= 1000 && choice % 8 == 0) /* threads take long */
        scan_pieces(&file, &rules, 4 + choice % 50 + n / 8, index);
    cw_line_index_free(index);
}

static void inflate(const char *name, const uint8_t *data, size_t n)
{
    struct cw_readable_bytes bytes = {data, n};
    struct cw_readable file = cw_readable_mem(name, &bytes);
    struct cw_err err = {0};
    char *all = NULL;
    size_t all_n = 0;
    bool is_all;
    int rc = cw_inflate_head(&file, 1 << 20, &all, &all_n, &is_all, &err);
    CW_ASSERT(rc == 0 || (rc == CW_E_CORRUPT && err.msg[0]));
    if (rc == 0) {
        CW_ASSERT(all_n <= 1 << 20);
        scan(all, all_n, data ? data[0] : 0);
        cw_mem_free(all);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    if (n == 0)
        return 0;
    scan((const char *)data + 1, n - 1, data[0]);
    inflate("f.gz", data, n);
    inflate("f.zst", data, n);
    return 0;
}
