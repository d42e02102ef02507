/* SPDX-License-Identifier: Apache-2.0 */
/* Indices of source files that are kept for later jobs. What is kept of a file is one blob: a head,
 * which says of which file and how it was made (its key), how many records the file has, and then
 * the index itself as bytes, whose meaning only its operator knows. All of it is checksummed; a blob
 * that is damaged, cut, or was made for another key counts as none.
 *
 * Where blobs lie is not known here: the process sets a keeper (cache/index/index_keeper.h). */
#ifndef CW_FORMAT_KEPT_INDEX_H
#define CW_FORMAT_KEPT_INDEX_H

#include <stdbool.h>
#include "base/err.h"
#include "base/hash.h"
#include "base/str.h"

/* The folder of a store or directory in which blobs lie, as _index/HASH.idx. */
#define CW_KEPT_INDEX_PREFIX "_index/"
#define CW_KEPT_INDEX_SUFFIX ".idx"
#define CW_KEPT_INDEX_NAME_BYTES 48
/* Longer blobs are neither written nor read. */
#define CW_KEPT_INDEX_MAX ((size_t)1 << 32)
/* What any index needs of memory, however small its file is. */
#define CW_KEPT_INDEX_SMALL ((size_t)1 << 20)

struct cw_kept_index {
    void *blob; /* all of it; freed by cw_kept_index_fini */
    size_t blob_n;
    const char *key; /* not ended by NUL */
    size_t key_n;
    uint64_t records;
    const uint8_t *bytes; /* of the index, inside the blob */
    size_t n;
};
void cw_kept_index_fini(struct cw_kept_index *kept);
/* Makes a blob. */
void cw_kept_index_write(const char *key, uint64_t records, const void *bytes, size_t n,
                         struct cw_str *out);
/* Reads a blob, of which it takes no part: the pointers point into it. Returns false if it is none,
 * or damaged. key: what it must have been made for; NULL: anything. */
bool cw_kept_index_read(const void *blob, size_t blob_n, const char *key,
                        struct cw_kept_index *ret_kept);
/* Looks through a blob of blob_n bytes piece by piece, of which `read` reads ranges. *ret_is_good: it is
 * one, and not damaged; then its key and number of records are set. Fails only if `read` does. */
typedef int cw_kept_read_fn(void *arg, uint64_t offset, void *dst, size_t n, struct cw_err *err);
int cw_kept_index_scan(cw_kept_read_fn *read, void *arg, uint64_t blob_n, struct cw_str *ret_key,
                       uint64_t *ret_records, bool *ret_is_good, struct cw_err *err);
/* The name under which the blob of a key is kept. */
void cw_kept_index_name(const char *key, char ret_name[CW_KEPT_INDEX_NAME_BYTES]);

struct cw_index_keeper {
    /* Gets a blob; *ret_blob is the caller's. Returns false if there is none, it has more than `most`
     * bytes, or it cannot be had now. store: as in cw_source_use_store. */
    bool (*get)(void *arg, uint64_t store, const char *name, size_t most, void **ret_blob,
                size_t *ret_n);
    /* Keeps a blob, if that can be done. */
    void (*put)(void *arg, uint64_t store, const char *name, const void *blob, size_t n);
    void *arg;
};
/* Sets the keeper of the process; NULL removes it. It must live until it is removed, and no source may
 * be opened or read while it is changed. */
void cw_index_keeper_set(const struct cw_index_keeper *keeper);
/* Blobs with more bytes are not read by this process: what its budget allows. CW_KEPT_INDEX_MAX at the
 * beginning. */
void cw_index_keeper_set_max(size_t bytes);
/* Finds what is kept for a key, in the store that the calling thread uses (cw_source_use_store). Whoever
 * may write there can put anything under its name, so what has more bytes than `most`, the most that an
 * honest one can have, is not read. */
bool cw_index_keeper_find(const char *key, uint64_t most, struct cw_kept_index *ret_kept);
bool cw_index_keeper_is_set(void);
void cw_index_keeper_put(const char *key, uint64_t records, const void *bytes, size_t n);

#endif
