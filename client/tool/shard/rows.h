/* SPDX-License-Identifier: Apache-2.0 */
/* Splits delivered batches into elements again. */
#ifndef CW_CLIENT_TOOL_SHARD_ROWS_H
#define CW_CLIENT_TOOL_SHARD_ROWS_H

#include "base/arena.h"
#include "cachew/cachew.h"
#include "data/element.h"

/* What is known of the elements of a pipeline's output without running it. */
struct tool_rows {
    bool unbatch;        /* An element is a row of each tensor. */
    bool known;          /* `spec` comes from the pipeline. Otherwise the first batch decides. */
    struct cw_spec spec; /* which the caller frees */
};
/* Reads the pipeline from a file. keep: the batches are the elements. */
int tool_rows_init(struct tool_rows *rows, const char *path, bool keep, struct cw_err *err);
/* Takes the spec from a batch, if the pipeline did not give it because its source cannot be read
 * here. */
int tool_rows_take_spec(struct tool_rows *rows, const struct cachew_batch *batch,
                        struct cw_err *err);
uint64_t tool_rows_n(const struct tool_rows *rows, const struct cachew_batch *batch);
/* Returns element i as views of the batch. Lists of strings get the layout of data/strings.h, in the
 * arena. */
int tool_rows_get(const struct tool_rows *rows, const struct cachew_batch *batch, uint64_t i,
                  struct cw_element *ret_element, struct cw_arena *arena, struct cw_err *err);

#endif
