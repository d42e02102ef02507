/* SPDX-License-Identifier: Apache-2.0 */
/* The footer of a Parquet file: its columns, and where each row group has their bytes. */
#ifndef CW_FORMAT_PARQUET_FOOTER_H
#define CW_FORMAT_PARQUET_FOOTER_H

#include "data/spec.h"
#include "format/read_at.h"

#define CW_PQ_FOOTER_BYTES_MAX ((uint64_t)256 << 20)
#define CW_PQ_DEPTH_MAX 32 /* how deep columns may be nested */

enum cw_pq_physical { /* the numbers of the format */
                      CW_PQ_BOOLEAN,
                      CW_PQ_INT32,
                      CW_PQ_INT64,
                      CW_PQ_INT96,
                      CW_PQ_FLOAT,
                      CW_PQ_DOUBLE,
                      CW_PQ_BYTE_ARRAY,
                      CW_PQ_FIXED,
                      CW_PQ_PHYSICAL_N
};
enum cw_pq_logical { CW_PQ_PLAIN_VALUE, CW_PQ_INT, CW_PQ_DECIMAL, CW_PQ_FLOAT16 };

/* A column that has values. */
struct cw_pq_leaf {
    /* Names from the root, joined by ".", without the groups that only make a list ("a.list.element"
     * is "a"). */
    char *name;
    enum cw_pq_physical physical;
    enum cw_pq_logical logical;
    uint32_t type_bytes; /* of FIXED */
    int bits;            /* of INT */
    bool is_signed;
    int scale; /* of DECIMAL */
    /* A value that is there has the definition level max_def. If max_rep is 1, an entry of a list
     * has at least entry_def, a list (maybe empty) entry_def - 1. */
    uint8_t max_def, max_rep, entry_def;
};
/* The bytes of a column in a row group. */
struct cw_pq_chunk {
    uint64_t begin, end; /* all pages, the dictionary's first */
    uint64_t data;       /* the first data page */
    uint64_t index;      /* the offset index; 0: there is none */
    uint32_t index_bytes;
    int codec; /* the format's number */
    int64_t values;
};
struct cw_pq_group {
    int64_t first, rows;
};
struct cw_pq_footer {
    struct cw_pq_leaf *leaves;
    size_t leaves_n;
    struct cw_pq_group *groups;
    size_t groups_n, groups_cap;
    struct cw_pq_chunk *chunks; /* of group g, leaf i: [g * leaves_n + i] */
    size_t chunks_n, chunks_cap;
    int64_t rows;
};

/* Reads the footer. Errors (CORRUPT, UNSUPPORTED) name the file, and the byte. */
int cw_pq_footer_read(const struct cw_readable *file, struct cw_pq_footer *ret_footer,
                      struct cw_err *err);
void cw_pq_footer_fini(struct cw_pq_footer *footer);
/* Returns the index of the leaf of that name; -1: there is none. */
int cw_pq_footer_find(const struct cw_pq_footer *footer, const char *name);
/* Returns the row group of a row, which must exist. */
size_t cw_pq_footer_group_of(const struct cw_pq_footer *footer, int64_t row);

#endif
