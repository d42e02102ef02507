/* SPDX-License-Identifier: Apache-2.0 */
/* Chunks in a store. What a chunk is: format/chunk.h and format/record.h, which operators use
 * too. */
#ifndef CW_CACHE_RECORD_CHUNK_VERIFY_H
#define CW_CACHE_RECORD_CHUNK_VERIFY_H

#include "cache/store/store.h"
#include "format/chunk.h"

/* Everything of a file in the store, read from end to end and checked (sums, records against the
 * spec, what the name says if it is one of the cache's): what `cachew cache verify` does.
 * ret_index may be NULL. */
int cw_chunk_verify(struct cw_store *store, const char *name, struct cw_chunk_index **ret_index,
                    struct cw_err *err);

#endif
