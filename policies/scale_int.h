/* SPDX-License-Identifier: Apache-2.0 */
/* What the policies of scale.h share. */
#ifndef CW_POLICIES_SCALE_INT_H
#define CW_POLICIES_SCALE_INT_H

#include "policies/scale.h"

static inline double cw_scale_or(double given, double otherwise)
{
    return given > 0 ? given : otherwise;
}
/* Remote workers that it can have now. */
static inline double cw_scale_remote_now(const struct cw_scale_available *available)
{
    return available->granted > 0 && available->granted < available->remote ? available->granted
                                                                            : available->remote;
}
/* Seconds a batch takes. */
double cw_scale_batch_s(const struct cw_scale_window *window);
/* Appends; the oldest goes when it is full. */
void cw_scale_remember(struct cw_scale_state *state, const struct cw_scale_window *window);
/* The newest window in the history before the last one that had other workers; NULL. */
const struct cw_scale_window *cw_scale_other(const struct cw_scale_state *state, bool locals_count);
/* Medians over the last windows, which had the same workers; seconds are of one batch. False:
 * there are too few of these. */
#define CW_SCALE_MEDIAN_OF 3
bool cw_scale_medians(const struct cw_scale_state *state, struct cw_scale_window *ret_window);
/* Within the limits of options and of what there is; at least 1 in all. */
double cw_scale_clamp(double remote, const struct cw_scale_available *available,
                      const struct cw_scale_options *options);
/* The same, and no more than it can have now. */
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
