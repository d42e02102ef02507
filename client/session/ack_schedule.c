/* SPDX-License-Identifier: Apache-2.0 */
#include "client/session/ack_schedule.h"

#include "base/compiler.h"

#define ACK_NS 200000000 /* when there is news */
#define GAP_NS 5000000   /* at most 200 acknowledgements a second, unless the window is tiny */
#define TINY_WINDOW 64

bool cw_ack_schedule_is_due(const struct cw_ack_schedule *ack)
{
    uint64_t window = CW_MAX(ack->window, 1), quarter = CW_MAX(window / 4, 1);
    if (ack->age_ns >= ACK_NS)
        return true;
    bool soon = window < TINY_WINDOW || ack->age_ns >= GAP_NS;
    if (ack->consumed_n >= quarter && soon)
        return true;
    if (!ack->starving)
        return false;
    if (!ack->sent.starving && soon) /* the window counts otherwise from now on */
        return true;
    uint64_t end = ack->sent.unconsumed + window;
    if (ack->sent.starving)
        end = CW_MAX(end, ack->sent.first_missing + window);
    /* At its end nothing more comes; a quarter of it is time enough to be told of more before
     * that. */
    return ack->first_missing >= end || (soon && ack->first_missing + (window - quarter) >= end);
}
