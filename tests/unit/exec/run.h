/* SPDX-License-Identifier: Apache-2.0 */
/* Pipelines run in tests: by the pool and by the calling thread. */
#ifndef CW_TESTS_EXEC_RUN_H
#define CW_TESTS_EXEC_RUN_H

#include "base/thread.h"
#include "exec/exec.h"

/* nodes: the JSON of a pipeline's list, without brackets. Fails the test when it is refused. */
struct cw_plan *plan_of(const char *nodes, uint64_t seed);
/* The node of a name. */
size_t node_of(const struct cw_plan *plan, const char *name);

struct job {
    struct cw_exec_item item;
    struct cw_batch *batch;
    struct cw_err err;
    struct waiter *waiter;
};
struct waiter {
    struct cw_mutex mutex;
    struct cw_cond cond;
    size_t left;
};
void on_done(struct cw_exec_item *item, struct cw_batch *batch, const struct cw_err *err);
/* Submits items 0..n-1 and waits for them. */
struct job *run_all(struct cw_exec *exec, struct cw_plan *plan, uint64_t epoch,
                    enum cw_bad_elements bad, size_t n);
void free_jobs(struct job *jobs, size_t n);

/* Of all batches of an epoch. */
struct cw_hash hash_pool(struct cw_plan *plan, size_t threads, uint64_t epoch,
                         enum cw_bad_elements bad, uint64_t *ret_rows);
struct cw_hash hash_here(struct cw_plan *plan, uint64_t epoch, enum cw_bad_elements bad);
/* All rows of one i64 field, items in order. */
int64_t *rows_of(struct cw_plan *plan, uint64_t epoch, size_t *ret_n);

#endif
