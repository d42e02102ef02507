/* SPDX-License-Identifier: Apache-2.0 */
/* Computes one batch again in this process, as a worker and the client would, and finds which
 * elements are in it. */
#ifndef CW_CLIENT_TOOL_REBUILD_H
#define CW_CLIENT_TOOL_REBUILD_H

#include "cachew/cachew.h"
#include "exec/exec.h"

/* An element of the batch: row `row` of an item, counted before anything is removed by a filter. */
struct tool_row {
    uint64_t item;
    int64_t row;
    char *source; /* Where the row comes from, for example "/data/a.tfrecord record 17". */
};
struct tool_rebuilt {
    struct cachew_batch *batch;
    struct tool_row *rows; /* The rows in their order in the batch. */
    size_t rows_n, rows_cap;
};
/* Bad elements are left out. A job that does not skip them has failed at the first one, so its
 * batches have none. */
int tool_rebuild(struct cw_plan *plan, uint64_t seed, uint64_t epoch, uint64_t number,
                 struct tool_rebuilt *ret_rebuilt, struct cw_err *err);
void tool_rebuilt_fini(struct tool_rebuilt *rebuilt);

/* Is called with the result of each operator for each element of the batch. i is the number of the
 * element in the batch; -1 stands for the batch as a whole. */
typedef int tool_trace_fn(void *arg, int64_t i, const struct cw_node *node,
                          const struct cw_spec *spec, const struct cw_element *element,
                          struct cw_err *err);
int tool_rebuilt_trace(struct cw_plan *plan, uint64_t epoch, const struct tool_rebuilt *rebuilt,
                       tool_trace_fn *fn, void *arg, struct cw_err *err);

#endif
