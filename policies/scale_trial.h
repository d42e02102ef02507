/* SPDX-License-Identifier: Apache-2.0 */
/* Which numbers of workers were tried, and which one is worth a trial. The functions are pure. */
#ifndef CW_POLICIES_SCALE_TRIAL_H
#define CW_POLICIES_SCALE_TRIAL_H

#include "policies/scale.h"

struct cw_scale_tried { /* numbers of workers that were tried while the trainer waited */
    double n, least, most, least_gave, most_given;
    bool before; /* others were tried before a change */
};
struct cw_scale_tried cw_scale_tried_by(const struct cw_scale_state *state);
/* Returns a number far above the right one, or below it, that was not tried yet: there it shows how
 * a curve bends on which too many workers give less. 0: there is none. most: the largest number. */
double cw_scale_trial_of_bend(const struct cw_scale_state *state, double right, double most);
/* Whether n is such a number, tried or not. */
bool cw_scale_shows_bend(double n, double right, double most);

#endif
