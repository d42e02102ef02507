/* SPDX-License-Identifier: Apache-2.0 */
/* Elements of a job's latest batches, for who looks at it: while somebody does, one worker after the other
 * is asked to show some of its next output, and the latest is kept. Nothing is asked and kept of a job at
 * which nobody looks. */
#include "base/limits.h"
#include "base/log.h"
#include "base/map.h"
#include "data/field_set.h"
#include "dispatcher/job/job.h"
#include "dispatcher/message/message.h"

#define ASK_MS 1000   /* least time between two questions */
#define LOOK_MS 30000 /* nobody looks any more who has not asked for so long */

struct cw_elements_shown {
    Cachew__V1__ElementsShown *latest; /* NULL: nothing has come yet */
    int64_t came_ms, asked_ms, looked_ms;
    uint64_t asked_id;        /* of the worker that was asked last */
    struct cw_strmap lookers; /* names of those who look; values are not used */
};

/* The next worker, behind the one that was asked last, that has something of the job to compute. */
static struct cw_worker *choose(const struct cw_job *job)
{
    struct cw_worker *first = NULL;
    bool is_behind = false;
    for (const struct cw_share *s = job->shares; s; s = s->next_of_job) {
        bool can = s->has_job && s->leases;
        if (can && is_behind)
            return s->worker;
        if (can && !first)
            first = s->worker;
        is_behind |= s->worker->id == job->elements_shown->asked_id;
    }
    return first;
}

static void ask(struct cw_job *job, int64_t now)
{
    struct cw_worker *worker = choose(job);
    if (!worker)
        return;
    Cachew__V1__ShowElements show = CACHEW__V1__SHOW_ELEMENTS__INIT;
    show.job_id = job->id;
    show.elements = CW_SHOWN_ELEMENTS_MAX;
    Cachew__V1__WorkerCommand command = CACHEW__V1__WORKER_COMMAND__INIT;
    command.kind_case = CACHEW__V1__WORKER_COMMAND__KIND_SHOW_ELEMENTS;
    command.show_elements = &show;
    cw_worker_send(worker, &command);
    job->elements_shown->asked_ms = now;
    job->elements_shown->asked_id = worker->id;
}

/* Whoever begins to look at a tenant's data is logged. */
static void note_looker(const struct cw_job *job, const char *who)
{
    struct cw_strmap *lookers = &job->elements_shown->lookers;
    if (cw_strmap_get(lookers, who))
        return;
    cw_strmap_set(lookers, who, job->elements_shown);
    cw_log_info(CW_LOG_MOD, "job=%s: its elements are shown to %s", job->id, who);
}

Cachew__V1__ElementsShown *cw_job_elements_look(struct cw_job *job, const char *who, int64_t now,
                                                uint64_t *ret_age_ms)
{
    struct cw_elements_shown *e = job->elements_shown;
    if (!e)
        e = job->elements_shown = CW_NEW(struct cw_elements_shown);
    note_looker(job, who);
    e->looked_ms = now;
    if (e->asked_ms == 0 || now - e->asked_ms >= ASK_MS)
        ask(job, now);
    *ret_age_ms = e->latest ? (uint64_t)(now - e->came_ms) : 0;
    return e->latest;
}

static void drop_latest(struct cw_elements_shown *e)
{
    if (e->latest)
        cachew__v1__elements_shown__free_unpacked(e->latest, NULL);
    e->latest = NULL;
}

/* Whether it is as much as an honest worker shows, or less. */
static bool is_small(const Cachew__V1__ElementsShown *shown)
{
    size_t fields = 0;
    if (shown->n_elements > CW_SHOWN_ELEMENTS_MAX)
        return false;
    for (size_t i = 0; i < shown->n_elements; i++)
        fields += shown->elements[i]->n_fields;
    return fields <= (size_t)CW_SHOWN_ELEMENTS_MAX * CW_FIELDS_MAX &&
           protobuf_c_message_get_packed_size(&shown->base) <= 4 * CW_SHOWN_BYTES;
}

/* A worker may show what is its own only, and what was asked for. */
void cw_job_elements_take(struct cw_worker *worker, Cachew__V1__WorkerMessage *message)
{
    Cachew__V1__ElementsShown *shown = message->elements_shown;
    struct cw_job *job = cw_strmap_get(&worker->d->jobs_by_id, shown->job_id);
    if (!job || !job->elements_shown || !cw_share_find(job, worker) || !is_small(shown))
        return;
    drop_latest(job->elements_shown);
    job->elements_shown->latest = shown;
    job->elements_shown->came_ms = cw_clock_ms();
    message->elements_shown = NULL;
    message->kind_case = CACHEW__V1__WORKER_MESSAGE__KIND__NOT_SET;
}

void cw_job_elements_tick(struct cw_job *job, int64_t now)
{
    if (job->elements_shown && now - job->elements_shown->looked_ms >= LOOK_MS)
        cw_job_elements_free(job);
}

void cw_job_elements_free(struct cw_job *job)
{
    if (job->elements_shown) {
        drop_latest(job->elements_shown);
        cw_strmap_fini(&job->elements_shown->lookers);
    }
    cw_mem_free(cw_steal(&job->elements_shown));
}
