/* SPDX-License-Identifier: Apache-2.0 */
/* Cancelling of calls that wait. A signal handler may set a struct cachew_cancel, but it cannot
 * wake a thread; so calls that wait look at it at intervals. */
#ifndef CW_CLIENT_MODEL_CANCEL_H
#define CW_CLIENT_MODEL_CANCEL_H

#include "base/thread.h"
#include "client/model/public.h"

#define CW_CANCEL_LOOK_MS 50
/* NULL counts as a switch that is never set. */
bool cw_cancel_is_set(const struct cachew_cancel *cancel);
/* Waits for the condition until the deadline (cw_clock_ns), or until `cancel` (may be NULL) should
 * be looked at again. The caller then checks once more what it waits for. */
void cw_cancel_wait(const struct cachew_cancel *cancel, struct cw_cond *cond,
                    struct cw_mutex *mutex, int64_t deadline_ns);

#endif
