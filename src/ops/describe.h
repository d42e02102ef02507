/* SPDX-License-Identifier: Apache-2.0 */
/* The operators for people and programs, from their tables: what `cachew ops` prints, and
 * docs/operators.md. */
#ifndef CW_OPS_DESCRIBE_H
#define CW_OPS_DESCRIBE_H

#include "ops/op.h"

/* Of one operator, or of all (op NULL: text is a list of one line each, JSON a list, markdown
 * the whole page). Each ends with a newline. */
void cw_ops_describe_text(const struct cw_op *op, struct cw_str *out);
void cw_ops_describe_json(const struct cw_op *op, struct cw_str *out);
void cw_ops_describe_markdown(const struct cw_op *op, struct cw_str *out);

#endif
