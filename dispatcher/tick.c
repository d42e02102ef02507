/* SPDX-License-Identifier: Apache-2.0 */
/* The tick: the dispatcher's only timer that comes again and again. It runs only while there is
 * somebody to watch, and finds what is late. Time in which the dispatcher itself did not run is
 * counted against nobody. */
#include "dispatcher/job/job.h"
#include "dispatcher/program.h"
#include "dispatcher/scaling/scaling.h"
#include "dispatcher/session/session.h"

#define TICK_BUSY_MS 250 /* The period while a job has clients. */
#define TICK_CALM_MS 1000

int64_t cw_tick_stall_ms(int64_t passed_ms, int64_t period_ms)
{
    return passed_ms > 2 * period_ms ? passed_ms - period_ms : 0;
}

static void shift(int64_t *since_ms, int64_t stall_ms, int64_t now)
{
    if (*since_ms > 0)
        *since_ms = CW_MIN(*since_ms + stall_ms, now);
}

/* While the dispatcher did not run it received nothing. Peers had no chance to be heard, and their
 * messages of that time are still to be read. So all times since which something is waited for move
 * on. */
static void shift_deadlines(struct cw_dispatcher *d, int64_t stall_ms, int64_t now)
{
    if (stall_ms >= d->options.silence_ms / 2)
        cw_log_warn(
            CW_LOG_MOD,
            "the dispatcher stood for %lld ms: no worker or client counts as lost because of that",
            (long long)stall_ms);
    for (struct cw_worker *worker = d->workers; worker; worker = worker->next)
        shift(&worker->last_heard_ms, stall_ms, now);
    for (struct cw_client *client = d->clients; client; client = client->next) {
        shift(&client->since_ms, stall_ms, now);
        shift(&client->place_wait_ms, stall_ms, now);
    }
    for (struct cw_job *job = d->jobs; job; job = job->next) {
        shift(&job->no_client_ms, stall_ms, now);
        job->mistake_ms = job->mistake_ms == INT64_MAX ? INT64_MAX : 0; /* It is looked at anew. */
        for (uint32_t c = 0; c < job->layout.consumers; c++)
            shift(&job->consumers[c].gone_ms, stall_ms, now);
    }
}

static void note_stall(struct cw_dispatcher *d, int64_t now)
{
    int64_t stall_ms = d->tick_ms > 0 ? cw_tick_stall_ms(now - d->last_tick_ms, d->tick_ms) : 0;
    d->last_tick_ms = now;
    if (stall_ms > 0)
        shift_deadlines(d, stall_ms, now);
}

static void on_tick(void *arg)
{
    struct cw_dispatcher *d = arg;
    int64_t now = cw_clock_ms();
    note_stall(d, now);
    cw_accounting_tick(d, now);
    cw_worker_sessions_tick(d, now);
    cw_client_sessions_tick(d, now);
    for (struct cw_job *job = d->jobs, *next; job; job = next) {
        next = job->next;
        const char *over = cw_job_is_over(job, now);
        if (over)
            cw_clients_end_job(job, over);
        else
            cw_job_tick(job, now);
    }
    cw_scaling_tick(d, now);
    if (d->expected_workers.n > 0 && now - d->started_ms > d->options.grace_ms) {
        uint64_t id;
        void *value;
        for (size_t i = 0; cw_map_next(&d->expected_workers, &i, &id, &value);) {
            cw_state_remove_worker(d->state, id);
            cw_map_remove(&d->expected_workers, id);
        }
    }
}

void cw_tick_update(struct cw_dispatcher *d)
{
    bool watches =
        d->workers || d->clients || d->expected_workers.n > 0 || !d->provision.kind->fixed;
    int64_t want = watches ? TICK_CALM_MS : 0;
    for (const struct cw_job *job = d->jobs; job; job = job->next) {
        bool waits = job->name[0] == '\0' || job->due.progress || job->due.row ||
                     (job->status == CW_JOB_FAILED && !job->stored);
        if (job->no_client_ms == 0) {
            want = TICK_BUSY_MS;
            break;
        }
        if (want == 0 && (waits || cw_job_usage_is_unstored(job)))
            want = TICK_CALM_MS;
    }
    /* A worker's silence is then noticed within a quarter of the limit. */
    if (d->workers && want > 0)
        want = CW_MAX(CW_MIN(want, d->options.silence_ms / 4), 50);
    if (want == d->tick_ms)
        return;
    note_stall(d, cw_clock_ms());
    d->tick_ms = want;
    if (!d->tick)
        d->tick = cw_timer_new(d->loop, on_tick, d);
    if (want > 0)
        cw_timer_start(d->tick, want, want);
    else
        cw_timer_stop(d->tick);
}
