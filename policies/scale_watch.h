/* SPDX-License-Identifier: Apache-2.0 */
/* Finds out whether what a policy has learnt about a job's workers is still true. A single odd
 * window does not count, but several that show the same do, and so does a mean that has drifted.
 * The functions are pure. */
#ifndef CW_POLICIES_SCALE_WATCH_H
#define CW_POLICIES_SCALE_WATCH_H

#include "policies/scale.h"

/* number of windows after a change in which a policy may move freely */
#define CW_SCALE_AGE_FREE 28
#define CW_SCALE_WINDOWS_DRIFT 16 /* number of windows that a mean needs to show a drift */

/* Lets the policy move again, because something has changed. */
void cw_scale_look_anew(struct cw_scale_state *state);
/* Does the second half of the following: compares a policy's rest with what it was when it settled.
 * Returns true if something has changed. */
bool cw_scale_watch_rest(struct cw_scale_state *state, double stall);
/* Does the same when what was measured while it rested contradicts what was measured before: less than
 * otherwise shows then that something has changed, rather than that it was wrong from the beginning. */
bool cw_scale_watch_doubted(struct cw_scale_state *state, double stall);
/* Examines the history, including the last window, and forgets what is not true any more. stall:
 * part of its time that the trainer may wait. */
void cw_scale_watch(struct cw_scale_state *state, double stall);

#endif
