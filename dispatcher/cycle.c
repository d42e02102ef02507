/* SPDX-License-Identifier: Apache-2.0 */
/* The end of each turn of the loop: tell what had to wait until it was stored, lease, hand over
 * what was written; and the tick, the only timer, which runs only while there is somebody to
 * watch. */
#include "dispatcher/cache/cache.h"
#include "dispatcher/job/job.h"
#include "dispatcher/lease/lease.h"
#include "dispatcher/message/message.h"
#include "dispatcher/program.h"
#include "dispatcher/scaling/scaling.h"
#include "dispatcher/session/session.h"

#include <stdio.h>

#define RETRY_MIN_MS 100 /* after a transaction that failed; then twice as long, ... */
#define RETRY_MAX_MS 2000
#define TICK_BUSY_MS 250
#define TICK_CALM_MS 1000
/* after a start: how long known workers are waited for when the clients are back; then what they
 * hold is computed again */
#define WORKERS_BACK_MS 500

/* ---- what is stored ---- */

static void on_retry(void *arg)
{
    (void)arg; /* the end of this turn tries again */
}

static void wake_at_retry(struct cw_dispatcher *d)
{
    if (!d->retry)
        d->retry = cw_timer_new(d->loop, on_retry, d);
    cw_timer_start(d->retry, d->commit_pause_ms, 0);
}

static void on_not_stored(struct cw_dispatcher *d, const struct cw_err *err)
{
    cw_log_error(CW_LOG_MOD, "state.db cannot be written, it is tried again: %s", err->msg);
    d->commit_pause_ms = d->unwritten ? CW_MIN(2 * d->commit_pause_ms, RETRY_MAX_MS) : RETRY_MIN_MS;
    d->commit_retry_ms = cw_clock_ms() + d->commit_pause_ms;
    wake_at_retry(d);
    d->counts.commits_failed++;
    d->unwritten = true;
    snprintf(d->unwritten_why, sizeof(d->unwritten_why), "%.*s", (int)sizeof(d->unwritten_why) - 1,
             err->msg);
    cw_stored_waiters_answer(d, err);
}

static void on_stored(struct cw_dispatcher *d)
{
    cw_fault_point("dispatcher.after_commit");
    if (d->unwritten)
        cw_log_info(CW_LOG_MOD, "state.db is written again");
    d->unwritten = false;
    for (struct cw_job *job = d->jobs; job; job = job->next)
        job->stored = job->put && cw_state_is_stored(d->state, job->put_seq);
    cw_stored_waiters_answer(d, NULL);
}

static void collect(struct cw_dispatcher *d)
{
    struct cw_err err = {0};
    enum cw_state_result result = d->state ? cw_state_collect(d->state, &err) : CW_STATE_NOTHING;
    if (result == CW_STATE_NOT_STORED)
        on_not_stored(d, &err);
    else if (result == CW_STATE_STORED)
        on_stored(d);
}

static void commit(struct cw_dispatcher *d)
{
    if (!cw_state_is_waiting(d->state) || (d->unwritten && d->commit_retry_ms > cw_clock_ms()))
        return;
    cw_fault_point("dispatcher.before_commit");
    (void)cw_state_submit(d->state);
}

void cw_cycle_last(struct cw_dispatcher *d)
{
    struct cw_err err = {0};
    if (cw_state_commit(d->state, &err) == 0) {
        on_stored(d);
        return;
    }
    cw_log_error(CW_LOG_MOD, "the last progress is not stored: %s", err.msg);
    cw_stored_waiters_answer(d, &err);
}

static void tell_clients(struct cw_dispatcher *d)
{
    for (struct cw_client *client = d->clients, *next; client; client = next) {
        next = client->next;
        if (client->welcome_due && client->job->stored &&
            cw_state_is_stored(d->state, client->welcome_seq))
            cw_client_welcome(client);
        else if (client->job && !client->admitted && client->place_ms == 1)
            cw_client_admit(client); /* its place has become free; welcomed when that is stored */
    }
}

static void tell_workers(struct cw_dispatcher *d)
{
    for (struct cw_client *client = d->workers_changed ? d->clients : NULL; client;
         client = client->next)
        if (client->welcomed)
            cw_client_send_workers(client, false);
    d->workers_changed = false;
}

static void tell_window(struct cw_dispatcher *d, struct cw_job *job)
{
    uint64_t told = job->window_told, now = job->window;
    if (now <= told + told / 4 && now + now / 4 >= told)
        return;
    job->window_told = now;
    Cachew__V1__Window window = CACHEW__V1__WINDOW__INIT;
    window.items = now;
    Cachew__V1__ClientCommand command = CACHEW__V1__CLIENT_COMMAND__INIT;
    command.kind_case = CACHEW__V1__CLIENT_COMMAND__KIND_WINDOW;
    command.window = &window;
    for (struct cw_client *client = d->clients; client; client = client->next) {
        if (client->job == job && client->welcomed)
            cw_client_send(client, &command);
    }
}

/* After a restart a job goes on when those that knew it are back, or have been waited for long
 * enough. */
static void release_held(struct cw_dispatcher *d, int64_t now)
{
    for (struct cw_job *job = d->jobs; job; job = job->next) {
        if (job->hold_until_ms == 0)
            continue;
        bool missing = d->expected_workers.n > 0 && now - d->started_ms < WORKERS_BACK_MS;
        for (uint32_t c = 0; c < job->layout.consumers; c++)
            missing = missing || job->consumers[c].expected;
        if (missing && now < job->hold_until_ms)
            continue;
        job->hold_until_ms = 0;
        job->want_fill = true;
    }
}

void cw_cycle_end(void *dispatcher)
{
    struct cw_dispatcher *d = dispatcher;
    if (d->exited)
        return;
    collect(d);
    cw_clients_tell_failed(d);
    cw_cache_cycle_end(d);
    cw_clients_tell_left_out(d);
    tell_clients(d);
    cw_lease_send_stored(d);
    if (d->jobs_n > 0) {
        release_held(d, cw_clock_ms());
        if (d->assign_due)
            (void)cw_scaling_assign(d, cw_clock_ms());
        tell_workers(d);
        cw_lease_fill_all(d);
        cw_clients_tell_left_out(d); /* of the epochs that were opened for that */
        for (struct cw_job *job = d->jobs; job; job = job->next)
            tell_window(d, job);
    }
    cw_lease_send_stored(d);
    commit(d);
    cw_cycle_wake(d);
}

/* ---- time ---- */

int64_t cw_cycle_lost_ms(int64_t passed_ms, int64_t period_ms)
{
    return passed_ms > 2 * period_ms ? passed_ms - period_ms : 0;
}

static void move_on(int64_t *since_ms, int64_t lost_ms, int64_t now)
{
    if (*since_ms > 1) /* 0 and 1 are no times */
        *since_ms = CW_MIN(*since_ms + lost_ms, now);
}

/* While the dispatcher stood it heard nobody: what it waits for has had no chance, and what was
 * said meanwhile is still to be read. */
static void forgive(struct cw_dispatcher *d, int64_t lost_ms, int64_t now)
{
    if (lost_ms >= d->options.silence_ms / 2)
        cw_log_warn(
            CW_LOG_MOD,
            "the dispatcher stood for %lld ms: no worker or client counts as lost because of that",
            (long long)lost_ms);
    for (struct cw_worker *worker = d->workers; worker; worker = worker->next)
        move_on(&worker->heard_ms, lost_ms, now);
    for (struct cw_client *client = d->clients; client; client = client->next) {
        move_on(&client->since_ms, lost_ms, now);
        move_on(&client->place_ms, lost_ms, now);
    }
    for (struct cw_job *job = d->jobs; job; job = job->next) {
        move_on(&job->alone_ms, lost_ms, now);
        for (uint32_t c = 0; c < job->layout.consumers; c++)
            move_on(&job->consumers[c].gone_ms, lost_ms, now);
    }
}

static void note_stood(struct cw_dispatcher *d, int64_t now)
{
    int64_t lost_ms = d->tick_ms > 0 ? cw_cycle_lost_ms(now - d->ticked_ms, d->tick_ms) : 0;
    d->ticked_ms = now;
    if (lost_ms > 0)
        forgive(d, lost_ms, now);
}

static void on_tick(void *arg)
{
    struct cw_dispatcher *d = arg;
    int64_t now = cw_clock_ms();
    note_stood(d, now);
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

void cw_cycle_wake(struct cw_dispatcher *d)
{
    bool watches =
        d->workers || d->clients || d->expected_workers.n > 0 || !d->provision.kind->fixed;
    int64_t want = watches ? TICK_CALM_MS : 0;
    for (const struct cw_job *job = d->jobs; job; job = job->next) {
        bool waits = job->name[0] == '\0' || job->progress_dirty || job->row_dirty ||
                     (job->status == CW_JOB_FAILED && !job->stored);
        if (job->alone_ms == 0)
            want = TICK_BUSY_MS;
        else if (want == 0 && (waits || cw_job_usage_is_unstored(job)))
            want = TICK_CALM_MS;
    }
    /* A worker's silence is noticed within a quarter of the limit. */
    if (d->workers && want > 0)
        want = CW_MAX(CW_MIN(want, d->options.silence_ms / 4), 50);
    if (want == d->tick_ms)
        return;
    note_stood(d, cw_clock_ms());
    d->tick_ms = want;
    if (!d->tick)
        d->tick = cw_timer_new(d->loop, on_tick, d);
    if (want > 0)
        cw_timer_start(d->tick, want, want);
    else
        cw_timer_stop(d->tick);
}
