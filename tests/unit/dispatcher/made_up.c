/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/dispatcher/made_up.h"

#include "base/clock.h"
#include "dispatcher/cache/cache.h"
#include "dispatcher/job/job.h"
#include "dispatcher/session/session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct cw_dispatcher made_up;
static char *state_dir;

int made_up_begin(void **state)
{
    (void)state;
    memset(&made_up, 0, sizeof(made_up));
    made_up.loop = cw_loop_new();
    /* An hour of silence: a test that is held up for some seconds has lost no worker. */
    made_up.options = (struct cw_options){
        .silence_ms = 3600000, .lease_ms = 2000, .max_jobs = 10, .deaths_max = 3};
    return 0;
}

int made_up_begin_caching(void **state)
{
    made_up_begin(state);
    made_up.options.cache_store = "mem:test";
    made_up.options.cache_evict = cw_evict_find("lru");
    cw_cache_service_open(&made_up);
    made_up.cache->timer = cw_timer_new(made_up.loop, NULL, NULL);
    return 0;
}

int made_up_end(void **state)
{
    (void)state;
    cw_worker_sessions_close(&made_up);
    while (made_up.jobs)
        cw_job_free(made_up.jobs);
    cw_timer_free(made_up.tick);
    if (made_up.cache)
        cw_timer_free(made_up.cache->timer);
    cw_strmap_fini(&made_up.jobs_by_id);
    cw_tenants_close(&made_up);
    cw_loop_free(made_up.loop);
    cw_cache_service_free(&made_up);
    return 0;
}

int made_up_begin_stored(void **state)
{
    const char *tmp = getenv("TMPDIR");
    struct cw_err err = {0};
    state_dir = cw_mem_printf("%s/cachew-made-up-XXXXXX", tmp ? tmp : "/tmp");
    (void)made_up_begin(state);
    made_up.options.state_dir = state_dir;
    return mkdtemp(state_dir) && cw_state_open(state_dir, 0, &made_up.state, &err) == 0 ? 0 : -1;
}

int made_up_end_stored(void **state)
{
    static const char *const names[] = {"state.db", "state.db-wal", "state.db-shm", "lock"};
    (void)made_up_end(state);
    cw_state_close(made_up.state);
    for (size_t i = 0; i < CW_ARRAY_LEN(names); i++) {
        cw_autofree char *path = cw_mem_printf("%s/%s", state_dir, names[i]);
        (void)unlink(path);
    }
    (void)rmdir(state_dir);
    cw_mem_free(state_dir);
    return 0;
}

struct cw_worker *made_up_worker(uint64_t id, uint32_t threads)
{
    struct cw_worker *worker = CW_NEW(struct cw_worker);
    worker->d = &made_up;
    worker->id = id;
    worker->said_hello = true;
    worker->last_heard_ms = cw_clock_ms();
    worker->threads = threads;
    worker->address = cw_mem_strdup("worker");
    worker->only_job = cw_mem_strdup("");
    worker->next = made_up.workers;
    made_up.workers = worker;
    made_up.workers_n++;
    cw_worker_recount(worker);
    return worker;
}

struct cw_job *made_up_job(const char *id, Cachew__V1__JobOptions *options,
                           Cachew__V1__PlanInfo *info)
{
    struct cw_job *job =
        cw_job_new(&made_up, id, options, cachew__v1__graph__unpack(NULL, 0, NULL), cw_buf_new(0));
    struct cw_err err = {0};
    assert_int_equal(cw_job_set_info(job, info, &err), 0);
    job->status = CW_JOB_RUNNING;
    job->stored = true;
    cw_job_leases_due(job);
    job->no_client_ms = 0;
    return job;
}

const char *made_up_name(const char *tenant, struct cw_hash key, unsigned n)
{
    static char names[4][200];
    static int next;
    char text[CW_HASH_TEXT_BYTES], *name = names[next++ % 4];
    cw_hash_text(key, text);
    snprintf(name, 200, "%s/%s/%u-10-%016x.chunk", tenant, text, 10 * n, n + 1);
    return name;
}

struct cw_catalogue_chunk *made_up_chunk(const char *tenant, struct cw_hash key, unsigned n,
                                         uint64_t bytes, int64_t created_ms)
{
    struct cw_catalogue_chunk *chunk =
        cw_catalogue_put(made_up.cache->catalogue, made_up_name(tenant, key, n), bytes, created_ms);
    assert_non_null(chunk);
    return chunk;
}

void made_up_ack(struct cw_job *job, uint32_t consumer, uint64_t epoch, uint64_t lo, uint64_t hi,
                 bool consumed)
{
    Cachew__V1__Interval interval = CACHEW__V1__INTERVAL__INIT, *intervals[] = {&interval};
    Cachew__V1__EpochSet set = CACHEW__V1__EPOCH_SET__INIT, *sets[] = {&set};
    interval.lo = lo;
    interval.hi = hi;
    set.epoch = epoch;
    set.n_items = 1;
    set.items = intervals;
    struct cw_ack ack = {.received = sets, .consumed = sets};
    *(consumed ? &ack.consumed_n : &ack.received_n) = 1;
    cw_job_ack_init(job, &ack);
    for (bool more = true; more;)
        assert_int_equal(cw_job_ack(job, consumer, &ack, &more, NULL), 0);
}
