/* SPDX-License-Identifier: Apache-2.0 */
/* worker/serve/client_streams.c with SIM_PLANTED_BROKEN and SIM_PLANTED_LEASED. Either would show
 * nothing by itself: a worker that sees the end of a client's stream hands back what it had sent and
 * nobody has acknowledged, which frees what those mistakes do not free. So here it does not. */
#include "planted.h"
#include "worker/message/to_dispatcher.h"

#define cw_report_hand_back(worker, job_id, epoch, items)                                          \
    (sim_planted() == SIM_PLANTED_BROKEN || sim_planted() == SIM_PLANTED_LEASED                    \
         ? (void)0                                                                                 \
         : cw_report_hand_back(worker, job_id, epoch, items))
#include "worker/serve/client_streams.c"
