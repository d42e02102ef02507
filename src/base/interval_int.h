/* SPDX-License-Identifier: Apache-2.0 */
/* What interval.c and interval_merge.c share. */
#ifndef CW_BASE_INTERVAL_INT_H
#define CW_BASE_INTERVAL_INT_H

#include "base/interval.h"

/* Adds an interval that begins no lower than the last one of the set does: O(1). */
void cw_set_push(struct cw_set *set, uint64_t lo, uint64_t hi);

#endif
