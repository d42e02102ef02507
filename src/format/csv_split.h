/* SPDX-License-Identifier: Apache-2.0 */
/* Cuts a record of CSV into its cells (RFC 4180), 64 bytes at a time. */
#ifndef CW_FORMAT_CSV_SPLIT_H
#define CW_FORMAT_CSV_SPLIT_H

#include "base/err.h"

struct cw_csv_rules {
    char separator;
    char quote; /* 0: there are no quotes, and newlines end records always */
};
struct cw_csv_cell {
    const char *p; /* without the quotes around it */
    size_t n;
    bool is_escaped; /* it has quotes in it, which are doubled */
};
/* Checks the options `separator` and `quote` of an operator. */
int cw_csv_rules_check(const char *separator, const char *quote, struct cw_err *err);
/* Cuts the record at p, which ends at its first newline outside of quotes. Cell c is written to
 * cells[slots[c]] if c < slots_n and slots[c] >= 0; others are only counted. */
int cw_csv_split(const struct cw_csv_rules *rules, const char *p, size_t n, const int32_t *slots,
                 size_t slots_n, struct cw_csv_cell *cells, size_t *ret_n, struct cw_err *err);
/* Copies a cell with each doubled quote as one. dst has room for cell->n bytes. Returns how many
 * there are. */
size_t cw_csv_unescape(const struct cw_csv_cell *cell, char quote, char *dst);

#endif
