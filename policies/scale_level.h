/* SPDX-License-Identifier: Apache-2.0 */
/* What was measured with one number of workers, from the windows of a policy's history. The
 * functions are pure. */
#ifndef CW_POLICIES_SCALE_LEVEL_H
#define CW_POLICIES_SCALE_LEVEL_H

#include "policies/scale.h"

/* A trainer that waits this part of its time is limited by its workers. */
#define CW_SCALE_WAITS 0.02

/* Computes the level of the present number of workers from the last windows of the state. Returns
 * false if fewer than two of them agree. */
bool cw_scale_level_now(const struct cw_scale_state *state, struct cw_scale_level *ret_level);
/* Computes the level of the last window alone (there must be one). Returns true if the trainer
 * waited nearly all of it and it took so long that this is no stumble of the machine. */
bool cw_scale_level_hopeless(const struct cw_scale_state *state, struct cw_scale_level *ret_level);
/* Whether no batch came in the window: half a batch is the most that there was. */
bool cw_scale_level_is_at_most(const struct cw_scale_window *window);
/* Does the same as cw_scale_level_now with the last `windows` windows at most. */
bool cw_scale_level_last(const struct cw_scale_state *state, size_t windows,
                         struct cw_scale_level *ret_level);
/* Returns the batches per second that the trainer would take: by its own steps and, where it hardly
 * waits, also by what it got, if the two agree. Local workers are not counted (`slower`). 0: unknown.
 * noise: relative, of one window. ret_weight: number of windows that would say it as exactly. */
double cw_scale_level_demand(const struct cw_scale_level *level, double noise, double *ret_weight);
/* Stores a level. It replaces that of the same number of workers, or the oldest one if there is no
 * room. */
void cw_scale_level_keep(struct cw_scale_state *state, const struct cw_scale_level *level);
/* Forgets the level of the fewest workers if many workers gave more than so many times as much:
 * then something disturbed the machine while it was measured. */
void cw_scale_level_mend(struct cw_scale_state *state);
/* Returns the relative noise of one window; a usual one is assumed until there are enough
 * windows. */
double cw_scale_level_noise(const struct cw_scale_state *state);

#endif
