/* SPDX-License-Identifier: Apache-2.0 */
/* Maps the positions of many rows together through the index operators (shuffle, take, shard, ...),
 * which costs far less than mapping one position at a time. */
#ifndef CW_EXEC_POSITIONS_H
#define CW_EXEC_POSITIONS_H

#include "exec/thread_context.h"

#define CW_POSITIONS_MAX 128

struct cw_positions {
    size_t n;
    int64_t pos[CW_POSITIONS_MAX];
    uint64_t rep[CW_POSITIONS_MAX];
};
/* A run of positions, in memory of who maps them. */
struct cw_position_run {
    size_t n;
    int64_t *pos;
    uint64_t *rep;
};
/* Whether the element at a node's position, once that is mapped, has this position as its id. It has not behind an
 * operator that chooses from several inputs. */
bool cw_positions_are_ids(const struct cw_plan *plan, size_t node);
/* Returns the id of an element of a node that chooses. *rep and *each, those at the node, become those of
 * the element. */
uint64_t cw_positions_chosen_id(const struct cw_plan *plan, uint64_t epoch, size_t node,
                                int64_t pos, uint64_t *rep, uint64_t *each);
/* Whether there are index operators between the node and the next source, merge or batch. */
bool cw_positions_help(const struct cw_plan *plan, size_t node);
/* Maps the positions of the node's elements down through the index operators to the first node that
 * is none, and returns that node. Calls are counted in `work`, unless it is NULL. */
size_t cw_positions_map(const struct cw_plan *plan, uint64_t epoch, struct cw_thread_context *work,
                        size_t node, const struct cw_position_run *positions);

#endif
