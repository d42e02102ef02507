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

#endif
