/* SPDX-License-Identifier: Apache-2.0 */
/* The set of chunks of a dataset. The owner's calls: cw_cache_dataset_add and others of
 * record_cache.h. */
#ifndef CW_CACHE_RECORD_CHUNK_SET_H
#define CW_CACHE_RECORD_CHUNK_SET_H

struct cw_cache_dataset;

/* Gives up all of them, without events: with the last reference to the dataset, or the cache. */
void cw_chunk_set_drop_all(struct cw_cache_dataset *dataset);

#endif
