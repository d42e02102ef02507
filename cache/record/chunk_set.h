/* SPDX-License-Identifier: Apache-2.0 */
/* The set of chunks of a dataset. The functions that the owner calls (cw_cache_dataset_add and
 * others) are declared in record_cache.h. */
#ifndef CW_CACHE_RECORD_CHUNK_SET_H
#define CW_CACHE_RECORD_CHUNK_SET_H

struct cw_cache_dataset;

/* Gives up all chunks of the dataset without events, when the last reference to the dataset or to
 * the cache is given up. */
void cw_chunk_set_drop_all(struct cw_cache_dataset *dataset);

#endif
