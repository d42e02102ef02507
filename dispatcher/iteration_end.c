/* SPDX-License-Identifier: Apache-2.0 */
/* The end of each loop iteration: it sends what had to wait until it was stored, gives new leases,
 * and hands over what was written. */
#include "dispatcher/cache/cache.h"
#include "dispatcher/job/job.h"
#include "dispatcher/lease/lease.h"
#include "dispatcher/message/message.h"
#include "dispatcher/optimize/plan_change.h"
#include "dispatcher/program.h"
#include "dispatcher/scaling/scaling.h"
#include "dispatcher/session/session.h"

#include <stdio.h>
#include "base/limits.h"

/* The pause after a failed transaction. It doubles with each further failure. */
#define RETRY_MIN_MS 100
#define RETRY_MAX_MS 2000
/* After a start, when all clients are back, known workers are waited for no longer than this. Then
 * the items that they hold are computed again. */
#define WORKERS_BACK_MS 500

/* ---- storing ---- */

static void on_retry(void *arg)
{
    (void)arg; /* The timer only wakes the loop: the end of the iteration tries again. */
}

static void wake_at_retry(struct cw_dispatcher *d)
{
    if (!d->retry)
        d->retry = cw_timer_new(d->loop, on_retry, d);
    cw_timer_start(d->retry, d->commit_pause_ms, 0);
}

static void set_unwritten(struct cw_dispatcher *d, bool unwritten)
{
    d->unwritten = unwritten;
    if (d->server) /* no more, when it has stopped */
        cw_server_set_ready(d->server, !unwritten);
}

static void on_not_stored(struct cw_dispatcher *d, const struct cw_err *err)
{
    cw_log_error(CW_LOG_MOD, "state.db cannot be written, it is tried again: %s", err->msg);
    d->commit_pause_ms = d->unwritten ? CW_MIN(2 * d->commit_pause_ms, RETRY_MAX_MS) : RETRY_MIN_MS;
    d->commit_retry_ms = cw_clock_ms() + d->commit_pause_ms;
    wake_at_retry(d);
    d->counts.commits_failed++;
    set_unwritten(d, true);
    snprintf(d->unwritten_why, sizeof(d->unwritten_why), "%.*s", (int)sizeof(d->unwritten_why) - 1,
             err->msg);
    cw_stored_waiters_answer(d, err);
}

static void note_stored_rows(struct cw_dispatcher *d)
{
    bool left = false;
    for (struct cw_job *job = d->due.stored_rows ? d->jobs : NULL; job; job = job->next) {
        job->stored = job->row_written && cw_state_is_stored(d->state, job->row_seq);
        left = left || (job->row_written && !job->stored);
    }
    d->due.stored_rows = left;
}

static void on_stored(struct cw_dispatcher *d)
{
    cw_fault_point("dispatcher.after_commit");
    if (d->unwritten)
        cw_log_info(CW_LOG_MOD, "state.db is written again");
    set_unwritten(d, false);
    note_stored_rows(d);
    cw_cache_attached_stored(d);
    cw_leaving_stored(d);
    cw_stored_waiters_answer(d, NULL);
}

static void collect(struct cw_dispatcher *d)
{
    struct cw_err err = {0};
    enum cw_state_result result = d->state ? cw_state_collect(d->state, &err) : CW_STATE_NOTHING;
    if (result == CW_STATE_STORED)
        cw_fault_point("dispatcher.before_answer");
    cw_lead_check(d);
    if (result == CW_STATE_NOT_STORED)
        on_not_stored(d, &err);
    else if (result == CW_STATE_STORED)
        on_stored(d);
}

static void commit(struct cw_dispatcher *d)
{
    if (!cw_state_is_waiting(d->state) || (d->unwritten && d->commit_retry_ms > cw_clock_ms()) ||
        cw_fault_rare("dispatcher.commit_late"))
        return;
    cw_fault_point("dispatcher.before_commit");
    (void)cw_state_submit(d->state);
}

void cw_iteration_commit_last(struct cw_dispatcher *d)
{
    struct cw_err err = {0};
    int rc = cw_state_commit(d->state, &err);
    cw_lead_check(d);
    if (rc == 0) {
        on_stored(d);
        return;
    }
    cw_log_error(CW_LOG_MOD, "the last progress is not stored: %s", err.msg);
    cw_stored_waiters_answer(d, &err);
}

/* Welcomes a client, makes a piece of its welcome, or tries to admit it. Returns whether something of that
 * remains due. */
static bool serve_client(struct cw_client *client)
{
    if (client->due.rest || (client->due.welcome && client->job->stored &&
                             cw_state_is_stored(client->d->state, client->welcome_seq))) {
        cw_client_welcome(client);
    } else if (client->due.admission) {
        client->due.admission = false;
        if (client->job && !client->admitted)
            cw_client_admit(client); /* The client is welcomed when its admission is stored. */
    }
    return client->due.rest || client->due.welcome || client->due.admission;
}

static void serve_clients(struct cw_dispatcher *d)
{
    struct cw_client *client = d->due.clients ? d->clients : NULL;
    bool left = false;
    d->due.clients = false;
    for (struct cw_client *next; client; client = next) {
        next = client->next;
        left = serve_client(client) || left;
    }
    d->due.clients = d->due.clients || left;
}

/* By more than a quarter. */
static bool differs(uint64_t sent, uint64_t now)
{
    return now > sent + sent / 4 || now + now / 4 < sent;
}

static void send_window(struct cw_job *job, uint32_t ack_ms)
{
    uint64_t sent = job->window_sent, now = job->window;
    if (!differs(sent, now) && !differs(job->ack_ms_sent, ack_ms))
        return;
    job->window_sent = now;
    job->ack_ms_sent = ack_ms;
    Cachew__V1__Window window = CACHEW__V1__WINDOW__INIT;
    window.items = now;
    window.ack_ms = ack_ms;
    Cachew__V1__ClientCommand command = CACHEW__V1__CLIENT_COMMAND__INIT;
    command.kind_case = CACHEW__V1__CLIENT_COMMAND__KIND_WINDOW;
    command.window = &window;
    for (struct cw_client *client = job->clients; client; client = client->next_of_job)
        if (client->welcomed)
            cw_client_send(client, &command);
}

/* Of jobs that were given leases, since that moves windows; and of all when they are to acknowledge at
 * another interval. */
static void send_windows(struct cw_dispatcher *d)
{
    const uint32_t ack_ms = cw_ack_interval_ms(d);
    bool all = differs(d->ack_ms_sent, ack_ms);
    if (all)
        d->ack_ms_sent = ack_ms;
    for (struct cw_job *job = all ? d->jobs : d->due_jobs; job;
         job = all ? job->next : job->next_due)
        send_window(job, ack_ms);
}

/* After a restart a job goes on when the clients and workers that knew it are back, or were waited
 * for long enough. */
static void release_held(struct cw_dispatcher *d, int64_t now)
{
    bool left = false;
    for (struct cw_job *job = d->due.held_jobs ? d->jobs : NULL; job; job = job->next) {
        if (job->hold_until_ms == 0)
            continue;
        bool missing = d->expected_workers.n > 0 && now - d->started_ms < WORKERS_BACK_MS;
        for (uint32_t c = 0; c < job->layout.consumers; c++)
            missing = missing || job->consumers[c].expected;
        if (missing && now < job->hold_until_ms) {
            left = true;
            continue;
        }
        job->hold_until_ms = 0;
        cw_job_leases_due(job);
    }
    d->due.held_jobs = left;
}

/* Workers came or went: every job may have items for them, or lacks what they held. */
static void mark_leases_due(struct cw_dispatcher *d)
{
    for (struct cw_job *job = d->due.leases ? d->jobs : NULL; job; job = job->next)
        cw_job_leases_due(job);
    d->due.leases = false;
}

/* The order of the steps matters:
 *
 *  1. The result of the last transaction is collected first: everything that waits for it can go
 *     on.
 *  2. Clients of failed jobs are failed before anything is done for them; they give up their slots.
 *  3. The cache notifies workers of chunks that came and went, and only then deletes files. It
 *     writes rows, so it comes before the commit.
 *  4. Clients are told of skipped items before they are welcomed, since the welcome repeats them:
 *     so no client misses them or gets them twice.
 *  5. Leases of shared jobs are sent if the owners of their items are stored.
 *  6. Workers are assigned before clients are sent lists of them, and before items are leased.
 *  7. Lists go out before leases, so that a client knows a worker before its first output.
 *  8. Leasing opens epochs, which may have skipped items; and it moves windows.
 *  9. Leases that need nothing new to be stored are sent now, the others after a commit.
 * 10. The commit takes everything that was written in this iteration, in steps 1 to 9, too.
 * 11. The tick is started, or stopped if nobody needs it any more. */
static void end_iteration(struct cw_dispatcher *d)
{
    collect(d);
    mark_leases_due(d);
    cw_clients_notify_failed(d);
    cw_cache_cycle_end(d);
    cw_clients_send_left_out(d);
    serve_clients(d);
    cw_lease_send_stored(d);
    cw_job_plans_use_stored(d);
    if (d->jobs_n > 0) {
        release_held(d, cw_clock_ms());
        if (d->due.assignment)
            (void)cw_scaling_assign(d, cw_clock_ms());
        cw_clients_send_worker_lists(d);
        cw_lease_fill_all(d);
        cw_clients_send_left_out(d);
        send_windows(d);
        cw_jobs_drop_due(d, NULL);
    }
    cw_lease_send_stored(d);
    commit(d);
    cw_loop_set_gather(d->loop, cw_pace_gather_ms(d));
    cw_tick_update(d);
}

void cw_iteration_end(void *dispatcher)
{
    struct cw_dispatcher *d = dispatcher;
    struct cw_iteration_times *times = &d->iteration_ends;
    if (d->exited)
        return;
    const int64_t begin = cw_clock_thread_cpu_ns();
    end_iteration(d);
    const int64_t ns = cw_clock_thread_cpu_ns() - begin;
    times->longest_ns = CW_MAX(times->longest_ns, ns);
    times->long_n += ns > CW_MESSAGE_LONG_NS;
    cw_check_derived(d);
}
