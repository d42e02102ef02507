/* SPDX-License-Identifier: Apache-2.0 */
/* Which number of workers the policy `auto` wants next, whether the present one was measured long
 * enough for that, and why, in words. The functions are pure but for `trial` and `reason`. */
#ifndef CW_POLICIES_SCALE_TARGET_H
#define CW_POLICIES_SCALE_TARGET_H

#include "policies/scale.h"
#include "policies/scale_explain.h"
#include "policies/scale_level.h"

/* a trainer that waits this part of what it may waits, if in doubt */
#define CW_SCALE_NEARLY_STALL 0.9
#define CW_SCALE_IN_A_ROW 4
#define CW_SCALE_WINDOWS_LEAST 3
#define CW_SCALE_WINDOWS_LEAST_LARGE 5
#define CW_SCALE_WINDOWS_MOST 12 /* the most windows that are averaged before a move */
/* Many workers show until then how a curve bends, since the right number tells little. */
#define CW_SCALE_AGE_BEND 29
#define CW_SCALE_MOVES_MOST 4
#define CW_SCALE_SURE 0.98
#define CW_SCALE_LIKELY                                                                            \
    0.5 /* a number that is right with this probability is measured to the end */

struct cw_scale_look { /* the input and the results of one decision */
    struct cw_scale_state *s;
    const struct cw_scale_options *options;
    /* the slowdown that is allowed, and the part of its time that the trainer may wait for that */
    double slack, stall;
    double most;
    struct cw_scale_level now; /* what was measured with the present number of workers */
    struct cw_scale_view view;
    /* the number that is right with the highest probability, and that of the present number */
    double best, best_right, here_right;
    struct cw_str *reason;
    bool trial;    /* the target is a trial, and not the number that is meant to stay */
    bool hopeless; /* the last window alone shows that the present number is no good */
};

/* Whether a batch is to be cheap, and not only fast. */
bool cw_scale_look_is_priced(const struct cw_scale_look *look);
/* Returns the number that is wanted next, and sets `trial`. */
double cw_scale_look_target(struct cw_scale_look *look);
/* Whether the present number was measured long enough for a move to this target. A few windows are
 * enough for a trial, and where more could not change the decision. */
bool cw_scale_look_is_measured(const struct cw_scale_look *look, double to);
/* Appends to `reason` why this target is right. */
void cw_scale_look_reason(const struct cw_scale_look *look, double to);

#endif
