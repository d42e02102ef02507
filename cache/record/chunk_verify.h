/* SPDX-License-Identifier: Apache-2.0 */
/* Verification of chunks in a store. The format of a chunk is defined in format/chunk.h and
 * format/record.h, which operators use as well. */
#ifndef CW_CACHE_RECORD_CHUNK_VERIFY_H
#define CW_CACHE_RECORD_CHUNK_VERIFY_H

#include "cache/store/store.h"
#include "format/chunk.h"

/* Reads a file of the store from end to end and checks everything in it: checksums, records against
 * the spec, and what the name says if it is a name of the cache. `cachew cache verify` does this.
 * ret_index may be NULL. */
int cw_chunk_verify(struct cw_store *store, const char *name, struct cw_chunk_index **ret_index,
                    struct cw_err *err);

#endif
