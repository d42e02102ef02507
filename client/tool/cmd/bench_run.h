/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a pipeline for `cachew bench`, and keeps how long its epochs took. */
#ifndef CW_CLIENT_TOOL_CMD_BENCH_RUN_H
#define CW_CLIENT_TOOL_CMD_BENCH_RUN_H

#include "client/tool/cmd/bench_options.h"
#include "base/err.h"
#include "base/str.h"

struct tool_bench_epoch {
    double
        seconds; /* from its second batch to its end; of an epoch of one batch: from its beginning */
    uint64_t samples; /* elements, those of the first batch included */
};
struct tool_bench_result {
    uint64_t batch_size; /* of the pipeline's last batch; 1: it has none */
    struct tool_bench_epoch *epochs;
    size_t n, cap;
};
/* Runs it; returns the exit code. */
int tool_bench_run(const struct tool_bench_options *options, struct tool_bench_result *ret_result);
/* Reads a pipeline; batch_size > 0: sets the size of its last batch, or adds one at its end. ret_text: its
 * text; ret_size: that size. */
int tool_bench_pipeline(const char *path, uint64_t batch_size, struct cw_str *ret_text,
                        uint64_t *ret_size, struct cw_err *err);
void tool_bench_result_fini(struct tool_bench_result *result);

#endif
