/* SPDX-License-Identifier: Apache-2.0 */
/* Mistakes that are planted to see whether the simulation finds them (run --plant N): the linker
 * leads the product's calls here. With 0 the product is as it is. */
#include "planted.h"

#ifdef SIM_PLANTED_DISPATCHER
#include "dispatcher/state/state.h"

/* SIM_PLANTED_PROMISE: what is promised is told before it is stored. */
bool __real_cw_state_is_stored(const struct cw_state *state, uint64_t seq);
bool __wrap_cw_state_is_stored(const struct cw_state *state, uint64_t seq);
bool __wrap_cw_state_is_stored(const struct cw_state *state, uint64_t seq)
{
    return sim_planted() == SIM_PLANTED_PROMISE || __real_cw_state_is_stored(state, seq);
}
#endif

#ifdef SIM_PLANTED_WORKER
#include "worker/model/output_queue.h"

/* SIM_PLANTED_OUTPUT: an output in fifty is counted as queued for its consumer, and is not. */
void __real_cw_outq_push(struct cw_outq *q, struct cw_output *output);
void __wrap_cw_outq_push(struct cw_outq *q, struct cw_output *output);
void __wrap_cw_outq_push(struct cw_outq *q, struct cw_output *output)
{
    if (sim_planted() != SIM_PLANTED_OUTPUT || !sim_one_in(50))
        __real_cw_outq_push(q, output);
}
#endif

#ifdef SIM_PLANTED_TRAINER
#include "cachew/cachew.h"

/* SIM_PLANTED_TOKEN: a token counts the batch as consumed that was given out last, whatever it was asked. */
int __real_cachew_job_token(struct cachew_job *job, int with_last, void *ret_token, size_t cap,
                            size_t *ret_bytes, struct cachew_error *error);
int __wrap_cachew_job_token(struct cachew_job *job, int with_last, void *ret_token, size_t cap,
                            size_t *ret_bytes, struct cachew_error *error);
int __wrap_cachew_job_token(struct cachew_job *job, int with_last, void *ret_token, size_t cap,
                            size_t *ret_bytes, struct cachew_error *error)
{
    return __real_cachew_job_token(job, sim_planted() == SIM_PLANTED_TOKEN ? 1 : with_last,
                                   ret_token, cap, ret_bytes, error);
}
#endif
