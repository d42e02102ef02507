/* SPDX-License-Identifier: Apache-2.0 */
/* An open file of a source, read directly or, where a process has one, through its cache of
 * source blocks (cache/source/block_cache.h, which this layer does not know: it sets the hook). The
 * caller has compared the file with what the job means (format/same_file.h): that is done
 * without a cache too, so a file that changed is noticed just the same. */
#ifndef CW_FORMAT_SOURCE_FILE_H
#define CW_FORMAT_SOURCE_FILE_H

#include <stdbool.h>
#include "data/element.h"
#include "format/read_at.h"

/* A block: what is read at once from the source, and kept as one. On a network mount a request
 * costs about what 1 MiB takes to come (1 ms at 1 GB/s), so smaller ones would waste round
 * trips, and larger ones make single records of a shuffled epoch dear. */
#define CW_SOURCE_BLOCK_BYTES ((size_t)1 << 20)

struct cw_source_file {
    const char *path;
    struct cw_file_stamp stamp; /* as the job means it, but for mtime_ns: of the open file */
    int fd;
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
    unsigned tiers;      /* where it was found */
    uint64_t read_bytes; /* from the source, to load it */
};
struct cw_source_hook {
    int (*read)(void *arg, const struct cw_source_file *file, uint64_t offset, void *dst, size_t n,
                struct cw_err *err);
    /* One block: where it is; with `load`, brought into the tiers that outlive the process. */
    int (*block)(void *arg, const struct cw_source_file *file, uint64_t block, bool load,
                 struct cw_source_block *ret_block, struct cw_err *err);
    void *arg;
};
/* For the whole process; NULL takes it away. `hook` must stay until then, and no file may be
 * read meanwhile. */
void cw_source_hook_set(const struct cw_source_hook *hook);
bool cw_source_is_cached(void); /* whether there is one */

/* Exactly n bytes inside the file. */
int cw_source_read(const struct cw_source_file *file, uint64_t offset, void *dst, size_t n,
                   struct cw_err *err);
/* Without a hook: the size, and in no tier; UNSUPPORTED with `load`. */
int cw_source_block_get(const struct cw_source_file *file, uint64_t block, bool load,
                        struct cw_source_block *ret_block, struct cw_err *err);
/* For formats; `file` must stay. */
struct cw_readable cw_source_readable(const struct cw_source_file *file);

#endif
