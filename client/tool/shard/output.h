/* SPDX-License-Identifier: Apache-2.0 */
/* Where `cachew materialize` writes: shards NAME-00000.EXT and the state NAME.EXT.materialize
 * beside them, in a store (cache/store/store.h): a directory is one, too. */
#ifndef CW_CLIENT_TOOL_SHARD_OUTPUT_H
#define CW_CLIENT_TOOL_SHARD_OUTPUT_H

#include "base/hash.h"
#include "cache/store/store.h"
#include "client/tool/shard/shard.h"

#define TOOL_TOKEN_MAX 4096

/* The progress, which is saved after each shard: all shards with lower numbers are there. */
struct tool_output_state {
    struct cw_hash id; /* of what is written; zero = nothing is there */
    uint64_t shards, elements, bytes;
    bool done;
    size_t token_n; /* position behind the last shard (cachew_job_token) */
    unsigned char token[TOOL_TOKEN_MAX];
};
struct tool_output {
    struct cw_store *store;
    const struct tool_shard_format *format;
    char base[128]; /* "part" of chunks */
    char *dir;      /* the store is this directory; NULL = another one */
};
/* "chunks:URL", "chunks:DIR", "DIR", "NAME.tfrecord", "NAME.tar". Makes directories. */
int tool_output_open(struct tool_output *output, const char *out, struct cw_err *err);
void tool_output_close(struct tool_output *output); /* accepts zeroed */
/* Reads the progress. EXISTS when there are shards but no state, so they are of another origin. */
int tool_output_load(struct tool_output *output, struct tool_output_state *ret_state,
                     struct cw_err *err);
/* Removes state and shards. */
int tool_output_clear(struct tool_output *output, struct cw_err *err);
int tool_output_put(struct tool_output *output, uint64_t shard, const struct iovec *parts,
                    size_t parts_n, struct cw_err *err);
int tool_output_save(struct tool_output *output, const struct tool_output_state *state,
                     struct cw_err *err);

#endif
