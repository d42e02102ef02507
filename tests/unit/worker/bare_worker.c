/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/worker/bare_worker.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/mem.h"
#include "worker/compute/outputs.h"
#include "worker/model/lease.h"

struct cw_worker_state *bare_new(void)
{
    struct cw_worker_state *w = CW_NEW(struct cw_worker_state);
    w->budget = BARE_BUDGET;
    w->threads = 1;
    w->shm.listen_fd = -1;
    w->pool = cw_shm_pool_new(BARE_BUDGET);
    w->exec = cw_exec_new(1);
    return w;
}

static void job_free(struct cw_wjob *job)
{
    cw_outputs_clear(job);
    cw_wlease_clear(job);
    for (size_t i = 0; i < job->epochs_n; i++) {
        cw_set_fini(&job->epochs[i].held);
        cw_set_fini(&job->epochs[i].done);
    }
    cw_mem_free(job->epochs);
    cw_mem_free(job->queues);
    cw_mem_free(job->clients);
    cw_mem_free(job->id);
    cw_mem_free(job);
}

void bare_free(struct cw_worker_state *w)
{
    for (size_t i = 0; i < w->jobs.n; i++)
        job_free(w->jobs.list[i]);
    cw_strmap_fini(&w->jobs.by_id);
    cw_mem_free(w->jobs.list);
    cw_map_fini(&w->shm.lent);
    cw_exec_free(w->exec);
    cw_shm_pool_free(w->pool);
    cw_mem_free(w);
}

struct cw_wjob *bare_job(struct cw_worker_state *w, const char *id, uint32_t consumers)
{
    struct cw_wjob *job = CW_NEW(struct cw_wjob);
    job->worker = w;
    job->id = cw_mem_strdup(id);
    job->consumers = consumers;
    job->part = 1;
    job->queues = CW_NEW_ARRAY(struct cw_outq, consumers);
    job->clients = CW_NEW_ARRAY(struct cw_wclient *, consumers);
    (void)cw_strmap_set(&w->jobs.by_id, id, job);
    CW_GROW(w->jobs.list, w->jobs.n, w->jobs.cap);
    w->jobs.list[w->jobs.n++] = job;
    return job;
}

void bare_lease(struct cw_wjob *job, uint64_t counter, uint64_t epoch, uint64_t lo, uint64_t hi)
{
    Cachew__V1__LeaseId id = CACHEW__V1__LEASE_ID__INIT;
    struct cw_set items = {0};
    Cachew__V1__Lease lease = CACHEW__V1__LEASE__INIT;
    id.counter = counter;
    cw_set_add(&items, lo, hi);
    lease.lease = &id;
    lease.job_id = job->id;
    lease.epoch = epoch;
    cw_wlease_add(job, &lease, &items);
    cw_set_fini(&items);
}

struct cw_output *bare_output(struct cw_wjob *job, uint64_t epoch, uint64_t item, size_t bytes,
                              bool to_all)
{
    struct cw_batch *batch = cw_batch_new(0);
    batch->epoch = epoch;
    batch->item = item;
    batch->buf = cw_buf_new(bytes);
    assert_non_null(batch->buf);
    struct cw_output *output = cw_output_new(batch, (struct cw_lease_id){0, 1});
    cw_set_add(&cw_wjob_epoch(job, epoch)->held, item, item + 1);
    job->bytes += output->held;
    job->worker->memory.bytes += output->held;
    job->queued_n++;
    for (uint32_t i = 0; i < (to_all ? job->consumers : 1); i++) {
        output->copies++;
        cw_outq_push(&job->queues[i], output);
    }
    return output;
}
