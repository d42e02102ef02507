/* SPDX-License-Identifier: Apache-2.0 */
/* What a worker holds, read from its own state: in a worker's program, beside the product. Its
 * address is learned when the worker is made (the linker leads main's call here). */
#include "base/interval.h"
#include "base/mem.h"
#include "worker/model/client.h"
#include "worker/model/job.h"
#include "worker/model/state.h"
#include "worker/worker.h"

#include "worker_held.h"

__typeof__(cw_worker_new) __real_cw_worker_new, __wrap_cw_worker_new;

struct cw_worker_state **sim_worker_at;

__typeof__(cw_mem_reserve) __wrap_cw_mem_reserve;

/* Address space for emergencies, which it keeps until it ends: none of it is needed here. */
void __wrap_cw_mem_reserve(size_t bytes)
{
    (void)bytes;
}

int __wrap_cw_worker_new(struct cw_loop *loop, const struct cw_worker_options *options,
                         struct cw_worker_state **ret_worker, struct cw_err *err)
{
    sim_worker_at = ret_worker;
    return __real_cw_worker_new(loop, options, ret_worker, err);
}

/* Nothing here allocates: it is asked in the world's context. */
void sim_worker_held(uint64_t *ret_leased, uint64_t *ret_outputs)
{
    const struct cw_worker_state *w = sim_worker_at ? *sim_worker_at : NULL;

    *ret_leased = *ret_outputs = 0;
    for (size_t i = 0; w && i < w->jobs.n; i++) {
        const struct cw_wjob *job = w->jobs.list[i];
        *ret_outputs += job->queued_n;
        for (size_t k = 0; k < job->epochs_n; k++)
            *ret_leased += cw_set_count(&job->epochs[k].held);
    }
    for (const struct cw_wclient *client = w ? w->clients : NULL; client; client = client->next)
        for (size_t k = 0; k < client->sent_n; k++)
            *ret_outputs += cw_set_count(&client->sent[k].items);
}
