/* SPDX-License-Identifier: Apache-2.0 */
#include <stdatomic.h>
#include <string.h>
#include "base/clock.h"
#include "base/limits.h"
#include "base/mem.h"
#include "client/session/session_int.h"

/* The memory that an output needs besides its bytes and the batch of the trainer's queue: the head
 * of its buffer, its entry in the reorder buffer, and its record in the ledger. */
#define ENTRY_BYTES 256
/* So often the dispatcher is told of workers from which this client does not fetch: twice within the
 * time for which it remembers that. */
#define UNFETCHED_MS 8000

static struct cw_worker_stream *stream_find(const struct cw_session *session, uint64_t worker_id)
{
    for (size_t i = 0; i < session->streams_n; i++)
        if (cw_worker_stream_worker(session->streams[i]) == worker_id)
            return session->streams[i];
    return NULL;
}

static bool list_has(const Cachew__V1__Workers *list, const struct cw_worker_stream *stream)
{
    for (size_t i = 0; i < list->n_workers; i++)
        if (list->workers[i]->worker_id == cw_worker_stream_worker(stream) &&
            strcmp(list->workers[i]->address, cw_worker_stream_address(stream)) == 0)
            return true;
    return false;
}

void cw_session_drop_streams(struct cw_session *session)
{
    size_t kept = 0, n = session->streams_n;
    session->streams_n = 0; /* Nothing may go through a list that is only half changed. */
    for (size_t i = 0; i < n; i++)
        if (cw_worker_stream_is_over(session->streams[i]))
            cw_worker_stream_close(session->streams[i]);
        else
            session->streams[kept++] = session->streams[i];
    session->streams_n = kept;
}

/* ---- what the streams to workers report ---- */

static int on_output(void *arg, struct cw_received *received, struct cw_err *err)
{
    struct cw_session *session = arg;
    struct cw_job_counts *counts = &session->job->counts;
    bool shm = received->shm;
    if (!shm && received->batch->buf)
        atomic_fetch_add_explicit(&counts->copies, 1, memory_order_relaxed);
    int rc = cw_ledger_put(&session->ledger, received, err);
    if (rc == 1) {
        atomic_fetch_add_explicit(shm ? &counts->shm_batches : &counts->grpc_batches, 1,
                                  memory_order_relaxed);
        return 0;
    }
    cw_received_free(received); /* The output is a duplicate, or belongs to another job. */
    return rc;
}

static void on_message(void *arg)
{
    struct cw_session *session = arg;
    session->messages++;
    cw_session_advance(session, false);
}

static bool on_lost(void *arg, uint64_t worker_id, const char *why)
{
    return cw_session_send_worker_lost(arg, worker_id, why);
}

static void on_found(void *arg, uint64_t worker_id)
{
    cw_session_send_worker_found(arg, worker_id);
}

static uint64_t on_room(void *arg)
{
    return cw_session_room(arg);
}

static void on_changed(void *arg)
{
    cw_session_count_workers(arg);
}

static void on_no_memory(void *arg, const struct cw_err *err)
{
    const struct cw_session *session = arg;
    cw_client_job_fail(session->job, err);
}

static void on_released(void *arg)
{
    const struct cw_session *session = arg;
    /* The stream may use the job, which lives longer than its streams. */
    cw_client_job_kick(session->job);
}

/* ---- the list of workers ---- */

static struct cw_worker_stream *new_stream(struct cw_session *session,
                                           const Cachew__V1__WorkerInfo *worker, uint64_t limit)
{
    static const struct cw_worker_stream_events events = {
        on_output, on_message, on_lost, on_found, on_room, on_changed, on_no_memory, on_released};
    const struct cachew_job *job = session->job;
    const struct cachew_client *client = job->client;
    struct cw_worker_stream_conf conf = {.events = &events,
                                         .arg = session,
                                         .loop = client->loop,
                                         .rpc = client->rpc,
                                         .pool = client->pool,
                                         .host_id = client->host_id,
                                         .job_id = job->id,
                                         .secret = &session->secret,
                                         .client_id = session->client_id,
                                         .consumer = job->consumer,
                                         .shm = client->shm,
                                         .writable = client->writable,
                                         .keep_msg = job->sparse,
                                         .worker_id = worker->worker_id,
                                         .worker_address = worker->address,
                                         .worker_host_id = worker->host_id,
                                         .entry_bytes =
                                             cw_mem_cost(sizeof(struct cachew_batch)) + ENTRY_BYTES,
                                         .limit = limit};
    return cw_worker_stream_new(&conf);
}

static void say_unfetched(struct cw_session *session, int64_t now)
{
    session->unfetched_ms = now;
    cw_session_send_unfetched(session);
}

/* The dispatcher leases nothing for this client to the workers that it says it cannot reach, as long
 * as it says so. */
void cw_session_note_unfetched(struct cw_session *session, int64_t now)
{
    if (session->unfetched_n > 0 && now - session->unfetched_ms >= UNFETCHED_MS)
        say_unfetched(session, now);
}

static void add_worker(struct cw_session *session, const Cachew__V1__WorkerInfo *worker,
                       uint64_t share)
{
    if (session->streams_n >= CW_FETCHED_WORKERS_MAX) {
        CW_GROW(session->unfetched, session->unfetched_n, session->unfetched_cap);
        session->unfetched[session->unfetched_n++] = worker->worker_id;
        return;
    }
    CW_GROW(session->streams, session->streams_n, session->streams_cap);
    struct cw_worker_stream *stream = new_stream(session, worker, share);
    session->streams[session->streams_n++] = stream;
}

void cw_session_set_workers(struct cw_session *session, const Cachew__V1__Workers *list)
{
    for (size_t i = 0; i < session->streams_n; i++)
        cw_worker_stream_set_listed(session->streams[i], list_has(list, session->streams[i]));
    cw_session_drop_streams(session);
    uint64_t share =
        cw_session_share(session, CW_MIN(list->n_workers, (size_t)CW_FETCHED_WORKERS_MAX));
    session->unfetched_n = 0;
    for (size_t i = 0; i < list->n_workers; i++)
        if (!stream_find(session, list->workers[i]->worker_id))
            add_worker(session, list->workers[i], share);
    say_unfetched(session, cw_clock_ms());
    for (size_t i = 0; i < session->streams_n; i++)
        cw_worker_stream_set_limit(session->streams[i],
                                   cw_session_share(session, session->streams_n));
    cw_session_count_workers(session);
}

void cw_session_count_workers(struct cw_session *session)
{
    uint32_t up = 0;
    for (size_t i = 0; i < session->streams_n; i++)
        up += cw_worker_stream_is_up(session->streams[i]);
    atomic_store_explicit(&session->job->counts.workers, up, memory_order_relaxed);
}
