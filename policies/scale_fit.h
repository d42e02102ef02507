/* SPDX-License-Identifier: Apache-2.0 */
/* From what a few numbers of workers gave: what any number would give. Pure.
 *
 *   given by n workers   the smallest of what the trainer takes, a ceiling (source, store, network,
 *                        CPU or a quota give no more), and
 *                          n r / (1 + a (n - 1) + b n (n - 1))
 *     a, contention        each further worker costs the others
 *     b, congestion        too many give less
 *
 * What a few numbers of workers gave does not need is taken to be none: a, b, the ceiling. */
#ifndef CW_POLICIES_SCALE_FIT_H
#define CW_POLICIES_SCALE_FIT_H

#include "policies/scale.h"

struct cw_scale_fit {
    double rate; /* of one worker that nothing holds up; 0 = nothing is known */
    double contention, congestion;
    double ceiling;     /* batches/s; INFINITY = none was met */
    double demand;      /* of the trainer; INFINITY = unknown */
    double misfit;      /* sum of squares over what noise explains, and for what was assumed */
    double noise;       /* of one window, relative, standard deviation */
    double error;       /* of the knee: relative, standard deviation */
    double least, most; /* numbers of workers that were tried while the trainer waited */
    bool flat; /* the least of them gave as much as the most: what fewer give is not known */
};

/* What the last windows of the state, which had the same number of workers, say. False: fewer than
 * two of them agree. */
bool cw_scale_level_now(const struct cw_scale_state *state, struct cw_scale_level *ret_level);
/* The level replaces that of the same number, or the oldest when there is no room. */
void cw_scale_level_keep(struct cw_scale_state *state, const struct cw_scale_level *level);
/* Forgets the fewest workers if many gave more than so many times of them: the machine stumbled
 * while these were measured. */
void cw_scale_level_mend(struct cw_scale_state *state);
struct cw_scale_fit cw_scale_fit_levels(const struct cw_scale_state *state);
double cw_scale_fit_gives(const struct cw_scale_fit *fit, double n);
/* The fewest, as a fraction, that give the most of any number up to `most`, but for `slack`. */
double cw_scale_fit_knee(const struct cw_scale_fit *fit, double most, double slack);

#endif
