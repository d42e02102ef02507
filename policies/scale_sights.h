/* SPDX-License-Identifier: Apache-2.0 */
/* What the levels of a policy say about a job's workers and its trainer, as sights that explanations
 * (scale_fit.h) can be compared with. The functions are pure. */
#ifndef CW_POLICIES_SCALE_SIGHTS_H
#define CW_POLICIES_SCALE_SIGHTS_H

#include "policies/scale.h"
#include "policies/scale_fit.h"

struct cw_scale_measured {
    struct cw_scale_level levels[CW_SCALE_LEVELS];
    size_t n;
    double noise; /* relative, of one window */
    double most;  /* largest number of workers that is possible */
    double slack; /* slowdown that is allowed at the knee */
    bool local;   /* some of them may be local ones */
};
/* What is believed of the rate that workers report of themselves. */
enum cw_scale_trust {
    CW_SCALE_TRUST_GIVEN, /* nothing, if they gave less than that */
    CW_SCALE_TRUST_RATE,  /* they could give it: what they gave less has its cause elsewhere */
    CW_SCALE_TRUST_FREE,  /* they could give more, by what their threads waited */
    CW_SCALE_TRUST_NONE,  /* nothing at all: for what the others do not explain */
    CW_SCALE_TRUSTS,
};
/* Returns false if this trust would change nothing. ret_prior: how much more, or less, probable it
 * is before anything is explained. */
bool cw_scale_sights(const struct cw_scale_measured *measured, enum cw_scale_trust trust,
                     struct cw_scale_sights *ret_sights, double *ret_prior);

#endif
