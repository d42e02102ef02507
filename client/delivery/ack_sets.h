/* SPDX-License-Identifier: Apache-2.0 */
/* What the dispatcher is told of items received and consumed, as messages. Loop thread. */
#ifndef CW_CLIENT_ACK_SETS_H
#define CW_CLIENT_ACK_SETS_H

#include "cachew/v1/job.pb-c.h"
#include "client/delivery/ledger.h"

struct cw_report {
    Cachew__V1__EpochSet **received, **consumed;
    size_t received_n, consumed_n;
};
/* What is new; forgotten by `deliver` with this. */
void cw_report_news(struct cw_report *report, struct cw_deliver *deliver);
/* All that this consumer has (a reconnect). Nothing is new any more. */
void cw_report_all(struct cw_report *report, struct cw_deliver *deliver);
void cw_report_fini(struct cw_report *report);
void cw_report_position(const struct cw_deliver *deliver, Cachew__V1__Position *ret_position);

#endif
