/* SPDX-License-Identifier: Apache-2.0 */
/* The thread pool that computes items (docs/architecture.md). Threads take (item, run of
 * elements), run the whole chain for an element while it is in their cache, and the last
 * operator writes into the element's slot of the batch buffer. The element that finishes last
 * completes the item, whose done is called on an exec thread (post to your loop there). */
#ifndef CW_EXEC_EXEC_H
#define CW_EXEC_EXEC_H

#include "plan/plan.h"

struct cw_exec;

enum cw_bad_elements { CW_BAD_FAIL, CW_BAD_SKIP }; /* what a bad element does to its job */

/* Where batch buffers come from: heap, or shared memory. Called by exec threads. NULL = none now
 * (set err). */
typedef struct cw_buf *cw_exec_alloc_fn(void *arg, size_t bytes, struct cw_err *err);

struct cw_exec_item {
    struct cw_plan *plan; /* borrowed until done: the caller holds a ref */
    uint64_t epoch, item;
    enum cw_bad_elements bad;
    cw_exec_alloc_fn *alloc; /* NULL = cw_buf_new */
    void *alloc_arg;
    /* Exactly one call per submitted item. batch: the callee's ref, or NULL with err set
     * (CANCELLED too). */
    void (*done)(struct cw_exec_item *item, struct cw_batch *batch, const struct cw_err *err);
    void *arg;
    int64_t cpu_ns; /* set before done: thread CPU spent on it */
    /* set before done: time of threads that had it in hand, also while it slept or waited, or a
     * limit holds them */
    int64_t busy_ns;
    int64_t wall_ns;           /* from the first element begun to the last finished */
    struct cw_exec_task *task; /* the pool's own */
};
/* Per-node counters of a plan, summed over threads since it was made. */
struct cw_exec_count {
    uint64_t elements, cpu_ns, bytes_out;
    uint64_t wall_ns; /* of the same calls: more than cpu_ns when it slept or waited */
    /* of whole elements as the node leaves them: what a cache would store */
    uint64_t element_bytes;
    uint64_t hits; /* elements that came from the cache here; they are not in `elements` */
};

struct cw_exec *cw_exec_new(size_t threads) CW_MUST_CHECK;
/* Before anything is submitted: its threads together use at most so much CPU time, in seconds a
 * second (0 = no limit). Short of that they wait between runs of elements, so the process stays
 * at its limit on average, not at every instant. */
void cw_exec_limit_cpu(struct cw_exec *exec, double cpus);
void cw_exec_free(struct cw_exec *exec); /* cancels all items, and waits for what threads are at */
/* A plan's items are begun in the order submitted; plans share the threads (turns.h). Any
 * thread; item stays the caller's and must live until done. */
void cw_exec_submit(struct cw_exec *exec, struct cw_exec_item *item);
/* What part of the threads' time the plan gets while others want it too: in proportion to the
 * weights; 1 if nobody says otherwise. > 0. Any thread. */
void cw_exec_weigh(struct cw_exec *exec, struct cw_plan *plan, double weight);
/* Nobody wants it any more: rows that are not begun are not computed, operators that look at the
 * flag end, and it is done with CANCELLED, unless its last row is computed already. Of an item
 * that is done, or was never submitted, nothing happens. Any thread. */
void cw_exec_cancel(struct cw_exec *exec, struct cw_exec_item *item);
void cw_exec_counts(const struct cw_plan *plan,
                    struct cw_exec_count *ret_counts /* one per node of the graph */);
/* Begins to read what the caches of the plan have of an item's rows (cw_cache_prefetch). Any
 * thread. */
void cw_exec_prefetch(struct cw_plan *plan, uint64_t epoch, uint64_t item);
/* One item on the calling thread, for tests, replay and prepare-time trials. */
int cw_exec_run(struct cw_plan *plan, uint64_t epoch, uint64_t item, enum cw_bad_elements bad,
                struct cw_batch **ret_batch, struct cw_err *err);
/* Each intermediate tensor of each element of an item, in order, on the calling thread: what
 * `replay --dump` shows. An element that is bad or filtered out is shown up to there; row -1 =
 * of operators behind the batch. An error of fn ends it. */
typedef int cw_exec_trace_fn(void *arg, int64_t row, const struct cw_node *node,
                             const struct cw_spec *spec, const struct cw_element *element,
                             const char *source, struct cw_err *err);
int cw_exec_trace(struct cw_plan *plan, uint64_t epoch, uint64_t item, cw_exec_trace_fn *fn,
                  void *arg, struct cw_err *err);

#endif
