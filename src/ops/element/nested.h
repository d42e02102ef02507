/* SPDX-License-Identifier: Apache-2.0 */
/* Chains of element operators that stand in the options of another operator (random_apply, random_choice):
 * [{"op": "rotate", "degrees": 10}, {"op": "cast", "fields": ["image"], "dtype": "f32"}]. An operator of a chain draws from a
 * stream of its own, a fork of the stream that the chain is given. */
#ifndef CW_OPS_ELEMENT_NESTED_H
#define CW_OPS_ELEMENT_NESTED_H

#include "ops/op.h"

#define CW_NESTED_MAX 64 /* operators of a chain, and chains of an operator */

struct cw_nested; /* a chain, parsed; immutable */

/* Parses a chain. INVALID if an operator does not exist, cannot stand in a chain, or refuses its options. where: how
 * messages name the chain. */
int cw_nested_new(const struct cw_value *list, const char *where, struct cw_nested **ret_nested,
                  struct cw_err *err);
void cw_nested_free(struct cw_nested *nested);
/* The spec of what comes out of it. */
int cw_nested_infer(const struct cw_nested *nested, const struct cw_spec *in,
                    struct cw_spec *ret_out, struct cw_err *err);
/* Makes of *spec what elements of either spec are: dims that differ are not known. INVALID if their fields are not the
 * same; what: of what the other one is. */
int cw_nested_join(struct cw_spec *spec, const struct cw_spec *other, const char *what,
                   struct cw_err *err);
/* Whether one of its operators draws, or gives another result each time. */
bool cw_nested_draws(const struct cw_nested *nested);
bool cw_nested_varies(const struct cw_nested *nested);
/* Adds to what an operator says of itself (op_facts.h). facts->known is false from then on if the chain has an operator of
 * which nothing is known, or that adds, renames or drops fields. */
void cw_nested_facts(const struct cw_nested *nested, const struct cw_spec *in,
                     struct cw_op_facts *facts);
/* Writes down which fields its operators work on, and what else they take from the spec, in the list that it was parsed
 * from. Returns false if that cannot be said. */
bool cw_nested_pin(const struct cw_nested *nested, const struct cw_spec *in, struct cw_value *list);

/* Opens the operators of a chain, and closes them. */
int cw_nested_open(struct cw_nested *nested, const struct cw_op_open *how, struct cw_err *err);

/* What one thread needs to run a chain. */
struct cw_nested_run;
struct cw_nested_run *cw_nested_run_new(const struct cw_nested *nested) CW_MUST_CHECK;
void cw_nested_run_free(struct cw_nested_run *run);
/* Runs the chain on an element, whose spec is always ctx->in. rng: the stream of the chain. */
int cw_nested_apply(struct cw_nested_run *run, const struct cw_op_ctx *ctx,
                    const struct cw_rng *rng, struct cw_element *element, struct cw_err *err);

#endif
