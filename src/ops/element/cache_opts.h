/* SPDX-License-Identifier: Apache-2.0 */
/* The options of the operators `cache` and `mark`. Neither operator is ever called: the engine
 * skips them (plan/compile.c) and reads their options in graph/cacheable.c. */
#ifndef CW_OPS_ELEMENT_CACHE_OPTS_H
#define CW_OPS_ELEMENT_CACHE_OPTS_H

#include "ops/op_util.h"

struct cw_cache_opts {
    bool freeze;
};
#define CW_CACHE_FREEZE_ROW                                                                        \
    {                                                                                              \
        .name = "freeze", .help = "random operators before it draw as in the first epoch, always", \
        .type = CW_OPT_BOOL, .offset = offsetof(struct cw_cache_opts, freeze), .def = "false"      \
    }

#endif
