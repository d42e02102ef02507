/* SPDX-License-Identifier: Apache-2.0 */
/* What a node of one pipeline and a node of another one have in common if they cost the same: the operator, its options,
 * and the fields that come in. Where they stand and what they are named does not matter. */
#ifndef CW_REWRITE_OPERATOR_KEY_H
#define CW_REWRITE_OPERATOR_KEY_H

#include "graph/check.h"

/* Returns its hash. What a filter lets pass depends on the elements, so its input is part of that, too. */
struct cw_hash cw_operator_key(const struct cw_checked *checked, size_t node);

#endif
