/* SPDX-License-Identifier: Apache-2.0 */
/* Decides when a client acknowledges what it has received and consumed: often enough that the
 * dispatcher never has to wait for an acknowledgement before it leases more. The dispatcher
 * leases up to a window beyond what is consumed; of a sparse pipeline whose client has no
 * finished batch, up to a window beyond what has been received (docs/protocol.md, section 4).
 * A pure function of this struct, which the session fills. */
#ifndef CW_CLIENT_SESSION_ACK_SCHEDULE_H
#define CW_CLIENT_SESSION_ACK_SCHEDULE_H

#include <stdbool.h>
#include <stdint.h>

struct cw_ack_schedule {
    bool news;              /* there is something to acknowledge */
    uint64_t window;        /* items; 0 = the dispatcher has not said */
    uint64_t consumed_n;    /* entries consumed since the last acknowledgement */
    int64_t age_ns;         /* time since the last acknowledgement */
    bool starving;          /* sparse: no finished batch waits for the trainer */
    uint64_t first_missing; /* sparse: the first item that has not been received, counted over all
                             * epochs in a row */
    struct {                /* what the last acknowledgement said */
        bool starving;
        uint64_t first_missing;
        uint64_t unconsumed; /* the first item not consumed, counted likewise */
    } sent;
};
/* Whether to send an acknowledgement now. Without news it is an empty one, and rare: a connection
 * whose other end is gone without a word (its host lost its power) breaks only when something is sent
 * on it. */
bool cw_ack_schedule_is_due(const struct cw_ack_schedule *ack);

#endif
