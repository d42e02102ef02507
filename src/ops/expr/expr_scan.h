/* SPDX-License-Identifier: Apache-2.0 */
/* How long numbers and words are in the text of an expression. */
#ifndef CW_OPS_EXPR_EXPR_SCAN_H
#define CW_OPS_EXPR_EXPR_SCAN_H

#include "ops/expr/expr.h"

/* s begins with a digit, or with a point and a digit. */
size_t cw_expr_number_length(const char *s);
/* A word is the name of a field or of a function, or a constant. */
size_t cw_expr_word_length(const char *s);

#endif
