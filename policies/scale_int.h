/* SPDX-License-Identifier: Apache-2.0 */
/* Functions that several policies of scale.h use. */
#ifndef CW_POLICIES_SCALE_INT_H
#define CW_POLICIES_SCALE_INT_H

#include "policies/scale.h"

static inline double cw_scale_or(double given, double otherwise)
{
    return given > 0 ? given : otherwise;
}
/* Returns the number of remote workers that the job can have now. */
static inline double cw_scale_remote_now(const struct cw_scale_available *available)
{
    return available->granted > 0 && available->granted < available->remote ? available->granted
                                                                            : available->remote;
}
/* Returns the median of at most CW_SCALE_HISTORY values. */
double cw_scale_median(const double *v, size_t n);
/* Returns the seconds that a batch took. */
double cw_scale_batch_s(const struct cw_scale_window *window);
/* Appends a window; drops the oldest when the history is full. */
void cw_scale_remember(struct cw_scale_state *state, const struct cw_scale_window *window);
/* Returns the newest window of the history in which the job had another number of workers, or
 * NULL. */
const struct cw_scale_window *cw_scale_other(const struct cw_scale_state *state, bool locals_count);
/* Clamps to the limits of the options and to the workers that exist; at least 1 in all. */
double cw_scale_clamp(double remote, const struct cw_scale_available *available,
                      const struct cw_scale_options *options);
/* Does the same, and also clamps to the number that the job can have now. */
double cw_scale_clamp_now(double remote, const struct cw_scale_available *available,
                          const struct cw_scale_options *options);
/* Sets the target in state and decision. */
void cw_scale_target(struct cw_scale_state *state, struct cw_policy_decision *decision,
                     double remote, double local);

#endif
