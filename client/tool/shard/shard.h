/* SPDX-License-Identifier: Apache-2.0 */
/* The file formats that `cachew materialize` writes: one source file each, and a line in shard.c. A
 * shard is put together in memory and written as a whole. */
#ifndef CW_CLIENT_TOOL_SHARD_SHARD_H
#define CW_CLIENT_TOOL_SHARD_SHARD_H

#include <stdbool.h>
#include <sys/uio.h>

#include "base/args.h"
#include "base/hash.h"
#include "data/element.h"

struct tool_shard_options {
    struct cw_spec spec;    /* The spec of the elements. */
    struct cw_hash id;      /* The hash of what is written: pipeline, seed and options. */
    int level;              /* Chunks only: the compression (format/chunk.h). */
    struct cw_arg_list ext; /* Tar only: FIELD=EXT. */
};
struct tool_shard; /* Each format defines this struct for itself. */
struct tool_shard_format {
    /* The format's name is also the extension of its files, for example "tfrecord"; the extension
     * of chunks is "chunk". */
    const char *name;
    const char *ext;
    /* INVALID: such elements cannot be written in this format. */
    int (*check)(const struct tool_shard_options *options, struct cw_err *err);
    /* The options must stay until the shard is discarded. */
    struct tool_shard *(*begin)(const struct tool_shard_options *options);
    /* number: the number of the element in the whole output, from 0. */
    int (*add)(struct tool_shard *shard, uint64_t number, const struct cw_element *element,
               struct cw_err *err);
    /* Returns the number of bytes that were added to the shard so far. */
    uint64_t (*bytes)(const struct tool_shard *shard);
    /* Returns the parts of the file. They are valid until discard. */
    int (*finish)(struct tool_shard *shard, const struct iovec **ret_parts, size_t *ret_parts_n,
                  struct cw_err *err);
    /* Frees a shard, finished or not. NULL is accepted. */
    void (*discard)(struct tool_shard *shard);
};
extern const struct tool_shard_format tool_shard_chunks, tool_shard_tfrecord, tool_shard_tar;

/* A growing array of bytes, for formats whose size is not known before. It starts zeroed. */
struct tool_bytes {
    char *p;
    size_t n, cap;
};
void tool_bytes_fini(struct tool_bytes *bytes);
/* Appends n bytes, or zeros if p is NULL. NOMEM: there is no memory. */
int tool_bytes_add(struct tool_bytes *bytes, const void *p, size_t n, struct cw_err *err);

#endif
