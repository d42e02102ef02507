/* SPDX-License-Identifier: Apache-2.0 */
/* The table of powers that decimal.c multiplies with. */
#ifndef CW_FORMAT_DECIMAL_INT_H
#define CW_FORMAT_DECIMAL_INT_H

#include "base/compiler.h"

#define CW_POW5_MIN (-64)
#define CW_POW5_MAX 64
extern const uint64_t cw_pow5[CW_POW5_MAX - CW_POW5_MIN + 1][2];

#endif
