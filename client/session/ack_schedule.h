/* SPDX-License-Identifier: Apache-2.0 */
/* Decides when a client acknowledges what it has received and consumed: often enough that the
 * dispatcher never has to wait for an acknowledgement before it leases more. The dispatcher leases
 * up to a window beyond what is consumed. If a sparse pipeline's client has no finished batch, it
 * leases up to a window beyond what has been received (docs/protocol.md, section 4). The decision
 * is a pure function of this struct, which the session fills in. */
#ifndef CW_CLIENT_SESSION_ACK_SCHEDULE_H
#define CW_CLIENT_SESSION_ACK_SCHEDULE_H

#include <stdbool.h>
#include <stdint.h>

struct cw_ack_schedule {
    bool news;       /* There is something new to acknowledge. */
    uint64_t window; /* In items; 0 if the dispatcher has not said it yet. */
    /* While there is something new, an acknowledgement is sent at least this often; 0: the
     * dispatcher has not said it, so every 200 ms. */
    int64_t interval_ns;
    uint64_t consumed_n; /* The entries that were consumed since the last acknowledgement. */
    int64_t age_ns;      /* The time since the last acknowledgement. */
    bool starving;       /* Sparse jobs: no finished batch waits for the trainer. */
    /* Sparse jobs: the first item that has not been received, counted over all epochs in a row. */
    uint64_t first_missing;
    struct { /* What the last acknowledgement said. */
        bool starving;
        uint64_t first_missing;
        /* The first item that is not consumed, counted over all epochs in a row. */
        uint64_t unconsumed;
    } sent;
};
/* Returns whether to send an acknowledgement now. While there is nothing new it is an empty one,
 * and rare: a connection whose other end is gone without a word (its host lost its power) breaks
 * only when something is sent on it. */
bool cw_ack_schedule_is_due(const struct cw_ack_schedule *ack);

#endif
