/* SPDX-License-Identifier: Apache-2.0 */
/* Whether what a policy has found about a job's workers is still true: one odd window is no news,
 * but several that say the same are, and so is a mean that has drifted. Pure. */
#ifndef CW_POLICIES_SCALE_WATCH_H
#define CW_POLICIES_SCALE_WATCH_H

#include "policies/scale.h"

#define CW_SCALE_AGE_FREE 28      /* windows after news in which a policy looks around */
#define CW_SCALE_WINDOWS_DRIFT 16 /* that a mean needs to say that something has drifted */

/* Something is new: it may move again. */
void cw_scale_look_anew(struct cw_scale_state *state);
/* Looks at the history, the last window included, and forgets what is not true any more. stall:
 * share of its time that the trainer may wait. */
void cw_scale_watch(struct cw_scale_state *state, double stall);

#endif
