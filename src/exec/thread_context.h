/* SPDX-License-Identifier: Apache-2.0 */
/* What a thread needs to compute elements of a plan: the operators' contexts and scratch memory,
 * the stacks of the walk, and counters. Contexts belong to the plan. A thread borrows one for a
 * run of elements, so there are never more of them than threads that work on the plan at one
 * time. */
#ifndef CW_EXEC_THREAD_CONTEXT_H
#define CW_EXEC_THREAD_CONTEXT_H

#include "exec/active_time.h"
#include "base/thread.h"
#include "exec/exec.h"
#include "exec/fair_queue.h"
#include "exec/row_memory.h"
#include "exec/held_whole.h"
#include "plan/plan_nodes.h"
#include <stdatomic.h>

/* struct cw_cost_sums, as counters. */
struct cw_sum_tally {
#define FIELD(name) _Atomic double name;
    CW_COST_SUMS(FIELD)
#undef FIELD
};
/* Counters of one node in one context. The thread that has borrowed the context writes them; any
 * thread reads them. */
struct cw_node_tally {
    _Atomic uint64_t elements, cpu_ns, wall_ns, bytes_out, element_bytes, hits, waits;
    struct cw_sum_tally sums;
};
/* By sets of filters, as bits of their numbers: elements that were shown to all of them, and that pass all. */
struct cw_filter_tally {
    _Atomic uint64_t shown[CW_FILTER_SETS], passed[CW_FILTER_SETS];
};
struct cw_node_context {
    struct cw_op_ctx ctx;
    void *scratch;
    struct cw_op_ctx many_ctx; /* the same for many elements at once, if the node may have them */
    void *many_scratch;
    struct cw_node_tally count;
    /* The clock is read for every stride-th call on average; `left` counts down to the next one, `since`
     * counts elements since the last one, and `draw` is the state of the draws of gaps. */
    uint32_t stride, left, draw;
    uint64_t since;
    uint32_t tries_n;   /* calls before which something else could be tried (op_try.c) */
    uint32_t many_last; /* of these, the last one at which many elements were tried */
    uint32_t folds_n;   /* calls that could be left out (op_fold.c) */
    uint64_t fold_bytes,
        fold_element_bytes; /* `bytes_out` and `element_bytes` of the last that was made */
    uint32_t parts_n;       /* calls that could make a part of an image (op_call.c) */
    int64_t elsewhere_ns;   /* what other processes have used for the call that is measured */
    /* the element that was last taken apart here (take_apart.h), one reference; and the repetition of that which
     * is being computed to be taken apart */
    struct cw_whole *whole;
    uint64_t whole_rep;
};
/* An entry of the walk's stack: an element operator that was passed on the way down and is applied
 * on the way up, a cache that gets the element of its node on the way up, or a choice that then
 * becomes part of the element's id, or a position that becomes a field, or a part that is made of the element. */
#define CW_WALK_CHOICE UINT32_MAX
#define CW_WALK_PART (UINT32_MAX - 1)
struct cw_walk_pending {
    uint32_t node;
    /* for a cache: its index in puts plus 1; CW_WALK_CHOICE: the node chooses from several inputs, and `live` is the
     * number of the chosen one; CW_WALK_PART: `live` is that of the part; 0: the entry is an operator */
    uint32_t put;
    uint32_t shift; /* field i of this node is field i + shift of the row */
    /* bit mask of the fields whose final value is written into the row's slot: of the first 64, and
     * others are copied there */
    uint64_t live;
    int64_t pos; /* of a choice: the position at its node; of a part: at its node's input */
};
/* An element that is to be put into a cache once it is computed. */
struct cw_pending_put {
    struct cw_cache_dataset *cache;
    uint64_t id;
    int64_t begin_ns; /* the time (cw_clock_ns) from which the cost of the element is measured */
};
/* A merge, or a batch within the pipeline, whose inputs are being computed. */
struct cw_walk_frame {
    size_t node;
    int64_t pos;
    uint64_t rep, each;
    int64_t next, n; /* the input (or row) to compute next, and the number of inputs */
    size_t base;     /* height of the pending stack when the frame was begun */
    uint64_t live;
    uint32_t shift;
    struct cw_element *element;
    const struct cw_view **rows;
};
/* A position of the walk: an element of a node. */
struct cw_walk_at {
    size_t node;
    int64_t pos;
    uint64_t rep, each; /* as in struct cw_at (ops/op.h) */
    uint64_t live;
    uint32_t shift;
    /* pos belongs to the next source, merge, group or choice below, since index operators were applied
     * already */
    bool mapped;
    bool id_known;
    uint64_t id, id_rep; /* if the id is known: id of the element, and its repetition with `each` */
};
/* How the rows of an item are computed: by which plan, and where their elements are in it. Rows of
 * one item may be computed in several ways, which give the same. */
#define CW_BLOCK_OPS_MAX 16
struct cw_row_way {
    struct cw_plan *plan;
    size_t top; /* the node whose elements are the rows */
    /* The operators that are called by blocks of so many rows (row_block.h), last first. */
    uint16_t block_ops[CW_BLOCK_OPS_MAX];
    size_t block_ops_n; /* 0: all are called row by row */
    int64_t block_rows;
    size_t node; /* the node below them, up to which rows are computed one by one */
    int64_t pos; /* position of the first row */
    uint64_t rep;
    /* The source that reads many rows at once, since there are only index operators between, or a merge of
     * several such; SIZE_MAX: none. */
    size_t rows_source;
    bool loose;  /* it gives them with fields of no fixed size (row_pieces.h) */
    bool affine; /* and the positions of rows there are first + step * row */
    bool mapped; /* positions are mapped for many rows together (positions.h) */
    bool ids;    /* positions, mapped or as they are, are ids (positions.h) */
};
/* Rows that a source reads at once. */
#define CW_SOURCE_ROWS_MAX 4096
/* Where rows are written: into the batch, or into the columns of a block. */
struct cw_row_target {
    const struct cw_spec *spec;     /* of each row */
    int64_t first;                  /* the row that the columns begin with */
    uint8_t *column[CW_FIELDS_MAX]; /* NULL: the batch has no bytes */
    size_t row_bytes[CW_FIELDS_MAX];
};
/* Returns where a field of a row is written; NULL: it has no bytes. */
static inline uint8_t *cw_row_place(const struct cw_row_target *to, size_t f, int64_t row)
{
    return to->column[f] ? to->column[f] + (size_t)(row - to->first) * to->row_bytes[f] : NULL;
}
struct cw_thread_context {
    struct cw_plan *plan; /* without a reference: the plan owns the context */
    struct cw_thread_context *next_all, *next_idle;
    struct cw_arena *arena; /* belongs to the thread that has borrowed the context */
    uint64_t epoch;
    const struct cw_stop *stop;   /* the stop flag of the task */
    const struct cw_row_way *way; /* how rows are computed now */
    struct cw_row_target to;      /* and where they are written, if their sizes are known */
    struct cw_column columns[CW_FIELDS_MAX]; /* of rows that a source reads at once */
    int64_t run_pos[CW_SOURCE_ROWS_MAX];     /* positions of rows that are mapped together */
    uint64_t run_rep[CW_SOURCE_ROWS_MAX];
    int64_t affine_pos[CW_SOURCE_ROWS_MAX]; /* what affine operators make of them */
    uint8_t *block;                         /* memory for columns of a block */
    size_t block_bytes;
    struct cw_row_block *row_block; /* of the item, for rows of unknown size (row_memory.h) */
    /* time that one reading of the clock takes, which is subtracted from measured times */
    int64_t clock_ns;
    struct cw_node_context *nodes;
    struct cw_filter_tally filters;
    struct cw_walk_pending *pending;
    size_t pending_n;
    bool caching; /* some node may have a cache */
    /* For each node the node at which the walk continues: nodes that do nothing are skipped. */
    const uint16_t *skip;
    struct cw_pending_put *puts;
    size_t puts_n;
    struct cw_cache_pins pins;    /* pins the cached records that the current row points into */
    struct cw_walk_frame *frames; /* stack of frames; the plan knows how many can be needed */
    size_t frames_n;
    /* memory for elements: of each frame, of the row or batch that is computed, one more for the call
     * that needs a second, and one for calls that are tries (op_try.c) */
    struct cw_element *elements, *element, *second, *trial;
    /* where the fields of the current row are written; slot_bytes 0: the field has no slot */
    void *slot[CW_FIELDS_MAX];
    size_t slot_bytes[CW_FIELDS_MAX];
    size_t failed; /* the node whose read or apply failed */
    /* for next_want: the element that will be cropped, and the node that makes a part of it */
    const struct cw_element *want_element;
    const struct cw_plan_node *want_of;
    size_t want_asked; /* the node that is asked what it needs, or has refused; SIZE_MAX: none */
    cw_exec_trace_fn *trace; /* NULL except in cw_exec_trace */
    void *trace_arg;
    int64_t trace_row;
    struct cw_str trace_source;
    int trace_rc;
};
/* The state that src/exec keeps with a plan, which owns it. */
struct cw_plan_exec {
    struct cw_mutex mutex;
    /* guarded by mutex: lists of all contexts, and of those that no thread has borrowed */
    struct cw_thread_context *all, *idle;
    struct cw_row_spare row_spare; /* guarded by mutex */
    struct cw_whole_ring wholes;   /* guarded by mutex */
    struct cw_buf *spare; /* guarded by mutex: memory for the rows below operators (item_batch.h) */
    _Atomic uint64_t row_ns; /* usual time of a row in ns; 0: not known yet */
    /* sums over the pool's threads, as in struct cw_exec_plan_time */
    _Atomic uint64_t busy_ns, cpu_ns, store_ns;
    struct cw_active_time active;
    struct cw_fair_flow flow; /* guarded by the pool's lock */
    struct cw_plan *plan;     /* without a reference: the plan owns this */
    /* Of the written plan, guarded by its mutex: the states of the other plans that exist, and what
     * was counted for those that do not exist any more, by node of the written plan. */
    struct cw_plan_exec *others;
    struct cw_exec_count *ended;
    struct cw_exec_filters ended_filters; /* guarded by mutex: the same of sets of filters */
    /* Of another plan, guarded by the written plan's mutex: neighbours in that list, if it is in
     * it. */
    struct cw_plan_exec *next_other, *prev_other;
    bool listed;
};

/* Returns the state that is one for all plans of a function: the written plan's. */
struct cw_plan_exec *cw_plan_exec_of_all(struct cw_plan *plan);
/* Returns the state of a plan; makes it if there is none. Any thread may call it. */
struct cw_plan_exec *cw_plan_exec_of(struct cw_plan *plan);
/* ---- plan_counts.c ---- */
/* Puts the state of a plan that is not the written one into the list of the written plan's state, `all`, and takes it out
 * of there, whereupon its counters are added to those of the plans that have ended. */
void cw_plan_counts_begin(struct cw_plan_exec *all, struct cw_plan_exec *share);
void cw_plan_counts_end(struct cw_plan_exec *all, struct cw_plan_exec *share);

/* ---- thread_context.c ---- */
/* Borrow a context, and give it back. */
struct cw_thread_context *cw_thread_context_get(struct cw_plan *plan, struct cw_arena *arena,
                                                uint64_t epoch, const struct cw_stop *stop);
void cw_thread_context_put(struct cw_thread_context *work);

/* Returns a bit mask of so many fields (see `live`). */
static inline uint64_t cw_field_mask(size_t fields)
{
    return fields >= 64 ? UINT64_MAX : (UINT64_C(1) << fields) - 1;
}

/* Returns the bytes of these fields. */
static inline uint64_t cw_element_bytes_of(const struct cw_element *element,
                                           const struct cw_field_set *fields)
{
    uint64_t bytes = 0;
    for (size_t k = 0; k < element->n; k++)
        bytes += cw_field_set_has(fields, k) ? element->fields[k].bytes : 0;
    return bytes;
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
    /* Only one thread writes a counter, so no atomic read-modify-write is needed. */
    atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + n,
                          memory_order_relaxed);
}

static inline void cw_tally_add_real(_Atomic double *counter, double n)
{
    atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + n,
                          memory_order_relaxed);
}

#endif
