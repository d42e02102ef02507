/* SPDX-License-Identifier: Apache-2.0 */
#include "client/session/ack_schedule.h"

#include "base/compiler.h"

/* While there is something new, an acknowledgement is sent at least this often, if the dispatcher
 * has not said another time; and at least so often whatever it has said. */
#define ACK_NS 200000000
#define ACK_MAX_NS 2000000000
/* While there is nothing new, an empty acknowledgement is sent this often. */
#define ALIVE_NS 2000000000
#define GAP_NS 5000000 /* At most 200 are sent a second, unless the window is tiny. */
#define TINY_WINDOW 64

bool cw_ack_schedule_is_due(const struct cw_ack_schedule *ack)
{
    uint64_t window = CW_MAX(ack->window, 1), quarter = CW_MAX(window / 4, 1);
    if (!ack->news)
        return ack->age_ns >= ALIVE_NS;
    if (ack->age_ns >= (ack->interval_ns > 0 ? CW_MIN(ack->interval_ns, ACK_MAX_NS) : ACK_NS))
        return true;
    bool soon = window < TINY_WINDOW || ack->age_ns >= GAP_NS;
    if (ack->consumed_n >= quarter && soon)
        return true;
    if (!ack->starving)
        return false;
    /* From now on the dispatcher may count the window from what has come. */
    if (!ack->sent.starving && soon)
        return true;
    uint64_t end = ack->sent.unconsumed + window;
    if (ack->sent.starving)
        end = CW_MAX(end, ack->sent.first_missing + window);
    /* At the end of the window the workers would have nothing to compute. So the acknowledgement is
     * sent a quarter of the window earlier. */
    return ack->first_missing >= end || (soon && ack->first_missing + (window - quarter) >= end);
}
