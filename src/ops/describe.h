/* SPDX-License-Identifier: Apache-2.0 */
/* Describes operators for people and programs, from their tables: the output of `cachew ops`, and
 * docs/operators.md. */
#ifndef CW_OPS_DESCRIBE_H
#define CW_OPS_DESCRIBE_H

#include "ops/op.h"

/* Describes one operator, or all of them (op NULL: one line each as text, a list as JSON, the whole
 * page as markdown). Ends with a newline. */
void cw_ops_describe_text(const struct cw_op *op, struct cw_str *out);
void cw_ops_describe_json(const struct cw_op *op, struct cw_str *out);
void cw_ops_describe_markdown(const struct cw_op *op, struct cw_str *out);

#endif
