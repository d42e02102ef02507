/* SPDX-License-Identifier: Apache-2.0 */
/* Functions that several policies of scale.h use. */
#ifndef CW_POLICIES_SCALE_INT_H
#define CW_POLICIES_SCALE_INT_H

#include "policies/scale.h"

static inline double cw_scale_or(double given, double otherwise)
{
    return given > 0 ? given : otherwise;
}
/* The number of remote workers that the job can have now. */
static inline double cw_scale_remote_now(const struct cw_scale_available *available)
{
    return available->granted > 0 && available->granted < available->remote ? available->granted
                                                                            : available->remote;
}
/* Seconds per batch. */
double cw_scale_batch_s(const struct cw_scale_window *window);
/* Appends a window; drops the oldest when the history is full. */
void cw_scale_remember(struct cw_scale_state *state, const struct cw_scale_window *window);
/* The newest window of the history in which the job had another number of workers; or NULL. */
const struct cw_scale_window *cw_scale_other(const struct cw_scale_state *state, bool locals_count);
/* Medians over the last windows, which had the same workers; seconds are of one batch. False:
 * there are too few of these. */
#define CW_SCALE_MEDIAN_OF 3
bool cw_scale_medians(const struct cw_scale_state *state, struct cw_scale_window *ret_window);
/* Clamps to the limits of the options and to the workers that exist; at least 1 in all. */
double cw_scale_clamp(double remote, const struct cw_scale_available *available,
                      const struct cw_scale_options *options);
/* The same, and at most what the job can have now. */
double cw_scale_clamp_now(double remote, const struct cw_scale_available *available,
                          const struct cw_scale_options *options);
/* Whether n workers, which give t batches/s, are better than m < n, which give u: by the prices,
 * if they are known, else if each further one brings `least` of a usual one. */
bool cw_scale_pays(const struct cw_scale_options *options, double m, double u, double n, double t,
                   double least);
/* Sets the target in state and decision. */
void cw_scale_target(struct cw_scale_state *state, struct cw_scale_decision *decision,
                     double remote, double local);

#endif
