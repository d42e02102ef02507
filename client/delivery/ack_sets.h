/* SPDX-License-Identifier: Apache-2.0 */
/* The sets of items that a client reports to the dispatcher as received and consumed, in the form
 * of protobuf messages. Loop thread. */
#ifndef CW_CLIENT_DELIVERY_ACK_SETS_H
#define CW_CLIENT_DELIVERY_ACK_SETS_H

#include "cachew/v1/job.pb-c.h"
#include "client/delivery/ledger.h"

/* Sets of items in the form of an acknowledgement: one message for each epoch, which they own. */
struct cw_ack_sets {
    Cachew__V1__EpochSet **received, **consumed;
    size_t received_n, consumed_n;
};
/* Fills in what is new since the last call; `sets` must be zeroed before. The ledger forgets what
 * it hands out here. So the message with the sets must be sent, or else the connection is lost and
 * cw_ack_sets_all is sent on the next. */
void cw_ack_sets_take_new(struct cw_ack_sets *sets, struct cw_ledger *ledger);
/* Fills in everything that this consumer has, for the hello of a new connection. Nothing is new
 * afterwards. */
void cw_ack_sets_all(struct cw_ack_sets *sets, struct cw_ledger *ledger);
void cw_ack_sets_fini(struct cw_ack_sets *sets);
/* Returns the position up to which the trainer has consumed; in an unordered job, its first item
 * that is not consumed. */
void cw_ack_sets_position(const struct cw_ledger *ledger, Cachew__V1__Position *ret_position);

#endif
