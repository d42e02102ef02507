/* SPDX-License-Identifier: Apache-2.0 */
/* Operators at the ends of the branches of a `zip` done behind it, where a filter on another branch may come before
 * them: images are then decoded for those labels only that are kept. The pipeline that comes out gives the same
 * elements, and from then on all of it that has to do with order (chain.h, problem.h, apply.h) looks at that one. */
#ifndef CW_REWRITE_HOIST_H
#define CW_REWRITE_HOIST_H

#include "graph/check.h"

/* Returns the pipeline with all such operators behind the zip, as a new reference, or NULL if there is none, or none that
 * a filter behind the zip could pass. It has the names and the fingerprint of the written one, and its nodes are pinned
 * (pin.h). An operator is one if it is an element operator that says all of itself, draws nothing, is read by the zip
 * or by another one alone, is not held where it stands, and does the same there. stays: by node, those that are left
 * where they are; NULL: none is. */
struct cw_checked *cw_hoist(const struct cw_checked *written, const bool *stays) CW_MUST_CHECK;
/* The same with those alone that stand behind the zip in an order of the nodes, by their names; or in another graph of
 * them. */
struct cw_checked *cw_hoist_by(const struct cw_checked *written, char *const *order,
                               size_t n) CW_MUST_CHECK;
struct cw_checked *cw_hoist_like(const struct cw_checked *written,
                                 const struct cw_checked *other) CW_MUST_CHECK;

#endif
