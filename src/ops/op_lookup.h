/* SPDX-License-Identifier: Apache-2.0 */
/* How operators whose options name other operators (random_apply) find these. The list of all operators names such an
 * operator, so that one cannot name the list: who finds operators by the list says so here. Any thread. */
#ifndef CW_OPS_OP_LOOKUP_H
#define CW_OPS_OP_LOOKUP_H

struct cw_op;

/* A function that finds an operator by its name, or returns NULL. */
typedef const struct cw_op *cw_op_lookup_fn(const char *name);
/* Says which function it is; it is always the same. */
void cw_op_lookup_set(cw_op_lookup_fn *find);
const struct cw_op *cw_op_lookup(const char *name);

#endif
