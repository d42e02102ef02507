/* SPDX-License-Identifier: Apache-2.0 */
/* Whether two operators of a chain may change sides. It is decided from what the operators say of
 * themselves (ops/op_facts.h), in the order in which they were written, and holds whatever stands
 * between them. */
#ifndef CW_REWRITE_COMMUTE_H
#define CW_REWRITE_COMMUTE_H

#include "ops/op_facts.h"

/* An index operator with one input that only chooses and orders elements: their ids and values stay. */
enum cw_maps {
    CW_MAPS_NOT,  /* it is none */
    CW_MAPS_ONCE, /* it gives each element once at most */
    CW_MAPS_AGAIN /* it may give one several times, each time with other random numbers */
};
struct cw_chain_op {
    struct cw_op_facts facts;
    const struct cw_spec *in; /* of its input, as written; NULL: it says nothing of itself */
    enum cw_maps maps;
    bool draws;
};
/* Returns NULL if `up`, which is written behind `down`, may as well be done before it: every element
 * stays equal, bit for bit, and an element that is refused or left out in the one order is so in the
 * other. Where `up` is a filter, elements that it leaves out need not be refused by `down` any more.
 * Otherwise the reason, a sentence without its subject: "reads a field that the other writes". */
const char *cw_why_not_swapped(const struct cw_chain_op *down, const struct cw_chain_op *up);

#endif
