/* SPDX-License-Identifier: Apache-2.0 */
/* Mistakes of a worker (planted.h). */
#include "planted.h"

#include "worker/model/output_queue.h"

/* SIM_PLANTED_OUTPUT: an output in fifty is counted as queued for its consumer, and is not. */
void __real_cw_outq_push(struct cw_outq *q, struct cw_output *output);
void __wrap_cw_outq_push(struct cw_outq *q, struct cw_output *output);
void __wrap_cw_outq_push(struct cw_outq *q, struct cw_output *output)
{
    if (sim_planted() != SIM_PLANTED_OUTPUT || !sim_one_in(50))
        __real_cw_outq_push(q, output);
}
