/* SPDX-License-Identifier: Apache-2.0 */
/* What a thread needs to compute elements of a plan: contexts and scratch of the operators, the
 * walk's stacks, counters. Works belong to the plan; a thread borrows one for a run of elements, so
 * there are never more of them than threads at work on the plan. */
#ifndef CW_EXEC_THREAD_CONTEXT_H
#define CW_EXEC_THREAD_CONTEXT_H

#include "base/thread.h"
#include "exec/exec.h"
#include "exec/fair_queue.h"
#include "plan/program.h"
#include <stdatomic.h>

struct cw_node_tally {
    /* written by the thread that has the work, read by any */
    _Atomic uint64_t elements, cpu_ns, wall_ns, bytes_out, element_bytes, hits;
};
struct cw_node_context {
    struct cw_op_ctx ctx;
    void *scratch;
    struct cw_node_tally count;
    uint32_t stride, left; /* the clock is read at every stride-th element */
};
/* An element operator met on the way down, to be applied on the way up; or a cache, which gets the
 * element of its node then. */
struct cw_walk_pending {
    uint32_t node;
    uint32_t put;   /* puts[put - 1] says what; 0 = an operator */
    uint32_t live;  /* fields whose finished value belongs into the row's slot */
    uint32_t shift; /* field i of here is field i + shift of the row */
};
struct cw_pending_put {
    struct cw_cache_dataset *cache;
    uint64_t id;
    int64_t begin_ns;
};
/* A merge or inner group that waits for its inputs. */
struct cw_walk_frame {
    size_t node;
    int64_t pos;
    uint64_t rep;
    int64_t next, n; /* inputs, or rows */
    size_t base;     /* pending below belong to those above */
    uint32_t live, shift;
    struct cw_element element;
    const struct cw_view **rows;
};
/* Where the walk is. */
struct cw_walk_at {
    size_t node;
    int64_t pos;
    uint64_t rep;
    uint32_t live, shift;
    bool
        mapped; /* pos is that of the next source, merge or group below: index operators are done */
};
struct cw_thread_context {
    struct cw_plan *plan; /* no ref: the plan owns the work */
    struct cw_thread_context *next_all, *next_idle;
    struct cw_arena *arena; /* the borrowing thread's */
    uint64_t epoch;
    const struct cw_stop *stop; /* the task's */
    int64_t clock_ns; /* what a reading of the clock takes, to be left out of what is measured */
    struct cw_node_context *nodes;
    struct cw_walk_pending *pending;
    size_t pending_n;
    bool caching; /* some node may have a cache */
    /* of a node: where the walk goes on instead, past nodes that do nothing */
    const uint16_t *skip;
    struct cw_pending_put *puts;
    size_t puts_n;
    struct cw_cache_pins hold;    /* what the row being computed points into */
    struct cw_walk_frame *frames; /* as many as the plan's output needs */
    size_t frames_n;
    void *slot[CW_FIELDS_MAX]; /* of the row being computed; slot_bytes 0 = none */
    size_t slot_bytes[CW_FIELDS_MAX];
    size_t failed;                         /* the node whose read or apply failed */
    const struct cw_element *want_element; /* whose crop next_want is asked for, */
    size_t want_node;                      /* and of which operator */
    cw_exec_trace_fn *trace;               /* NULL but in cw_exec_trace */
    void *trace_arg;
    int64_t trace_row;
    struct cw_str trace_source;
    int trace_rc;
};
/* What exec keeps with a plan. */
struct cw_plan_exec {
    struct cw_mutex mutex;
    struct cw_thread_context *all, *idle;
    _Atomic uint64_t row_ns;  /* a row's usual time, 0 = not known yet */
    struct cw_fair_flow turn; /* the pool's lock */
};

struct cw_plan_exec *cw_plan_exec_of(struct cw_plan *plan);
struct cw_thread_context *cw_thread_context_get(struct cw_plan *plan, struct cw_arena *arena,
                                                uint64_t epoch, const struct cw_stop *stop);
void cw_thread_context_put(struct cw_thread_context *work);

/* A bit for each of so many fields: `live`. */
static inline uint32_t cw_field_mask(size_t fields)
{
    return fields >= 32 ? UINT32_MAX : (1u << fields) - 1;
}

static inline uint64_t cw_element_bytes(const struct cw_element *element)
{
    uint64_t bytes = 0;
    for (size_t k = 0; k < element->n; k++)
        bytes += element->fields[k].bytes;
    return bytes;
}

static inline void cw_tally_add(_Atomic uint64_t *counter, uint64_t n)
{
    /* one writer: no read-modify-write needed */
    atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + n,
                          memory_order_relaxed);
}

#endif
