/* SPDX-License-Identifier: Apache-2.0 */
/* Derives from what a few numbers of workers gave what any number would give. The functions are
 * pure.
 *
 *   given by n workers   the smallest of what the trainer takes, a ceiling (source, store, network,
 *                        CPU or a quota give no more), and
 *                          n r / (1 + a (n - 1) + b n (n - 1))
 *     a, contention        each further worker costs the others some of their rate
 *     b, congestion        too many workers give less in total
 *
 * a, b and the ceiling are taken to be absent unless the measurements need them. */
#ifndef CW_POLICIES_SCALE_FIT_H
#define CW_POLICIES_SCALE_FIT_H

#include "policies/scale.h"

struct cw_scale_fit {
    double rate; /* rate of one worker that nothing holds up; 0: nothing is known */
    double contention, congestion;
    double ceiling; /* in batches/s; INFINITY: none was met */
    double demand;  /* rate at which the trainer would take batches; INFINITY: unknown */
    /* sum of squared errors in units of the noise, with a penalty for what was assumed */
    double misfit;
    double noise; /* relative standard deviation of one window */
    double error; /* relative standard deviation of the knee */
    /* the smallest and largest numbers of workers that were tried while the trainer waited */
    double least, most;
    /* the smallest number gave as much as the largest, so it is not known what fewer give */
    bool flat;
};

/* Computes the level of the present number of workers from the last windows of the state. Returns
 * false if fewer than two of them agree. */
bool cw_scale_level_now(const struct cw_scale_state *state, struct cw_scale_level *ret_level);
/* Stores a level. It replaces that of the same number of workers, or the oldest one if there is no
 * room. */
void cw_scale_level_keep(struct cw_scale_state *state, const struct cw_scale_level *level);
/* Forgets the level of the fewest workers if many workers gave more than so many times as much:
 * then something disturbed the machine while it was measured. */
void cw_scale_level_mend(struct cw_scale_state *state);
struct cw_scale_fit cw_scale_fit_levels(const struct cw_scale_state *state);
double cw_scale_fit_gives(const struct cw_scale_fit *fit, double n);
/* Returns the smallest number of workers, as a fraction, that gives the most of any number up to
 * `most`, less the slack. */
double cw_scale_fit_knee(const struct cw_scale_fit *fit, double most, double slack);

#endif
