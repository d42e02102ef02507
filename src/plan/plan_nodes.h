/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of a plan, for src/exec: the graph as a flat program. An element is computed by
 * walking down from a node with a position (index operators map it, element operators are put on a
 * stack) to a source, and back up through the stack; only merges and inner batches need a frame. */
#ifndef CW_PLAN_PLAN_NODES_H
#define CW_PLAN_PLAN_NODES_H

#include "base/thread.h"
#include "graph/sparse.h"
#include "plan/plan.h"
#include "policies/cost_line.h"
#include <stdatomic.h>

/* How deep merges and batches may be nested. Each level costs the walk a frame. */
#define CW_PLAN_FRAMES_MAX 32

enum cw_step {
    CW_STEP_SOURCE,
    CW_STEP_INDEX, /* maps the position to a position of one input */
    /* changes nothing: cache and mark, and in a sparse pipeline take and skip, which the client
     * carries out */
    CW_STEP_PASS,
    CW_STEP_ELEMENT,
    CW_STEP_MERGE, /* joins one element of each input */
    CW_STEP_GROUP, /* joins several elements of its input */
    CW_STEP_INSIDE /* makes elements of the rows of an item, when all of these are computed */
};
/* How a node uses a cache. It is immutable, and lives until the plan ends. */
struct cw_plan_use {
    struct cw_plan_use *next;
    struct cw_cache_dataset *cache; /* holds one reference */
    bool read, write;
};
/* No more operators that move values are looked through than this. */
#define CW_PLAN_MOVES_MAX 64
/* No more operators are done together by strips than this. */
#define CW_PLAN_STRIPS_MAX 16
struct cw_plan_filter {
    uint16_t node;
    uint8_t number; /* among the filters of the written plan */
};
struct cw_plan_want {
    uint16_t node;
    bool moves; /* the operator changes places of the image's values (`region` in op.h) */
};
struct cw_plan_node {
    enum cw_step step;
    /* it is a random operator below a `freeze`: it draws as in epoch 0, repetition 0 */
    bool frozen;
    bool drawn; /* there is a random operator at the node or below it */
    /* NULL: no cache is used. Any thread reads it, with acquire order. */
    const struct cw_plan_use *_Atomic use;
    const struct cw_node *node;
    const struct cw_op *op;
    const void *opts;
    void *state;   /* what op->open returned */
    bool borrowed; /* the state belongs to another plan */
    /* For a surveyed operator some of whose elements are bad: the plan that computes them, to say what is wrong;
     * holds a reference. */
    struct cw_plan *survey;
    uint64_t tag;
    size_t inputs_n;
    const size_t *inputs;
    int64_t *in_n; /* number of elements of each input */
    int64_t n;     /* number of its elements; in a sparse pipeline as if none were left out */
    struct cw_spec out;
    const struct cw_spec *in; /* spec of input 0; NULL for a source */
    size_t *fields;
    size_t fields_n;
    struct cw_field_set fields_set;
    struct cw_motion_fields moved; /* what moves with these fields */
    /* Fields of the input that an element operator reads, and of the output that it writes:
     * what its facts say (ops/op_facts.h), else all. They are for measuring only. */
    struct cw_field_set reads, writes;
    /* for INDEX: positions are not mapped through it for many rows together, since the walk has to stop
     * there: to note `each`, or the position (AGAIN and POSITION in ops/op.h) */
    bool apart;
    /* For INDEX: a surveyed operator that takes elements apart (exec/take_apart.h); it is `apart` as well */
    bool parts;
    /* For an ELEMENT that may work on many elements at once (plan_many.c): the specs of these, with a first
     * dimension of any size. Otherwise NULL. */
    struct cw_spec *many_in, *many_out;
    bool same;     /* for ELEMENT: it works on whole elements and does not change their spec */
    int64_t group; /* for GROUP: number of input elements in one element */
    int64_t shift; /* for GROUP: element p begins with input element p * shift */
    size_t frames; /* depth to which merges and groups are nested at the node and below it */
    /* If only a part of the image that the node makes is needed: the nodes that it goes through, in
     * order, the crop last (next_want in op.h). want_n = 0: all of it may be needed. */
    struct cw_plan_want *want;
    size_t want_n;
    /* The node that puts channels first, if this one may do so as well (op.h makes_planes) and nobody else
     * reads it; else SIZE_MAX. */
    size_t planes_to;
    /* An operator that need not be called (graph/fold.h): the node itself if it has no effect, the one that does
     * its work if that comes next; else SIZE_MAX. */
    size_t folds_to;
    bool
        has_tries; /* calls are made only to know what they cost, or what they say (exec/op_try.h) */
    /* The operators whose work may be done together by strips of an image, this one first (plan_strips.c);
     * strips_n = 0: there is no such run. */
    uint16_t *strips;
    size_t strips_n;
    struct cw_hash files; /* hash of the files from which its elements are read */
    uint64_t ids;         /* ids of its elements are below this (plan_cacheable.c) */
};
struct cw_plan {
    _Atomic int refs;
    struct cw_checked *checked; /* holds one reference */
    struct cw_pads *pads;       /* that of `info`; holds one reference, or is NULL */
    uint64_t seed;
    uint32_t reader;      /* who may read its sources (io/source_root.h): whoever opened it */
    struct cw_stop *stop; /* holds one reference, or is NULL */
    /* With whom the indices of its sources are made while it is opened; NULL: with nobody. */
    struct cw_index_parts *index_parts;
    bool skips_bad; /* what surveys find to be bad is left out */
    /* A plan that only computes what comes out of a surveyed filter, or into an operator that takes elements apart
     * or needs values of a field, its last node (plan/survey.c), and borrows what another plan has open; SIZE_MAX, SIZE_MAX,
     * NULL: it is none, asks for no field, opens all itself. */
    size_t survey_top, survey_field;
    struct cw_plan *lent;
    /* The plan of the written graph, of which this is another order; holds a reference. NULL: this
     * is the written graph. */
    struct cw_plan *written;
    struct cw_plan *
        keeps; /* whose sources it has, without being an order of it; holds a reference, or is NULL */
    /* Every operator is called for each element, one after the other, and makes all of it (cw_plan_set_apart). */
    bool apart;
    bool unmeasured;      /* no call is timed (cw_plan_set_unmeasured) */
    size_t *written_node; /* for each node the written plan's of the same name, or SIZE_MAX */
    size_t n;
    struct cw_plan_node *nodes;
    /* For each node, where a walk continues: with self at the node itself, with passing at the next
     * node below that is not a PASS. */
    uint16_t *self, *passing;
    size_t output; /* dense: the last node; sparse: the node whose elements are the rows */
    /* The operators that work inside an item, or on what was made there, in order; empty if there are
     * none. What the last one gives is sent. */
    uint16_t *inside;
    size_t inside_n;
    /* The first filter, and those behind it to which an element can be shown where it comes to that one. */
    struct cw_plan_filter filters[CW_FILTERS_MAX];
    size_t filters_n;
    struct cw_sparse sparse;
    struct cw_plan_info info;
    struct cw_mutex uses_mutex;
    struct cw_plan_use *uses;      /* guarded by uses_mutex: list of all uses that were ever set */
    _Atomic int uses_n;            /* number of nodes that use a cache now */
    _Atomic uint64_t source_store; /* in which cache's store blocks of its files are kept */
    void *_Atomic exec;            /* the state that src/exec keeps with a plan */
    void (*_Atomic exec_free)(void *exec); /* frees that state when the plan is freed */
};

/* Goes one step down from an INDEX node: returns the number of the input, and sets *pos to the
 * position in it. May change *rep and *each. */
static inline size_t cw_plan_choose(const struct cw_plan *plan, const struct cw_plan_node *node,
                                    uint64_t epoch, int64_t *pos, uint64_t *rep, uint64_t *each)
{
    struct cw_at at = {.seed = plan->seed,
                       .epoch = epoch,
                       .tag = node->tag,
                       .rep = *rep,
                       .each = *each,
                       .in_n = node->in_n,
                       .n = node->n};
    size_t input = 0;
    *pos = node->op->map(node->opts, node->state, &at, *pos, &input);
    *rep = at.rep;
    *each = at.each;
    return input;
}
/* Does the same, and returns the input's node. `each` is not needed, or the node does not write it. */
static inline size_t cw_plan_map(const struct cw_plan *plan, const struct cw_plan_node *node,
                                 uint64_t epoch, int64_t *pos, uint64_t *rep)
{
    uint64_t each = 0;
    return node->inputs[cw_plan_choose(plan, node, epoch, pos, rep, &each)];
}
/* What an element's random streams know of repetitions. */
static inline uint64_t cw_plan_drawn_rep(uint64_t rep, uint64_t each)
{
    return each ? cw_mix64(rep + cw_mix64(each)) : rep;
}

/* ---- ids behind operators that choose from several inputs ---- */

/* Such an id is (id there << bits) + number of the input: no two fall together, and they do not depend on
 * how many elements any input has. An operator that is `apart` chooses its only input, and keeps its ids. */
static inline bool cw_plan_chooses(const struct cw_plan_node *node)
{
    return node->step == CW_STEP_INDEX && (node->inputs_n > 1 || node->apart);
}
static inline unsigned cw_plan_choice_bits(const struct cw_plan_node *node)
{
    return node->inputs_n > 1 ? 64 - (unsigned)__builtin_clzll(node->inputs_n - 1) : 0;
}
/* Ids that are hashes, behind a zip, are mixed instead: they have all bits already. */
static inline uint64_t cw_plan_pair_id(const struct cw_plan_node *node, uint64_t id, uint64_t input)
{
    unsigned bits = cw_plan_choice_bits(node);
    if (bits == 0)
        return id;
    return id >> (64 - bits) ? cw_mix64(id + cw_mix64(input + 1)) : id << bits | input;
}

/* Whether the plan is that of a survey that finds out how many parts elements have. */
static inline bool cw_plan_counts_parts(const struct cw_plan *plan)
{
    return plan->survey_top != SIZE_MAX && plan->survey_field == SIZE_MAX &&
           plan->checked->nodes[plan->survey_top].op->takes_apart;
}

/* What an item of a dense pipeline consists of: the rows of one element of a group, or a single
 * element (group = SIZE_MAX); and the element operators that are applied to the whole batch, last
 * first. */
struct cw_plan_item {
    size_t node; /* the node whose elements are the rows */
    size_t group;
    int64_t pos; /* position of the first row */
    int64_t rows;
    int64_t group_pos;
    uint64_t rep;
    size_t above_n;
    uint16_t above[CW_GRAPH_NODES_MAX];
};
/* Returns how many elements a group has whose first one is at this position. */
static inline int64_t cw_plan_group_rows(const struct cw_plan_node *node, int64_t first)
{
    return CW_MIN(node->group, node->in_n[0] - first);
}
/* Sets the node of each filter by its number; SIZE_MAX: there is none. Of the written plan. */
void cw_plan_filter_nodes(const struct cw_plan *plan, size_t ret_nodes[CW_FILTERS_MAX]);
void cw_plan_item(const struct cw_plan *plan, uint64_t epoch, uint64_t item,
                  struct cw_plan_item *ret_item);

#endif
