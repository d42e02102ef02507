/* SPDX-License-Identifier: Apache-2.0 */
/* An open file of a source. It is read directly or, if the process has one, through its source
 * cache (cache/source/block_cache.h, which sets the hook; this layer does not know it). The caller
 * has compared the file with its stamp before (format/same_file.h), with or without a cache, so a
 * file that changed is noticed in both cases. */
#ifndef CW_FORMAT_SOURCE_FILE_H
#define CW_FORMAT_SOURCE_FILE_H

#include <stdbool.h>
#include "data/element.h"
#include "format/read_at.h"
#include "io/ahead.h"

/* Bytes of a block, which is read from the source at once and cached as one. On a network mount a
 * request costs about as much time as 1 MiB takes to arrive (1 ms at 1 GB/s). Smaller blocks would
 * waste round trips, and larger ones would make single records of a shuffled epoch expensive. */
#define CW_SOURCE_BLOCK_BYTES ((size_t)1 << 20)

struct cw_source_file {
    const char *path;
    /* The stamp with which the job was prepared, except for mtime_ns, which is that of the open
     * file (cw_io_mark). */
    struct cw_file_stamp stamp;
    const struct cw_io_file *io;
    const struct cw_stop *stop; /* NULL: reads are not stopped */
};
static inline uint64_t cw_source_blocks(int64_t file_bytes)
{
    return ((uint64_t)file_bytes + CW_SOURCE_BLOCK_BYTES - 1) / CW_SOURCE_BLOCK_BYTES;
}

enum cw_source_tiers {
    CW_SOURCE_IN_MEMORY = 1u << 0,
    CW_SOURCE_IN_DIR = 1u << 1,
    CW_SOURCE_IN_STORE = 1u << 2
};
struct cw_source_block {
    uint64_t bytes;
    unsigned tiers;      /* the tier that has it */
    uint64_t read_bytes; /* bytes that were read from the source to load the block */
};
struct cw_source_hook {
    int (*read)(void *arg, const struct cw_source_file *file, uint64_t offset, void *dst, size_t n,
                struct cw_err *err);
    /* Finds the tiers that have a block. With `load`, brings the block into the tiers that outlive
     * the process. */
    int (*block)(void *arg, const struct cw_source_file *file, uint64_t block, bool load,
                 struct cw_source_block *ret_block, struct cw_err *err);
    /* Adds to `ahead` what must be read from the source so that a range of a file with this stamp can be
     * read without waiting. */
    void (*ahead)(void *arg, struct cw_ahead *ahead, const char *path,
                  const struct cw_file_stamp *stamp, uint64_t offset, uint64_t n);
    /* Whether blocks are kept in a tier that outlives the process; NULL: they are not. */
    bool (*keeps)(void *arg);
    void *arg;
};
/* Sets the hook of the process; NULL removes it. The hook must live until it is removed, and no
 * file may be read while it is changed. */
void cw_source_hook_set(const struct cw_source_hook *hook);
bool cw_source_is_cached(void); /* Whether a hook is set. */
/* Whether what the calling thread reads is kept in a tier that outlives the process. */
bool cw_source_keeps(void);
/* Sets in which cache's store the calling thread looks for blocks from now on: the id of a named
 * cache, 0 for the default one, CW_SOURCE_NO_STORE for none. A thread begins with 0. */
#define CW_SOURCE_NO_STORE UINT64_MAX
void cw_source_use_store(uint64_t cache_id);
uint64_t cw_source_store_used(void);

/* Reads exactly n bytes, which must lie inside the file. */
int cw_source_read(const struct cw_source_file *file, uint64_t offset, void *dst, size_t n,
                   struct cw_err *err);
/* Adds a range of a file, which is not open, to those that are read ahead. What lies behind its end is
 * left out. */
void cw_source_ahead(struct cw_ahead *ahead, const char *path, const struct cw_file_stamp *stamp,
                     uint64_t offset, uint64_t n);
/* Finds the tiers that have a block, through the hook. Without a hook: sets the size, and no tier;
 * UNSUPPORTED with `load`. */
int cw_source_block_get(const struct cw_source_file *file, uint64_t block, bool load,
                        struct cw_source_block *ret_block, struct cw_err *err);
/* Whether a file will not change without a new mark: it has not changed for age_ms, or it is an
 * object that has a version. */
bool cw_source_is_settled(const struct cw_source_file *file, int64_t age_ms);
/* Makes a readable for record formats. `file` must outlive it. */
struct cw_readable cw_source_readable(const struct cw_source_file *file);

#endif
