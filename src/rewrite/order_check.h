/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a pipeline is another order of the operators of a written one in which every batch stays the
 * same, bit for bit. */
#ifndef CW_REWRITE_ORDER_CHECK_H
#define CW_REWRITE_ORDER_CHECK_H

#include "graph/check.h"

/* Nodes are the same if they have the same name, operator, options and fields. Of two that have changed
 * sides each pair must commute (commute.h). INVALID: it is no such order; the message names the nodes
 * and the reason. */
int cw_order_check(const struct cw_checked *written, const struct cw_checked *other,
                   struct cw_err *err);

/* Whether node i of one pipeline and node k of another work on, read and write fields of the same names. */
bool cw_order_is_same_use(const struct cw_checked *a, size_t i, const struct cw_checked *b,
                          size_t k);

#endif
