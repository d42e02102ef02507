/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of src/plan that only its own files call. */
#ifndef CW_PLAN_PLAN_INT_H
#define CW_PLAN_PLAN_INT_H

#include "ops/index/fates.h"
#include "plan/plan_nodes.h"

/* Makes a plan with nothing but its graph, which cw_plan_unref accepts. */
struct cw_plan *cw_plan_alloc(struct cw_checked *checked, uint64_t seed, struct cw_stop *stop);
/* Gives source i of a second plan what its counterpart in the written plan has open. */
int cw_plan_borrow_source(const struct cw_plan *plan, struct cw_plan_node *node, size_t i,
                          struct cw_err *err);
/* Gives node i of a survey's plan what its counterpart in the plan that it is of has open. */
int cw_plan_borrow_lent(const struct cw_plan *plan, size_t i);
/* Returns the node of the written plan whose elements are those of node i of a second plan, since
 * the same operators are at it and below it; SIZE_MAX if there is none. */
size_t cw_plan_same_elements(const struct cw_plan *plan, size_t i);
/* Opens an operator with by_blocks (ops/op.h), whose inputs are compiled: finds the blocks of what comes in, or
 * takes the state from the written plan. */
int cw_plan_open_by_blocks(struct cw_plan *plan, size_t i, struct cw_op_open *how,
                           struct cw_err *err);
/* Fills plan->nodes from plan->checked: opens the operators, infers specs again with what the
 * sources know now, and counts elements. */
int cw_plan_compile(struct cw_plan *plan, const struct cw_value *manifest, struct cw_err *err);
/* What surveys do for nodes that are compiled. It is set by survey.c, which compiles plans itself. */
struct cw_plan_surveys {
    /* Puts an index operator in the place of a surveyed one, whose inputs are compiled. manifest: what that of
     * the job says of it; NULL: it is found out here. */
    int (*node)(struct cw_plan *plan, size_t i, const struct cw_value *manifest,
                struct cw_err *err);
    /* Finds out the values that an operator with surveyed_field needs, whose inputs are compiled, and what its
     * manifest says of them; the caller frees both. */
    int (*values)(struct cw_plan *plan, size_t i, const struct cw_value *manifest,
                  struct cw_fates *ret_fates, struct cw_survey_note *ret_note, struct cw_err *err);
};
void cw_plan_set_surveys(const struct cw_plan_surveys *surveys);
/* Takes the state of an operator with surveyed_field from the written plan. */
int cw_plan_borrow_values(const struct cw_plan *plan, size_t i, struct cw_err *err);
/* Fills plan->info from plan->nodes: divides the epoch into items. */
int cw_plan_cut(struct cw_plan *plan, struct cw_err *err);
/* Fills `want` of the node, once all nodes are compiled. */
void cw_plan_find_want(struct cw_plan *plan, size_t i);
/* Returns the next element operator that sees the node's elements, if it is the only one; else
 * SIZE_MAX. */
size_t cw_plan_next_operator(const struct cw_plan *plan, size_t i);
/* Fills `folds_to` of the node, once cw_plan_find_want was called for all, and this for the nodes behind it. */
void cw_plan_find_fold(struct cw_plan *plan, size_t i);
/* Fills `planes_to` of the node, once all nodes are compiled. */
void cw_plan_find_planes(struct cw_plan *plan, size_t i);
/* Fills `strips` of the node, once cw_plan_find_fold and cw_plan_find_planes were called for all. */
void cw_plan_find_strips(struct cw_plan *plan, size_t i);
/* Fills `many_in` and `many_out` of the node, once it is compiled. */
void cw_plan_find_many(struct cw_plan *plan, size_t i);
/* Fills `filters` of the plan and `has_tries` of its nodes, once cw_plan_find_many was called for all. */
void cw_plan_find_filters(struct cw_plan *plan);
/* Frees the spec of many elements; accepts NULL. */
void cw_plan_many_free(struct cw_spec *many);
/* Fills `files` and `drawn` of plan->nodes. */
void cw_plan_find_files(struct cw_plan *plan);
void cw_plan_free_uses(struct cw_plan *plan);

#endif
