/* SPDX-License-Identifier: Apache-2.0 */
#include "dispatcher/session/forget_turns.h"

#include "dispatcher/message/message.h"

/* So many are told in an iteration of the loop. */
#define FORGET_AT_ONCE 1024

/* Of one worker, worker->forget_turns. It may outlive the worker. */
struct cw_forget_turns {
    struct cw_dispatcher *d;
    uint64_t worker_id;
    char **ids;
    size_t at, n, cap;
};

static void turns_free(struct cw_forget_turns *turns)
{
    while (turns->at < turns->n)
        cw_mem_free(turns->ids[turns->at++]);
    cw_mem_free(turns->ids);
    cw_mem_free(turns);
}

static void tell(struct cw_worker *worker, const char *job_id)
{
    /* A job of that id may have come since. */
    if (!cw_strmap_get(&worker->d->jobs_by_id, job_id))
        cw_worker_forget_job(worker, job_id, "the job was removed");
}

static void go_on(void *arg)
{
    struct cw_forget_turns *turns = arg;
    struct cw_worker *worker = cw_map_get(&turns->d->workers_by_id, turns->worker_id);
    if (!worker || worker->forget_turns != turns) {
        turns_free(turns);
        return;
    }
    const int64_t begin = cw_clock_thread_cpu_ns();
    struct cw_stream *stream = worker->stream;
    const size_t most = cw_fault_rare("session.forget_one") ? 1 : FORGET_AT_ONCE;
    for (size_t left = most; left > 0 && turns->at < turns->n; left--) {
        tell(worker, turns->ids[turns->at]);
        cw_mem_free(turns->ids[turns->at++]);
    }
    if (turns->at < turns->n) {
        cw_loop_post(worker->d->loop, go_on, turns);
    } else {
        worker->forget_turns = NULL;
        turns_free(turns);
    }
    cw_stream_note_time(stream, cw_clock_thread_cpu_ns() - begin);
}

void cw_forget_turns_add(struct cw_worker *worker, const char *job_id)
{
    struct cw_forget_turns *turns = worker->forget_turns;
    if (!turns && worker->forgets_n < FORGET_AT_ONCE && !cw_fault_rare("session.forget_later")) {
        worker->forgets_n++;
        tell(worker, job_id);
        return;
    }
    if (!turns) {
        turns = worker->forget_turns = CW_NEW(struct cw_forget_turns);
        turns->d = worker->d;
        turns->worker_id = worker->id;
        cw_loop_post(worker->d->loop, go_on, turns);
    }
    CW_GROW(turns->ids, turns->n, turns->cap);
    turns->ids[turns->n++] = cw_mem_strdup(job_id);
}
