/* SPDX-License-Identifier: Apache-2.0 */
/* How a client's stream ends, and how its consumer slot becomes free. */
#include "dispatcher/job/job.h"
#include "dispatcher/message/message.h"
#include "dispatcher/session/session.h"

void cw_client_detach(struct cw_client *client)
{
    struct cw_job *job = client->job;
    if (!job)
        return;
    struct cw_consumer *slot = &job->consumers[client->consumer];
    if (slot->client == client)
        slot->client = NULL, slot->gone_ms = cw_clock_ms();
    cw_job_remove_client(client);
    cw_client_drop_welcome(client);
    client->admitted = client->welcomed = client->due.welcome = false;
    cw_job_clients_changed(job);
    for (struct cw_client *other = job->clients; other; other = other->next_of_job) {
        if (!other->admitted && other->consumer == client->consumer)
            other->due.admission = job->d->due.clients = true, other->place_wait_ms = 0;
    }
}

void cw_client_fail(struct cw_client *client, int code, const char *msg)
{
    cw_autofree char *text = cw_mem_strdup(msg);
    Cachew__V1__JobError error = CACHEW__V1__JOB_ERROR__INIT;
    error.code = code;
    error.error = text;
    Cachew__V1__ClientCommand command = CACHEW__V1__CLIENT_COMMAND__INIT;
    command.kind_case = CACHEW__V1__CLIENT_COMMAND__KIND_ERROR;
    command.error = &error;
    cw_client_send(client, &command);
    cw_stream_finish(client->stream, code, text);
    client->failed = true;
    cw_client_detach(client);
}

/* The code is one after which the client tries again: streams of one client may arrive in another order
 * than they were begun in, and then the one that it still listens to is the one that ends. */
void cw_client_replace(struct cw_client *old)
{
    cw_client_fail(old, CW_E_UNAVAILABLE, "the same client has connected again");
}

void cw_client_replace_waiting(const struct cw_client *client)
{
    for (struct cw_client *old = client->job->clients, *next; old; old = next) {
        next = old->next_of_job;
        if (old != client && old->id == client->id && old->consumer == client->consumer &&
            !old->admitted)
            cw_client_replace(old);
    }
}

static void fail_all(const struct cw_job *job, int code, const char *msg)
{
    for (struct cw_client *client = job->clients, *next; client; client = next) {
        next = client->next_of_job;
        cw_client_fail(client, code, msg);
    }
}

void cw_clients_end_job(struct cw_job *job, const char *reason)
{
    cw_autofree char *msg = cw_mem_printf("job %s is removed: %s", job->id, reason);
    fail_all(job, CW_E_NOT_FOUND, msg);
    cw_job_remove(job, reason);
}

void cw_clients_notify_failed(struct cw_dispatcher *d)
{
    for (const struct cw_job *job = d->due.failed_jobs ? d->jobs : NULL; job; job = job->next)
        if (job->status == CW_JOB_FAILED)
            fail_all(job, job->error_code, job->error);
    d->due.failed_jobs = false;
}
