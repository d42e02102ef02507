/* SPDX-License-Identifier: Apache-2.0 */
/* The end of each turn of the loop: commit what was written, tell what had to wait for that, lease; and the tick, the only timer, which
 * runs only while there is somebody to watch. */
#include "dispatcher/caching.h"
#include "dispatcher/provision.h"
#include "dispatcher/scaling.h"
#include "dispatcher/tenants.h"

#define TICK_BUSY_MS 250
#define TICK_CALM_MS 1000
#define WORKERS_BACK_MS 500 /* after a start: how long known workers are waited for when the clients are back; then what they hold is computed again */

void cw_turn_unwritten(struct cw_dispatcher *d, const struct cw_err *err)
{
    cw_log_error(CW_LOG_MOD, "state is not written, tried again soon: %s", err->msg);
    d->commit_retry_ms = cw_clock_ms() + 1000;
    d->counts.commits_failed++;
    cw_caching_unwritten(d);
    cw_tenants_unwritten(d);
    for (struct cw_job *job = d->jobs, *next; job; job = next) {
        next = job->next;
        if (job->put && !job->stored) {
            job->put = false;
            cw_job_fail(job, err->code, err->msg);
            continue;
        }
        job->row_dirty = job->progress_dirty = true;
        job->usage_stored = (struct cw_usage){0};
        for (size_t i = 0; i < job->epochs_open; i++)
            job->epochs[i]->dirty = true;
        for (uint32_t c = 0; c < job->layout.consumers; c++)
            job->consumers[c].position_dirty = job->consumers[c].client_id != 0;
    }
}

static void commit(struct cw_dispatcher *d)
{
    if (!cw_state_is_dirty(d->state))
        return;
    struct cw_err err = {0};
    cw_fault_point("dispatcher.before_commit");
    if (cw_state_commit(d->state, &err) != 0) {
        cw_turn_unwritten(d, &err);
        return;
    }
    cw_fault_point("dispatcher.after_commit");
    for (struct cw_job *job = d->jobs; job; job = job->next)
        job->stored = job->put;
}

static void tell_clients(struct cw_dispatcher *d)
{
    for (struct cw_client *client = d->clients, *next; client; client = next) {
        next = client->next;
        if (client->welcome_due && client->job->stored)
            cw_client_welcome(client);
        else if (client->job && !client->admitted && client->place_ms == 1)
            cw_client_admit(client); /* its place has become free; welcomed at the end of the next turn */
    }
}

static void tell_workers(struct cw_dispatcher *d)
{
    for (struct cw_client *client = d->workers_changed ? d->clients : NULL; client; client = client->next)
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

/* After a restart a job goes on when those that knew it are back, or have been waited for long enough. */
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

void cw_turn_end(void *dispatcher)
{
    struct cw_dispatcher *d = dispatcher;
    if (d->exited)
        return;
    cw_caching_turn(d);
    commit(d);
    tell_clients(d);
    if (d->jobs_n > 0) {
        release_held(d, cw_clock_ms());
        if (d->assign_due)
            (void)cw_scaling_assign(d, cw_clock_ms());
        tell_workers(d);
        cw_lease_fill_all(d);
        for (struct cw_job *job = d->jobs; job; job = job->next)
            tell_window(d, job);
    }
    commit(d);
    cw_turn_wake(d);
}

static void on_tick(void *arg)
{
    struct cw_dispatcher *d = arg;
    int64_t now = cw_clock_ms();
    cw_usage_tick(d, now);
    cw_fleet_tick(d, now);
    cw_clients_tick(d, now);
    for (struct cw_job *job = d->jobs, *next; job; job = next) {
        next = job->next;
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

void cw_turn_wake(struct cw_dispatcher *d)
{
    bool watches = d->workers || d->clients || d->expected_workers.n > 0 || !d->provision.kind->fixed;
    int64_t want = watches ? TICK_CALM_MS : 0;
    for (const struct cw_job *job = d->jobs; job; job = job->next) {
        bool waits = job->name[0] == '\0' || job->progress_dirty || job->row_dirty || (job->status == CW_JOB_FAILED && !job->stored);
        if (job->alone_ms == 0)
            want = TICK_BUSY_MS;
        else if (waits && want == 0)
            want = TICK_CALM_MS;
    }
    /* A worker's silence is noticed within a quarter of the limit. */
    if (d->workers && want > 0)
        want = CW_MAX(CW_MIN(want, d->options.silence_ms / 4), 50);
    if (want == d->tick_ms)
        return;
    d->tick_ms = want;
    if (!d->tick)
        d->tick = cw_timer_new(d->loop, on_tick, d);
    if (want > 0)
        cw_timer_start(d->tick, want, want);
    else
        cw_timer_stop(d->tick);
}
