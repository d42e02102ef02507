/* SPDX-License-Identifier: Apache-2.0 */
/* What calls that wait look at now and then, because it may be set in a signal handler, where
 * nobody can be woken. */
#ifndef CW_CLIENT_CANCEL_H
#define CW_CLIENT_CANCEL_H

#include "base/thread.h"
#include "client/model/public.h"

#define CW_CANCEL_LOOK_MS 50
bool cw_cancel_is_set(const struct cachew_cancel *cancel); /* NULL: never */
/* Waits for the condition until the deadline (cw_clock_ns), or a look is due: the caller asks
 * again what it waits for. */
void cw_cancel_wait(const struct cachew_cancel *cancel, struct cw_cond *cond,
                    struct cw_mutex *mutex, int64_t deadline_ns);

#endif
