/* SPDX-License-Identifier: Apache-2.0 */
/* Where `cachew materialize` writes: the shards NAME-00000.EXT and, beside them, the state
 * NAME.EXT.materialize, in a store (cache/store/store.h). A directory is a kind of store. */
#ifndef CW_CLIENT_TOOL_SHARD_OUTPUT_H
#define CW_CLIENT_TOOL_SHARD_OUTPUT_H

#include "base/hash.h"
#include "cache/store/store.h"
#include "client/tool/shard/shard.h"

#define TOOL_TOKEN_MAX 4096

/* The progress. It is saved after each shard, so all shards with lower numbers exist. */
struct tool_output_state {
    /* The hash of everything that decides the output; zero if nothing was written. */
    struct cw_hash id;
    uint64_t shards, elements, bytes;
    bool done;
    size_t token_n; /* The position behind the last shard (cachew_job_token). */
    unsigned char token[TOOL_TOKEN_MAX];
};
struct tool_output {
    struct cw_store *store;
    const struct tool_shard_format *format;
    char base[128]; /* The name of the shards; "part" for chunks. */
    char *dir;      /* The directory that is the store; NULL if the store is another one. */
};
/* Opens "chunks:URL", "chunks:DIR", "DIR", "NAME.tfrecord" or "NAME.tar". It makes directories. */
int tool_output_open(struct tool_output *output, const char *out, struct cw_err *err);
/* Closes the output. A zeroed struct is accepted. */
void tool_output_close(struct tool_output *output);
/* Reads the progress. EXISTS: there are shards without a state, so something else wrote them. */
int tool_output_load(struct tool_output *output, struct tool_output_state *ret_state,
                     struct cw_err *err);
/* Removes the state file and the shards of the output. */
int tool_output_clear(struct tool_output *output, struct cw_err *err);
int tool_output_put(struct tool_output *output, uint64_t shard, const struct iovec *parts,
                    size_t parts_n, struct cw_err *err);
int tool_output_save(struct tool_output *output, const struct tool_output_state *state,
                     struct cw_err *err);

#endif
