/* SPDX-License-Identifier: Apache-2.0 */
/* Where rows come from, for many rows at once: index operators are asked for runs of positions,
 * which costs them far less than one at a time. */
#ifndef CW_EXEC_POSITIONS_H
#define CW_EXEC_POSITIONS_H

#include "exec/thread_context.h"

#define CW_POSITIONS_MAX 128

struct cw_positions {
    size_t n;
    int64_t pos[CW_POSITIONS_MAX];
    uint64_t rep[CW_POSITIONS_MAX];
};
/* Whether the way down from the node has index operators before it branches. */
bool cw_positions_help(const struct cw_plan *plan, size_t node);
/* Takes positions of the node's elements down through its index operators, as far as it does not
 * branch: to the node that is returned. Counts in `work`, unless NULL. */
size_t cw_positions_map(const struct cw_plan *plan, uint64_t epoch, struct cw_thread_context *work,
                        size_t node, struct cw_positions *positions);

#endif
