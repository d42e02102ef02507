/* SPDX-License-Identifier: Apache-2.0 */
/* What tools see of a job, and the list of jobs, which is made in several iterations of the loop. */
#include "dispatcher/admin/admin_int.h"
#include "dispatcher/admin/walk.h"
#include "dispatcher/cache/cache.h"
#include "dispatcher/job/waits_for.h"

#include <stdio.h>

char *cw_svc_job_state(const struct cw_job *job)
{
    static char preparing[] = "preparing", running[] = "running", waiting[] = "waiting",
                finished[] = "finished", failed[] = "failed";
    switch (job->status) {
    case CW_JOB_PREPARING:
        return preparing;
    case CW_JOB_FINISHED:
        return finished;
    case CW_JOB_FAILED:
        return failed;
    case CW_JOB_RUNNING:
    default:
        return job->no_client_ms != 0 || job->no_worker_ms != 0 ? waiting : running;
    }
}

static void fill_waits(struct cw_job *job, struct cw_svc_job_row *row)
{
    int64_t now = cw_clock_ms();
    struct cw_job_waits waits;
    row->row.waits_for = row->waits_for;
    row->waits_for[0] = '\0';
    if (cw_job_waits(job, now, &waits)) {
        snprintf(row->waits_for, sizeof(row->waits_for), "%s", cw_str_text(&waits.text));
        row->row.waits_kind = waits.kind;
        row->row.waits_ms = (uint64_t)(now - waits.since_ms);
    }
    cw_job_waits_fini(&waits);
}

/* Returns the name of the cache that the job uses; "": it names none, and there is no default. */
static char *cache_name(const struct cw_job *job)
{
    static char standard[] = "default", none[] = "";
    if (job->options->cache[0] != '\0')
        return job->options->cache;
    return cw_cache_find(job->d, "") ? standard : none;
}

void cw_svc_job_row(struct cw_job *job, struct cw_svc_job_row *row)
{
    Cachew__V1__JobRow *r = &row->row;
    cachew__v1__job_row__init(r);
    cw_hash_text(job->fingerprint, row->fingerprint);
    r->fingerprint = row->fingerprint;
    r->job_id = job->id;
    r->name = job->name;
    r->state = cw_svc_job_state(job);
    r->epoch = job->first_epoch;
    r->epochs = job->epochs_n;
    r->items = job->items;
    struct cw_epoch *epoch = cw_job_epoch(job, job->first_epoch);
    r->consumed = epoch ? cw_set_count(&epoch->consumed) : 0;
    r->elements = job->usage.elements;
    r->bytes = job->usage.bytes;
    r->skipped = cw_telemetry_skipped(job);
    r->consumers = job->layout.consumers;
    for (uint32_t c = 0; c < job->layout.consumers; c++) {
        r->clients += job->consumers[c].client != NULL;
        r->wait_share = CW_MAX(r->wait_share, job->consumers[c].wait_share);
    }
    r->error = job->error;
    r->seed = job->seed;
    r->recomputed = job->recomputed;
    r->hedged = job->hedged;
    r->shared = job->shared;
    r->cpu_ns = job->usage.cpu_ns;
    r->created_ms = job->created_ms;
    r->tenant = job->tenant->name;
    r->cache = cache_name(job);
    r->priority = job->options->priority;
    r->weight = job->options->weight > 0 ? job->options->weight : 1;
    r->memory = cw_job_memory(job->options);
    cw_svc_usage(&job->usage, &row->usage);
    r->usage = &row->usage;
    r->skipped_items = job->skipped_items;
    r->plan = job->plan.number;
    r->next_plan = job->plan.is_next ? job->plan.last : 0;
    r->plan_error = job->plan.error ? job->plan.error : r->plan_error;
    cw_svc_telemetry_row(job, &row->window, r);
    fill_waits(job, row);
}

struct listing {
    struct cw_walk walk;
    struct cw_str packed; /* the rows so far */
};

static void on_job(struct cw_walk *walk, struct cw_job *job)
{
    struct listing *list = CW_CONTAINER_OF(walk, struct listing, walk);
    struct cw_svc_job_row row;
    Cachew__V1__JobRow *rows[] = {&row.row};
    Cachew__V1__ListJobsReply part = CACHEW__V1__LIST_JOBS_REPLY__INIT;
    if (!cw_access_sees_job(cw_call_caller(walk->call), job))
        return;
    cw_svc_job_row(job, &row);
    part.n_jobs = 1;
    part.jobs = rows;
    cw_svc_add_packed(&list->packed, &part.base);
}

static void reply(struct cw_walk *walk, bool all)
{
    struct listing *list = CW_CONTAINER_OF(walk, struct listing, walk);
    Cachew__V1__ListJobsReply rest = CACHEW__V1__LIST_JOBS_REPLY__INIT;
    (void)all; /* No call is open any more when the dispatcher has ended. */
    rest.generation = walk->d->generation;
    cw_svc_add_packed(&list->packed, &rest.base);
    cw_svc_reply_packed(walk->call, &list->packed);
    cw_mem_free(list);
}

void cw_svc_list_jobs(void *arg, struct cw_call *call, struct cw_rpc_msg *request)
{
    (void)request;
    struct listing *list = CW_NEW(struct listing);
    list->walk = (struct cw_walk){.d = arg, .call = call, .on_job = on_job, .done = reply};
    cw_walk_begin(&list->walk);
}
