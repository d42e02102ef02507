/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CW_TESTS_RANGES_H
#define CW_TESTS_RANGES_H

#include "base/interval.h"

/* A set of one interval, which lives as long as the block in which it stands. It is only read. */
#define RANGE(lo_, hi_)                                                                            \
    (&(const struct cw_set){                                                                       \
        .v = (struct cw_interval[]){{(lo_), (hi_)}}, .n = 1, .cap = 1, .count = (hi_) - (lo_)})

#endif
