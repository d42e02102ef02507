/* SPDX-License-Identifier: Apache-2.0 */
/* Decimal numbers in text, read fast, to the nearest float, and the same bits on every processor. */
#ifndef CW_FORMAT_DECIMAL_H
#define CW_FORMAT_DECIMAL_H

#include <stdbool.h>

#include "data/spec.h"

/* A number as it is written: its value is mantissa * 10^exponent unless it has too many digits. */
struct cw_decimal {
    uint64_t mantissa;
    int32_t exponent;
    bool is_negative;
    bool is_integer; /* it has neither point nor exponent */
    bool is_long;    /* it has more than 19 digits: mantissa and exponent do not say it all */
    const char *text;
    size_t n;
};
enum cw_decimal_grammar {
    CW_DECIMAL_JSON, /* as JSON allows */
    CW_DECIMAL_CSV   /* also +1, 01, .5 and 5. */
};
/* Reads the longest number at p, which ends at `end` at the latest. Returns where it ends, or NULL if
 * there is none. */
const char *cw_decimal_scan(const char *p, const char *end, enum cw_decimal_grammar grammar,
                            struct cw_decimal *ret_decimal);
/* Writes the number as a value of a dtype that is neither bool, str nor f16. Returns false if the
 * dtype is one of integers and the number has a point or is out of its range, or if it is beyond the
 * largest float. Floats are the nearest ones, ties to even; of a number for f32, too. */
bool cw_decimal_put(const struct cw_decimal *decimal, enum cw_dtype dtype, void *dst);

#endif
