/* SPDX-License-Identifier: Apache-2.0 */
/* The thread pool that computes items (docs/architecture.md). A thread takes a run of an item's
 * elements and applies all operators to one element while it is in the processor's cache; the last
 * operator writes into the element's slot of the batch buffer. The thread that finishes the last
 * element completes the item and calls its `done`, which should post to the caller's loop. */
#ifndef CW_EXEC_EXEC_H
#define CW_EXEC_EXEC_H

#include "io/ahead.h"
#include "plan/plan.h"
#include "policies/cost_line.h"

struct cw_exec;

/* what happens to an item with a bad element: it fails, or the element is left out */
enum cw_bad_elements { CW_BAD_FAIL, CW_BAD_SKIP };

/* Allocates the buffer of a batch, from the heap or from shared memory. Exec threads call it.
 * Returns NULL and sets err if there is no memory. */
typedef struct cw_buf *cw_exec_alloc_fn(void *arg, size_t bytes, struct cw_err *err);

struct cw_exec_item {
    struct cw_plan *plan; /* the item holds references of its own while it is in exec */
    uint64_t epoch, item;
    const char
        *whose; /* the job, for notes of what operators of plugins are called for; may be NULL */
    enum cw_bad_elements bad;
    cw_exec_alloc_fn *alloc; /* NULL: cw_buf_new is used */
    void *alloc_arg;
    /* Called exactly once for each submitted item, on an exec thread. batch: the callee takes the
     * reference; it is NULL, and err is set, if the item failed or was cancelled. */
    void (*done)(struct cw_exec_item *item, struct cw_batch *batch, const struct cw_err *err);
    void *arg;
    int64_t cpu_ns; /* set before done is called: CPU time that threads used for the item */
    /* Set before done is called: time that threads spent on the item, including time in which they
     * slept, waited, or paused for the CPU limit. */
    int64_t busy_ns;
    /* set before done is called: time from the beginning of the first element to the end of the
     * last one */
    int64_t wall_ns;
    struct cw_exec_task *task; /* private to exec */
};
/* Per-node counters of a plan, summed over threads since it was made. */
struct cw_exec_count {
    uint64_t elements, cpu_ns, bytes_out;
    uint64_t wall_ns; /* wall time of the same calls; it exceeds cpu_ns if they slept or waited */
    /* bytes of whole elements as the node outputs them, which is what a cache would store */
    uint64_t element_bytes;
    /* elements that were read from the cache at this node; they are not counted in `elements` */
    uint64_t hits;
    uint64_t waits;           /* reads for which a thread waited for a server (io/io.h) */
    struct cw_cost_sums sums; /* of the same timed calls as cpu_ns and wall_ns */
};

/* What passes sets of filters, summed likewise. Some elements are shown to several filters. */
struct cw_exec_filters {
    size_t node[CW_FILTERS_MAX]; /* of each filter; SIZE_MAX: there is none with this number */
    /* By sets of filters, as bits of their numbers: elements that were shown to all, and that pass all. */
    uint64_t shown[CW_FILTER_SETS], passed[CW_FILTER_SETS];
};

/* What the threads of a pool did besides computing, in ns since it began, summed over threads. */
struct cw_exec_thread_time {
    uint64_t idle_ns;   /* nothing could be computed */
    uint64_t paused_ns; /* the CPU limit was reached */
    uint64_t delay_ns;  /* they were ready to run and had no CPU (base/run_delay.h) */
};
/* The time that threads of pools spent on a plan, in ns since it was made, summed over threads. */
struct cw_exec_plan_time {
    uint64_t busy_ns; /* all of it, waiting included, but without pauses for the CPU limit */
    uint64_t cpu_ns;  /* of it, on a CPU */
    /* Not summed over threads: in which at least one of them worked on the plan. */
    uint64_t active_ns;
    /* Of it, waiting: for the source (estimated, as it is not measured at every element), inside
     * other operators (estimated), and for the store of a cache. */
    uint64_t source_ns, inside_ns, store_ns;
    uint64_t hits; /* elements that were read from caches */
};

/* From now on, plans that are opened in this process can make surveys (plan/survey.h). */
void cw_exec_surveys(void);
struct cw_exec *cw_exec_new(size_t threads) CW_MUST_CHECK;
/* Limits the CPU time of all threads together, in seconds per second (0 = no limit). To be called
 * before anything is submitted. Threads wait between runs of elements when the limit is reached, so
 * it holds on average, not at every instant. */
void cw_exec_limit_cpu(struct cw_exec *exec, double cpus);
/* Limits the scratch memory that all threads together keep between elements, in bytes. */
void cw_exec_limit_kept(struct cw_exec *exec, size_t bytes);
/* How much scratch memory the threads have that compute nothing now, or had when they last did not. Any thread. */
size_t cw_exec_kept(const struct cw_exec *exec);
/* Memory is short: each thread gives back its scratch memory as soon as it computes nothing. */
void cw_exec_shed(struct cw_exec *exec);
/* Cancels all items, waits for the runs that threads are computing, and frees the pool. */
void cw_exec_free(struct cw_exec *exec);
/* Submits an item. The items of one plan are begun in the order submitted; plans share the threads
 * (fair_queue.h). The item belongs to the caller and must live until `done`. Any thread. */
void cw_exec_submit(struct cw_exec *exec, struct cw_exec_item *item);
/* From now on the rows of an item that no thread has begun are computed by another plan of the same
 * written graph (cw_plan_open_beside), unless that has other rows, since other operators are behind
 * the batch. Does nothing for an item that is done or was never submitted. All plans of one written
 * graph count as one for weights, time and counters. Any thread. */
void cw_exec_replan(struct cw_exec *exec, struct cw_exec_item *item, struct cw_plan *plan);
/* Sets the plan's weight, > 0: plans get time of the threads in proportion to their weights. The
 * default is 1. Any thread. */
void cw_exec_weigh(struct cw_exec *exec, struct cw_plan *plan, double weight);
/* Cancels an item: rows that are not begun are not computed, operators that check the stop flag
 * end, and `done` gets CANCELLED, unless the last row was computed already. Does nothing for an
 * item that is done or was never submitted. Any thread. */
void cw_exec_cancel(struct cw_exec *exec, struct cw_exec_item *item);
/* Copies the counters of a plan: ret_counts has one entry for each node of the graph. Those of a written
 * graph's plan count what its other plans have done, by the names of the nodes. */
void cw_exec_counts(const struct cw_plan *plan, struct cw_exec_count *ret_counts);
/* The same of sets of filters. */
void cw_exec_filter_counts(const struct cw_plan *plan, struct cw_exec_filters *ret_filters);
/* Returns the time of a pool's threads; delay_ns, which costs a read of a file for each thread, only
 * if `delay` is set. Any thread. */
void cw_exec_thread_time(struct cw_exec *exec, bool delay, struct cw_exec_thread_time *ret_time);
/* Returns the time that was spent on a plan. Any thread. */
void cw_exec_plan_time(const struct cw_plan *plan, struct cw_exec_plan_time *ret_time);
/* Prefetches the records of an item's rows from the caches of the plan (cw_cache_prefetch). Any
 * thread. */
void cw_exec_prefetch(struct cw_plan *plan, uint64_t epoch, uint64_t item);
/* Whether some source of the plan can be read ahead now (cw_ahead_is_for in io/ahead.h). */
bool cw_exec_can_ahead(const struct cw_plan *plan);
/* Adds the bytes that the item will read from sources, as far as that is known before it is computed, but
 * not those of elements that a cache has. May wait for indices of files. Any thread. */
void cw_exec_ahead(struct cw_plan *plan, uint64_t epoch, uint64_t item, struct cw_ahead *ahead);
/* Computes one item on the calling thread: for tests, replay and trials while preparing. */
int cw_exec_run(struct cw_plan *plan, uint64_t epoch, uint64_t item, enum cw_bad_elements bad,
                struct cw_batch **ret_batch, struct cw_err *err);
/* Computes one item on the calling thread, and calls fn with the output of each operator for each
 * element, in order: what `replay --dump` prints. For an element that is bad or filtered out the
 * calls end there; row -1 means operators behind the batch. An error of fn ends the trace. */
typedef int cw_exec_trace_fn(void *arg, int64_t row, const struct cw_node *node,
                             const struct cw_spec *spec, const struct cw_element *element,
                             const char *source, struct cw_err *err);
int cw_exec_trace(struct cw_plan *plan, uint64_t epoch, uint64_t item, cw_exec_trace_fn *fn,
                  void *arg, struct cw_err *err);

#endif
