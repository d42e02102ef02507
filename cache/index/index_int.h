/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of this folder share. */
#ifndef CW_CACHE_INDEX_INDEX_INT_H
#define CW_CACHE_INDEX_INDEX_INT_H

#include "cache/store/store.h"

/* Reads a whole file; *ret_bytes is the caller's. LIMIT: it has more than `most` bytes. */
int cw_index_read_blob(struct cw_store *store, const char *name, size_t most, void **ret_bytes,
                       size_t *ret_n, struct cw_err *err);

#endif
