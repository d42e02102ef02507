/* SPDX-License-Identifier: Apache-2.0 */
/* All explanations of what a few numbers of workers gave (scale_fit.h), and how probable each is.
 * The functions are pure. */
#ifndef CW_POLICIES_SCALE_EXPLAIN_H
#define CW_POLICIES_SCALE_EXPLAIN_H

#include "policies/scale_sights.h"

#define CW_SCALE_FITS_MOST 24

struct cw_scale_view {
    struct cw_scale_sights sights[CW_SCALE_TRUSTS];
    /* the probable explanations, the most probable first; their probabilities are 1 together */
    struct cw_scale_fit fits[CW_SCALE_FITS_MOST];
    size_t n;      /* 0: nothing is known */
    double misfit; /* of the most probable one, in units of the noise */
    double demand; /* rate at which the trainer would take batches; INFINITY: unknown */
    double apart;  /* difference of two rates that a few windows show */
    double most;   /* largest number of workers that is possible */
};

/* The view must stay where it is: its explanations point into it. */
void cw_scale_explain(struct cw_scale_view *ret_view, const struct cw_scale_measured *measured);
/* Returns the probability that so many workers are right: no fewer than the knee, and no more than
 * one above it, or 5 %. */
double cw_scale_is_right(const struct cw_scale_view *view, double workers);
/* Returns the number that is right with the highest probability, the fewest of several. */
double cw_scale_rightest(const struct cw_scale_view *view, double *ret_probability);
/* Returns the number whose trial is the best next step, if one more can follow: here, if that is as
 * good as another one. */
double cw_scale_most_telling(const struct cw_scale_view *view, double here);
/* Returns the probability that too many workers give less: then the curve bends. */
double cw_scale_bends(const struct cw_scale_view *view);
/* Returns the probability that so many workers are right if the best explanation for it holds: what
 * more windows could still improve. */
double cw_scale_sharpness(const struct cw_scale_view *view, double workers);

#endif
