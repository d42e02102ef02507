/* SPDX-License-Identifier: Apache-2.0 */
/* The sets of items that a client reports to the dispatcher as received and consumed, in the form
 * of protobuf messages. Loop thread. */
#ifndef CW_CLIENT_DELIVERY_ACK_SETS_H
#define CW_CLIENT_DELIVERY_ACK_SETS_H

#include "cachew/v1/job.pb-c.h"
#include "client/delivery/ledger.h"

struct cw_ack_sets { /* one message an epoch; owned */
    Cachew__V1__EpochSet **received, **consumed;
    size_t received_n, consumed_n;
};
/* What is new since the last call. The ledger forgets it: the message that has it must be sent,
 * or the connection be lost, after which cw_ack_sets_all is sent. `sets` is zeroed before. */
void cw_ack_sets_take_new(struct cw_ack_sets *sets, struct cw_ledger *ledger);
/* All that this consumer has: for the hello of a new connection. Nothing is new afterwards. */
void cw_ack_sets_all(struct cw_ack_sets *sets, struct cw_ledger *ledger);
void cw_ack_sets_fini(struct cw_ack_sets *sets);
/* The position up to which the trainer has consumed; of an unordered job, its first item that was
 * not consumed. */
void cw_ack_sets_position(const struct cw_ledger *ledger, Cachew__V1__Position *ret_position);

#endif
