/* SPDX-License-Identifier: Apache-2.0 */
/* Where the pages of a column chunk lie, and what the head of a page says. */
#ifndef CW_FORMAT_PARQUET_PAGE_MAP_H
#define CW_FORMAT_PARQUET_PAGE_MAP_H

#include "format/parquet/footer.h"

enum cw_pq_page_type { CW_PQ_DATA_PAGE = 0, CW_PQ_DICTIONARY_PAGE = 2, CW_PQ_DATA_PAGE_V2 = 3 };
struct cw_pq_page_head {
    int type;
    size_t head_bytes;            /* of the head itself */
    uint32_t stored_bytes, bytes; /* behind the head: as stored, and decompressed */
    bool has_crc;
    uint32_t crc;
    uint32_t values;
    int encoding, def_encoding, rep_encoding;
    uint32_t def_bytes, rep_bytes; /* of a page of version 2 */
    bool packed;                   /* its values are compressed */
};
/* Reads a head from n bytes. Returns NULL, or what is wrong. *ret_cut: more bytes might be
 * enough. */
const char *cw_pq_page_head_read(const uint8_t *p, size_t n, struct cw_pq_page_head *ret_head,
                                 bool *ret_cut);

/* A run of pages that are read and decoded together: one page, several small ones, or the whole
 * chunk if it is not known where its rows begin. */
struct cw_pq_stretch {
    uint64_t begin, end; /* bytes in the file */
    int64_t first;       /* row in the row group */
};
struct cw_pq_pages {
    uint64_t dict_begin, dict_end; /* equal: there is none */
    struct cw_pq_stretch *v;
    size_t n, cap;
    int64_t rows; /* of the row group */
};
/* Finds the pages of a column in a row group: by the offset index if there is one, else by their
 * heads. Small pages are joined up to about join_bytes. Errors name the file, and the column. */
int cw_pq_pages_find(const struct cw_readable *file, const struct cw_pq_footer *footer,
                     size_t group, size_t leaf, size_t join_bytes, struct cw_pq_pages *ret_pages,
                     struct cw_err *err);
void cw_pq_pages_fini(struct cw_pq_pages *pages);
/* Returns the stretch that has a row of the row group. */
size_t cw_pq_pages_locate(const struct cw_pq_pages *pages, int64_t row);
/* Number of rows of a stretch. */
int64_t cw_pq_pages_rows(const struct cw_pq_pages *pages, size_t stretch);

#endif
