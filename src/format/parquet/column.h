/* SPDX-License-Identifier: Apache-2.0 */
/* Appends values to a column: encoded ones, those of a dictionary, and nulls between them. Functions
 * return NULL, or what is wrong. */
#ifndef CW_FORMAT_PARQUET_COLUMN_H
#define CW_FORMAT_PARQUET_COLUMN_H

#include "format/parquet/slab.h"

/* Whether values are wanted as PLAIN stores them. */
bool cw_pq_want_is_stored(const struct cw_pq_want *want);
/* Makes room for n more values. */
const char *cw_pq_column_room(struct cw_pq_column *column, const struct cw_pq_want *want, size_t n);
/* Appends n values; there is room for them. */
const char *cw_pq_column_add(struct cw_pq_column *column, const struct cw_pq_want *want,
                             int encoding, const uint8_t *p, const uint8_t *end, size_t n);
/* The same for indices of a dictionary, with their width in front. */
const char *cw_pq_column_add_indices(struct cw_pq_column *column, const struct cw_pq_want *want,
                                     const struct cw_pq_column *dict, const uint8_t *p,
                                     const uint8_t *end, size_t n);
/* Spreads the last `present` values over the places that `mask` has (n bytes, 1: a value), and fills
 * the others. There is room. */
const char *cw_pq_column_spread(struct cw_pq_column *column, const struct cw_pq_want *want,
                                const uint8_t *mask, size_t n, size_t present);

#endif
