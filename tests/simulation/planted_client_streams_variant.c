/* SPDX-License-Identifier: Apache-2.0 */
/* worker/serve/client_streams.c with SIM_PLANTED_BROKEN and SIM_PLANTED_LEASED. Either would show
 * nothing by itself: a worker that sees the end of a client's stream hands back what it had sent and
 * nobody has acknowledged, which frees what those mistakes do not free. So here it does not. */
#include "planted.h"
#include "worker/compute/outputs.h"
#include "worker/message/to_dispatcher.h"
#include "worker/model/state.h"

#define cw_report_hand_back(worker, job_id, epoch, items)                                          \
    (sim_planted() == SIM_PLANTED_BROKEN || sim_planted() == SIM_PLANTED_LEASED                    \
         ? (void)0                                                                                 \
         : cw_report_hand_back(worker, job_id, epoch, items))

/* SIM_PLANTED_BUDGET: one in a hundred. */
static void release(struct cw_wjob *job, struct cw_output *output)
{
    size_t bytes = output->held;

    cw_output_release(job, output);
    if (sim_planted() != SIM_PLANTED_BUDGET || !sim_one_in(100))
        return;
    job->bytes += bytes;
    job->worker->memory.bytes += bytes;
}
#define cw_output_release release
#include "worker/serve/client_streams.c"
