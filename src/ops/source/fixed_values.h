/* SPDX-License-Identifier: Apache-2.0 */
/* What a record of `fixed_records` is, as its options say. */
#ifndef CW_OPS_SOURCE_FIXED_VALUES_H
#define CW_OPS_SOURCE_FIXED_VALUES_H

#include "conf/opt.h"
#include "data/spec.h"

extern const char *const cw_fixed_dtypes[];
enum { CW_FIXED_STR = 0 };
/* word: index into cw_fixed_dtypes. */
enum cw_dtype cw_fixed_dtype(int word);
/* Returns how many values a record has; 0: too many. */
uint64_t cw_fixed_values(const struct cw_i64_list *dims);

#endif
