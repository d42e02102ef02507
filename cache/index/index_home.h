/* SPDX-License-Identifier: Apache-2.0 */
/* Where this process keeps indices of source files (format/kept_index.h): under _index/ of the store of
 * the job's cache; where a job has none, in a directory on a local disk; else in memory. What cannot be
 * read or written is as if it were not there, and is said once in the log. Any thread. */
#ifndef CW_CACHE_INDEX_INDEX_HOME_H
#define CW_CACHE_INDEX_INDEX_HOME_H

#include "cache/store/store.h"

/* Blobs in memory take at most so much; the oldest make room. */
#define CW_INDEX_HOME_MEMORY ((size_t)64 << 20)

/* Has the process keep indices from now on. There is one home; it ends with the last call of
 * cw_index_home_stop, when nobody reads or writes. */
void cw_index_home_start(void);
void cw_index_home_stop(void);
/* Keeps those of jobs without a store in this directory; NULL: in memory. */
void cw_index_home_set_dir(const char *dir);
/* Keeps those of a cache's jobs in its store (cache_id as in cw_source_use_store). A second call for the
 * cache changes nothing if the URL is the same. */
void cw_index_home_set_store(uint64_t cache_id, const char *url);
/* Closes the store of a cache, when nobody uses it any more. */
void cw_index_home_drop_store(uint64_t cache_id);

/* What is kept in a store, for tools. */
struct cw_index_row {
    const char *name;
    const char *
        key; /* not ended by NUL: lines, of which the first names the operator, the second the file */
    size_t key_n;
    uint64_t records, bytes;
    int64_t mtime_ms;
    bool is_damaged; /* only name, bytes and mtime_ms are set */
};
/* Calls fn for each index in the store, in any order; a value other than 0 ends it and is returned. */
typedef int cw_index_row_fn(void *arg, const struct cw_index_row *row);
int cw_index_list(struct cw_store *store, cw_index_row_fn *fn, void *arg, struct cw_err *err);

#endif
