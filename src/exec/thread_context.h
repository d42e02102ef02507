/* SPDX-License-Identifier: Apache-2.0 */
/* What a thread needs to compute elements of a plan: the operators' contexts and scratch memory,
 * the stacks of the walk, and counters. Contexts belong to the plan. A thread borrows one for a
 * run of elements, so there are never more of them than threads that work on the plan at one
 * time. */
#ifndef CW_EXEC_THREAD_CONTEXT_H
#define CW_EXEC_THREAD_CONTEXT_H

#include "base/thread.h"
#include "exec/exec.h"
#include "exec/fair_queue.h"
#include "plan/plan_nodes.h"
#include <stdatomic.h>

/* Counters of one node in one context. Written by the thread that has borrowed the context, read by
 * any thread. */
struct cw_node_tally {
    _Atomic uint64_t elements, cpu_ns, wall_ns, bytes_out, element_bytes, hits;
};
struct cw_node_context {
    struct cw_op_ctx ctx;
    void *scratch;
    struct cw_node_tally count;
    uint32_t stride, left; /* the clock is read for every stride-th element; left: until then */
};
/* An entry of the walk's stack: an element operator that was passed on the way down and is applied
 * on the way up, or a cache that gets the element of its node on the way up. */
struct cw_walk_pending {
    uint32_t node;
    uint32_t put;   /* index + 1 into puts, for a cache; 0 = an operator */
    uint32_t live;  /* bit mask of the fields whose final value is written into the row's slot */
    uint32_t shift; /* field i of this node is field i + shift of the row */
};
/* An element that is to be put into a cache once it is computed. */
struct cw_pending_put {
    struct cw_cache_dataset *cache;
    uint64_t id;
    int64_t begin_ns; /* cw_clock_ns: the cost of the element is measured from here */
};
/* A merge, or a batch within the pipeline, whose inputs are being computed. */
struct cw_walk_frame {
    size_t node;
    int64_t pos;
    uint64_t rep;
    int64_t next, n; /* the input (or row) to compute next, and their number */
    size_t base;     /* height of the pending stack when the frame began */
    uint32_t live, shift;
    struct cw_element element;
    const struct cw_view **rows;
};
/* Where the walk is: at which element of which node. */
struct cw_walk_at {
    size_t node;
    int64_t pos;
    uint64_t rep;
    uint32_t live, shift;
    /* pos belongs to the next source, merge or group below: index operators were applied already */
    bool mapped;
};
struct cw_thread_context {
    struct cw_plan *plan; /* no ref: the plan owns the context */
    struct cw_thread_context *next_all, *next_idle;
    struct cw_arena *arena; /* of the thread that has borrowed the context */
    uint64_t epoch;
    const struct cw_stop *stop; /* of the task */
    int64_t clock_ns;           /* time of one clock reading, subtracted from measured times */
    struct cw_node_context *nodes;
    struct cw_walk_pending *pending;
    size_t pending_n;
    bool caching; /* some node may have a cache */
    /* for each node, the node at which the walk continues: skips nodes that do nothing */
    const uint16_t *skip;
    struct cw_pending_put *puts;
    size_t puts_n;
    struct cw_cache_pins hold;    /* pins cache memory that the current row points into */
    struct cw_walk_frame *frames; /* stack; the plan says how many can be needed */
    size_t frames_n;
    void *slot[CW_FIELDS_MAX]; /* where the current row's fields go; slot_bytes 0 = no slot */
    size_t slot_bytes[CW_FIELDS_MAX];
    size_t failed;                         /* the node whose read or apply failed */
    const struct cw_element *want_element; /* next_want: the element that will be cropped */
    size_t want_node;                      /* next_want: the crop */
    cw_exec_trace_fn *trace;               /* NULL except in cw_exec_trace */
    void *trace_arg;
    int64_t trace_row;
    struct cw_str trace_source;
    int trace_rc;
};
/* What exec keeps with a plan. Owner: the plan. */
struct cw_plan_exec {
    struct cw_mutex mutex;
    struct cw_thread_context *all, *idle; /* lists; lock: mutex */
    _Atomic uint64_t row_ns;              /* usual time of a row; 0 = not known yet */
    struct cw_fair_flow turn;             /* lock: the pool's */
};

/* Finds it, or makes it. Any thread. */
struct cw_plan_exec *cw_plan_exec_of(struct cw_plan *plan);
/* Borrows a context, and gives it back. */
struct cw_thread_context *cw_thread_context_get(struct cw_plan *plan, struct cw_arena *arena,
                                                uint64_t epoch, const struct cw_stop *stop);
void cw_thread_context_put(struct cw_thread_context *work);

/* A bit mask of so many fields (see `live`). */
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
    /* There is one writer, so no atomic read-modify-write is needed. */
    atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + n,
                          memory_order_relaxed);
}

#endif
