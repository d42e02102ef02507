/* SPDX-License-Identifier: Apache-2.0 */
/* Two operators on one element, in either order. */
#ifndef CW_TESTS_UNIT_REWRITE_TWO_OPS_H
#define CW_TESTS_UNIT_REWRITE_TWO_OPS_H

#include "graph/infer.h"
#include "rewrite/commute.h"

/* A node of its own: an operator with options and fields. */
struct one_op {
    const char *text; /* "random_flip {\"p\": 1} image,other" */
    struct cw_node node;
    struct cw_checked_node checked;
    struct cw_spec in;
    void *state;
    void *scratch;
};
/* Parses the text. */
void one_op_parse(const char *text, struct one_op *ret_op);
/* Infers what comes out for this spec; returns < 0 if the operator does not take it. */
int one_op_infer(struct one_op *op, const struct cw_spec *in);
/* Chooses for `to` by their names the fields that were left to the default in `from`, whose spec was
 * inferred: operators are moved only with such things made explicit. */
void one_op_pin(const struct one_op *from, struct one_op *to);
void one_op_facts(const struct one_op *op, struct cw_chain_op *ret_op);
void one_op_fini(struct one_op *op);

enum outcome { KEPT, DROPPED, REFUSED };
/* Applies an operator whose spec was inferred; its random stream is that of its text and of the id. */
enum outcome one_op_apply(struct one_op *op, struct cw_arena *arena, uint64_t id,
                          struct cw_element *element);
/* Whether dtypes, shapes and bytes are equal. */
bool same_elements(const struct cw_element *a, const struct cw_element *b);

#endif
