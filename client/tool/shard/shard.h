/* SPDX-License-Identifier: Apache-2.0 */
/* The formats of files that `cachew materialize` writes: one source file each, and a line in
 * shard.c. A shard is put together in memory, and written as a whole. */
#ifndef CW_CLIENT_TOOL_SHARD_SHARD_H
#define CW_CLIENT_TOOL_SHARD_SHARD_H

#include <stdbool.h>
#include <sys/uio.h>

#include "base/args.h"
#include "base/hash.h"
#include "data/element.h"

struct tool_shard_options {
    struct cw_spec spec;    /* of the elements */
    struct cw_hash id;      /* of what is written: pipeline, seed, options */
    int level;              /* chunks: compression (format/chunk.h) */
    struct cw_arg_list ext; /* tar: FIELD=EXT */
};
struct tool_shard; /* the format's own */
struct tool_shard_format {
    const char *name; /* "tfrecord": also the extension of files; chunks have "chunk" */
    const char *ext;
    /* INVALID when such elements cannot be written in this format. */
    int (*check)(const struct tool_shard_options *options, struct cw_err *err);
    struct tool_shard *(*begin)(const struct tool_shard_options *options); /* options must stay */
    /* number: of the element in all of the output, from 0. */
    int (*add)(struct tool_shard *shard, uint64_t number, const struct cw_element *element,
               struct cw_err *err);
    uint64_t (*bytes)(const struct tool_shard *shard); /* so far */
    /* The parts of the file, valid until discard. */
    int (*finish)(struct tool_shard *shard, const struct iovec **ret_parts, size_t *ret_parts_n,
                  struct cw_err *err);
    void (*discard)(struct tool_shard *shard); /* accepts NULL */
};
extern const struct tool_shard_format tool_shard_chunks, tool_shard_tfrecord, tool_shard_tar;

/* A growing array of bytes whose size depends on data. Zero-initialise. */
struct tool_bytes {
    char *p;
    size_t n, cap;
};
void tool_bytes_fini(struct tool_bytes *bytes);
/* Appends n bytes; p = NULL: zeros. NOMEM. */
int tool_bytes_add(struct tool_bytes *bytes, const void *p, size_t n, struct cw_err *err);

#endif
