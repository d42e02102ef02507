/* SPDX-License-Identifier: Apache-2.0 */
/* When a client acknowledges what it received and consumed: often enough that the dispatcher
 * never has to wait for it before it leases more. It leases up to a window beyond what is
 * consumed; of a sparse pipeline, while the client has no finished batch, up to a window beyond
 * what has come (docs/protocol.md, section 4). Pure. */
#ifndef CW_CLIENT_ACK_SCHEDULE_H
#define CW_CLIENT_ACK_SCHEDULE_H

#include <stdbool.h>
#include <stdint.h>

struct cw_ack {
    uint64_t window;     /* items, as the dispatcher said; 0 = it has not */
    uint64_t consumed_n; /* entries consumed since the last acknowledgement */
    int64_t age_ns;      /* of that */
    bool starving;       /* sparse: no finished batch waits for the trainer */
    uint64_t come;       /* sparse: the first item that has not come, of all epochs in a row */
    struct {             /* what the last one said */
        bool starving;
        uint64_t come, unconsumed;
    } told;
};
bool cw_ack_is_due(const struct cw_ack *ack);

#endif
