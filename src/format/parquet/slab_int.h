/* SPDX-License-Identifier: Apache-2.0 */
/* What slab.c and page.c share: a slab that is being read, page by page. Functions return NULL, or what is wrong. */
#ifndef CW_FORMAT_PARQUET_SLAB_INT_H
#define CW_FORMAT_PARQUET_SLAB_INT_H

#include "format/parquet/slab.h"

struct cw_pq_reader {
    const struct cw_readable *file;
    const struct cw_pq_want *want;
    const struct cw_pq_chunk *chunk;
    const struct cw_pq_column *dict;
    struct cw_pq_slab *slab;
    size_t rows;      /* that the slab is to have */
    size_t entry_cap; /* lists: room in slab->entry */
    struct cw_pq_scratch *scratch;
};
/* Has memory for n bytes, at most max; what was there is lost. */
const char *cw_pq_bytes_room(struct cw_pq_bytes *bytes, size_t n, size_t max);
/* Makes room for the entries of so many rows more, and their end. */
const char *cw_pq_entries_room(struct cw_pq_reader *reader, size_t rows);
/* Checks that a page has all its bytes, of which `left` are there from p on, and its checksum. */
const char *cw_pq_page_check(const struct cw_pq_page_head *head, const uint8_t *p, size_t left);
/* Appends the values of the page at p, and says how many bytes it has. */
const char *cw_pq_page_add(struct cw_pq_reader *reader, const uint8_t *p, size_t left,
                           size_t *ret_bytes);

#endif
