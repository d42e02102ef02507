/* SPDX-License-Identifier: Apache-2.0 */
/* A plan from inside, for src/exec: the graph as a flat program. An element is computed by walking
 * down from a node with a position (index operators map it, element operators are put on a stack)
 * to a source, and back up through the stack; only merges and inner batches need a frame. */
#ifndef CW_PLAN_PLAN_NODES_H
#define CW_PLAN_PLAN_NODES_H

#include "base/thread.h"
#include "graph/sparse.h"
#include "plan/plan.h"
#include <stdatomic.h>

/* How deep merges and batches may be nested. Each level costs the walk a frame. */
#define CW_PLAN_FRAMES_MAX 32

enum cw_step {
    CW_STEP_SOURCE,
    CW_STEP_INDEX, /* maps the position to a position of one input */
    CW_STEP_PASS,  /* changes nothing: cache and mark; take and skip of a sparse pipeline, which
                      the client carries out */
    CW_STEP_ELEMENT,
    CW_STEP_MERGE, /* one element of each input */
    CW_STEP_GROUP  /* several elements of the input */
};
/* How a node uses a cache. Immutable; lives until the plan ends. */
struct cw_plan_use {
    struct cw_plan_use *next;
    struct cw_cache_dataset *cache; /* one ref */
    bool read, write;
};
struct cw_plan_node {
    enum cw_step step;
    bool frozen; /* a random operator below a `freeze`: draws as in epoch 0, repetition 0 */
    bool drawn;  /* there is a random operator at the node or below it */
    const struct cw_plan_use *_Atomic use; /* NULL = no cache; any thread: acquire */
    const struct cw_node *node;
    const struct cw_op *op;
    const void *opts;
    void *state; /* from op->open */
    uint64_t tag;
    size_t inputs_n;
    const size_t *inputs;
    int64_t *in_n; /* number of elements of each input */
    int64_t n;     /* number of its elements; in a sparse pipeline as if none were left out */
    struct cw_spec out;
    const struct cw_spec *in; /* of input 0; NULL for a source */
    size_t fields[CW_FIELDS_MAX];
    size_t fields_n;
    uint32_t fields_mask;
    bool same;     /* ELEMENT: works on whole elements and does not change their spec */
    int64_t group; /* GROUP: number of input elements in one */
    size_t frames; /* depth of merges and groups at the node and below it */
    size_t
        want; /* the crop that is the only reader of this node; SIZE_MAX = none (op.h next_want) */
    struct cw_hash files; /* of the files that its elements are read from */
};
struct cw_plan {
    _Atomic int refs;
    struct cw_checked *checked; /* one ref */
    uint64_t seed;
    struct cw_stop *stop; /* one ref, or NULL */
    size_t n;
    struct cw_plan_node *nodes;
    /* for each node, where a walk continues: self: at the node; passing: at the next node below
     * that is no PASS */
    uint16_t *self, *passing;
    size_t output; /* dense: the last node; sparse: the node whose elements are rows */
    struct cw_sparse sparse;
    struct cw_plan_info info;
    struct cw_mutex uses_mutex;
    struct cw_plan_use *uses;              /* lock: uses_mutex; all that were ever set */
    _Atomic int uses_n;                    /* number of nodes that have one now */
    void *_Atomic exec;                    /* what src/exec keeps with a plan */
    void (*_Atomic exec_free)(void *exec); /* frees it with the plan */
};

/* One step down from an INDEX node: returns the input's node, and sets its position. May change
 * *rep. */
static inline size_t cw_plan_map(const struct cw_plan *plan, const struct cw_plan_node *node,
                                 uint64_t epoch, int64_t *pos, uint64_t *rep)
{
    struct cw_at at = {.seed = plan->seed,
                       .epoch = epoch,
                       .tag = node->tag,
                       .rep = *rep,
                       .in_n = node->in_n,
                       .n = node->n};
    size_t input = 0;
    *pos = node->op->map(node->opts, node->state, &at, *pos, &input);
    *rep = at.rep;
    return node->inputs[input];
}

/* What an item of a dense pipeline is made of: the rows of one element of a group, or a single
 * element (group = SIZE_MAX); and the element operators that are applied to the whole batch, last
 * first. */
struct cw_plan_item {
    size_t node; /* its elements are the rows */
    size_t group;
    int64_t pos; /* of the first row */
    int64_t rows;
    int64_t group_pos;
    uint64_t rep;
    size_t above_n;
    uint16_t above[CW_GRAPH_NODES_MAX];
};
void cw_plan_item(const struct cw_plan *plan, uint64_t epoch, uint64_t item,
                  struct cw_plan_item *ret_item);

#endif
