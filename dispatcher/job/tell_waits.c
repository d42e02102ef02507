/* SPDX-License-Identifier: Apache-2.0 */
/* Tells clients what their trainers wait for, and finds out when nothing explains it. */
#include "dispatcher/job/job.h"
#include "dispatcher/job/waits_for.h"
#include "dispatcher/message/message.h"

#define AGAIN_MS 1000
#define MISTAKE_MS 30000

#define KIND(word) CACHEW__V1__WAIT_KIND__WAIT_##word

/* Clients wait for a worker's answer however long it takes, as long as the worker makes progress.
 * They do not wait so for a worker to come. */
static void set_limit(const struct cw_job *job, const struct cw_client *client, int64_t now,
                      Cachew__V1__Waiting *waiting)
{
    bool storing = job->status == CW_JOB_RUNNING && client->due.welcome;
    waiting->stuck = storing ? job->d->unwritten : waiting->kind == KIND(NO_WORKER);
    if (!waiting->stuck && job->preparing && job->preparing_reports)
        waiting->still_ms = (uint64_t)CW_MAX(now - job->preparing_ms, 0);
}

static void send(struct cw_client *client, Cachew__V1__Waiting *waiting)
{
    Cachew__V1__ClientCommand command = CACHEW__V1__CLIENT_COMMAND__INIT;
    command.kind_case = CACHEW__V1__CLIENT_COMMAND__KIND_WAITING;
    command.waiting = waiting;
    cw_client_send(client, &command);
}

static void tell(struct cw_client *client, int64_t now)
{
    struct cw_job_waits waits;
    Cachew__V1__Waiting waiting = CACHEW__V1__WAITING__INIT;
    bool is_due = now - client->waits_sent_ms >= AGAIN_MS;
    if (!is_due)
        return;
    bool found = cw_client_waits(client, now, &waits);
    if (found && now - waits.since_ms >= CW_WAITS_MS) {
        waiting.reason = (char *)(uintptr_t)cw_str_text(&waits.text);
        waiting.kind = waits.kind;
        waiting.waited_ms = (uint64_t)(now - waits.since_ms);
        waiting.worker_id = waits.worker_id;
        set_limit(client->job, client, now, &waiting);
        client->waits_sent_ms = now;
        send(client, &waiting);
    } else if (!found && client->waits_sent_ms > 0) {
        client->waits_sent_ms = 0;
        send(client, &waiting);
    }
    cw_job_waits_fini(&waits);
}

void cw_job_tell_waits(struct cw_job *job, int64_t now)
{
    for (struct cw_client *client = job->clients; client; client = client->next_of_job)
        if (!client->failed)
            tell(client, now);
}

static void count(struct cw_job *job, const struct cw_job_waits *waits, int64_t now)
{
    job->mistake_ms = INT64_MAX;
    job->d->counts.unexplained_waits++;
    cw_log_error(
        CW_LOG_MOD,
        "job=%s name=%s a trainer has waited for %lld s, and nothing explains it: %s. This "
        "is a mistake of cachew, please report it: items of epoch %llu: window %llu up to "
        "%llu, due %d, workers %zu, assigned %u, consumers %u, mode %d, faults %zu",
        job->id, job->name, (long long)(now - waits->since_ms) / 1000, cw_str_text(&waits->text),
        (unsigned long long)job->first_epoch, (unsigned long long)job->window,
        (unsigned long long)cw_job_window_end(job), job->due.leases, job->workers_n,
        job->assigned_n, job->layout.consumers, (int)job->layout.mode, job->faults_n);
}

void cw_job_look_for_mistake(struct cw_job *job, int64_t now)
{
    struct cw_job_waits waits;
    bool is_one = cw_job_waits(job, now, &waits) && waits.kind == KIND(UNKNOWN);
    if (!is_one)
        job->mistake_ms = 0;
    else if (job->mistake_ms == 0)
        job->mistake_ms = now;
    else if (job->mistake_ms != INT64_MAX && now - job->mistake_ms >= MISTAKE_MS)
        count(job, &waits, now);
    cw_job_waits_fini(&waits);
}
