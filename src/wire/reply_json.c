/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/reply_json.h"

#include <inttypes.h>
#include <string.h>

#include "base/json_member.h"
#include "base/thread_use.h"

struct number {
    const char *key;
    uint64_t number;
};
struct real {
    const char *key;
    double number;
};

static void add_numbers(struct cw_str *out, const struct number *numbers, size_t n)
{
    for (size_t i = 0; i < n; i++)
        cw_member_number(out, numbers[i].key, numbers[i].number);
}

static void add_reals(struct cw_str *out, const struct real *reals, size_t n)
{
    for (size_t i = 0; i < n; i++)
        cw_member_real(out, reals[i].key, reals[i].number);
}

static void add_texts(struct cw_str *out, const char *const texts[][2], size_t n)
{
    for (size_t i = 0; i < n; i++)
        cw_member_text(out, texts[i][0], texts[i][1]);
}

void cw_wire_usage_members(struct cw_str *out, const Cachew__V1__Usage *usage)
{
    static const Cachew__V1__Usage none = CACHEW__V1__USAGE__INIT;
    const Cachew__V1__Usage *u = usage ? usage : &none;
    cw_member_real(out, "cpu_seconds", (double)u->cpu_ns / 1e9);
    cw_member_real(out, "worker_seconds", u->remote_s);
    cw_member_real(out, "local_worker_seconds", u->local_s);
    cw_member_real(out, "client_seconds", u->client_s);
    cw_member_real(out, "cost", u->cost);
}

void cw_wire_window_members(struct cw_str *out, const Cachew__V1__TrainerWindow *w)
{
    const struct real reals[] = {{"at_s", w->at_s},
                                 {"seconds", w->seconds},
                                 {"batches", w->batches},
                                 {"batch_s", w->batches > 0 ? w->seconds / w->batches : 0},
                                 {"wait_share", w->wait_share},
                                 {"queue", w->queue},
                                 {"step_s", w->step_s},
                                 {"worker_rate", w->rate},
                                 {"cpu", w->cpu},
                                 {"remote", w->remote},
                                 {"local", w->local},
#define USE(field, words) {"threads_" #field, w->threads_##field},
                                 CW_THREAD_USES(USE)
#undef USE
    };
    add_reals(out, reals, CW_ARRAY_LEN(reals));
}

void cw_wire_node_members(struct cw_str *out, const Cachew__V1__NodeRow *node)
{
    cw_member_text(out, "node", node->name);
    cw_member_text(out, "op", node->op);
    const struct real reals[] = {{"elements", node->elements}, {"hits", node->hits},
                                 {"cpu_ns", node->cpu_ns},     {"wall_ns", node->wall_ns},
                                 {"bytes", node->bytes},       {"waits", node->waits}};
    add_reals(out, reals, CW_ARRAY_LEN(reals));
}

/* Shares; null stands for what was not measured. */
static void add_waits(struct cw_str *out, const float *waits, size_t n)
{
    cw_str_add(out, ",\"consumer_waits\":[");
    for (size_t i = 0; i < n; i++) {
        cw_str_add(out, i > 0 ? "," : "");
        if (waits[i] >= 0)
            cw_str_addf(out, "%.4f", (double)waits[i]);
        else
            cw_str_add(out, "null");
    }
    cw_str_add_char(out, ']');
}

void cw_wire_job_members(struct cw_str *out, const Cachew__V1__JobRow *job)
{
    const char *const texts[][2] = {{"id", job->job_id},
                                    {"name", job->name},
                                    {"state", job->state},
                                    {"error", job->error},
                                    {"fingerprint", job->fingerprint},
                                    {"tenant", job->tenant},
                                    {"cache", job->cache},
                                    {"autoscale", job->autoscale},
                                    {"autoplace", job->autoplace},
                                    {"autocache", job->autocache},
                                    {"cached_node", job->cached_node},
                                    {"identity", job->identity},
                                    {"other_files", job->other_files},
                                    {"plan_error", job->plan_error},
                                    {"waits_for", job->waits_for}};
    const struct number numbers[] = {{"seed", job->seed},
                                     {"epoch", job->epoch},
                                     {"epochs", job->epochs},
                                     {"items", job->items},
                                     {"consumed", job->consumed},
                                     {"elements", job->elements},
                                     {"bytes", job->bytes},
                                     {"skipped", job->skipped},
                                     {"skipped_items", job->skipped_items},
                                     {"clients", job->clients},
                                     {"consumers", job->consumers},
                                     {"recomputed", job->recomputed},
                                     {"hedged", job->hedged},
                                     {"shared", job->shared},
                                     {"assigned", job->assigned},
                                     {"local", job->local},
                                     {"memory", job->memory},
                                     {"hits", job->hits},
                                     {"batches", job->batches},
                                     {"taken_bytes", job->taken_bytes},
                                     {"copies", job->copies},
                                     {"other_files_workers", job->other_files_n},
                                     {"plan", job->plan},
                                     {"next_plan", job->next_plan},
                                     {"waits_kind", (uint64_t)job->waits_kind},
                                     {"waits_ms", job->waits_ms}};
    const struct real reals[] = {{"weight", job->weight},
                                 {"wanted", job->wanted},
                                 {"wanted_local", job->wanted_local},
                                 {"granted", job->granted},
                                 {"hit_share", job->hit_share},
                                 {"trainer_seconds", job->trainer_s},
                                 {"wait_seconds", job->wait_s},
                                 {"items_s", job->items_s},
                                 {"epoch_done", job->epoch_done}};
    add_texts(out, texts, CW_ARRAY_LEN(texts));
    add_numbers(out, numbers, CW_ARRAY_LEN(numbers));
    cw_str_addf(out, ",\"wait_share\":%.4f,\"priority\":%d", job->wait_share, job->priority);
    cw_wire_usage_members(out, job->usage);
    add_reals(out, reals, CW_ARRAY_LEN(reals));
    add_waits(out, job->consumer_waits, job->n_consumer_waits);
    cw_str_add(out, ",\"window\":");
    if (job->window) {
        cw_str_add_char(out, '{');
        cw_wire_window_members(out, job->window);
        cw_str_add_char(out, '}');
    } else {
        cw_str_add(out, "null");
    }
}

void cw_wire_worker_members(struct cw_str *out, const Cachew__V1__WorkerRow *worker)
{
    const char *const texts[][2] = {{"address", worker->address},
                                    {"host", worker->host_id},
                                    {"state", worker->state},
                                    {"version", worker->version},
                                    {"only_job", worker->only_job},
                                    {"pod", worker->pod_name},
                                    {"pod_namespace", worker->pod_namespace},
                                    {"pod_uid", worker->pod_uid},
                                    {"node", worker->node_name},
                                    {"other_files_job", worker->other_files_job},
                                    {"other_files", worker->other_files},
                                    {"unreachable_job", worker->unreachable_job},
                                    {"unreachable", worker->unreachable}};
    const struct number numbers[] = {{"threads", worker->threads},
                                     {"pid", worker->pid},
                                     {"leased", worker->leased},
                                     {"done", worker->done},
                                     {"budget_bytes", worker->budget_bytes},
                                     {"budget_used", worker->budget_used},
                                     {"silent_ms", worker->silent_ms},
                                     {"age_ms", worker->age_ms}};
    cw_str_addf(out, "\"id\":\"%016" PRIx64 "\"", worker->worker_id);
    add_texts(out, texts, CW_ARRAY_LEN(texts));
    add_numbers(out, numbers, CW_ARRAY_LEN(numbers));
    cw_str_addf(out, ",\"cpu_share\":%.4f,\"cpu_cores\":%.4f", worker->cpu_share,
                worker->cpu_cores);
    if (worker->host_cpus > 0)
        cw_str_addf(out, ",\"host_cpus\":%u,\"host_cpu_share\":%.4f,\"host_load\":%.4f",
                    worker->host_cpus, worker->host_cpu_share, worker->host_load);
    else
        cw_str_add(out, ",\"host_cpus\":null,\"host_cpu_share\":null,\"host_load\":null");
    cw_str_add(out, ",\"jobs\":[");
    for (size_t i = 0; i < worker->n_jobs; i++)
        cw_str_addf(out, "%s\"%s\"", i > 0 ? "," : "", worker->jobs[i]);
    cw_str_add(out, "]");
}

void cw_wire_bad_members(struct cw_str *out, const Cachew__V1__BadElement *bad)
{
    const char *const texts[][2] = {{"file", bad->file},
                                    {"source", bad->source},
                                    {"node", bad->node},
                                    {"op", bad->op},
                                    {"reason", bad->reason}};
    cw_str_addf(out,
                "\"epoch\":%" PRIu64 ",\"batch\":%" PRIu64 ",\"elements\":%" PRIu64
                ",\"position\":%" PRId64 ",\"record\":%" PRId64,
                bad->epoch, bad->batch, bad->elements, bad->position, bad->record);
    add_texts(out, texts, CW_ARRAY_LEN(texts));
}

void cw_wire_decision_json(const Cachew__V1__Decision *decision, struct cw_str *out)
{
    cw_str_addf(out, "{\"id\":%llu,\"time_ms\":%lld,\"epoch\":%llu",
                (unsigned long long)decision->id, (long long)decision->time_ms,
                (unsigned long long)decision->epoch);
    if (decision->job_id[0] != '\0') {
        cw_member_text(out, "job", decision->job_id);
        cw_member_text(out, "name", decision->job_name);
    } else {
        cw_str_add(out, ",\"job\":null,\"name\":null");
    }
    cw_member_text(out, "kind", decision->kind);
    cw_member_text(out, "policy", decision->policy);
    if (decision->choice[0] != '\0')
        cw_member_text(out, "choice", decision->choice);
    else
        cw_str_add(out, ",\"choice\":null");
    cw_member_text(out, "reason", decision->reason);
    cw_str_add(out, ",\"candidates\":[");
    for (size_t i = 0; i < decision->n_candidates; i++) {
        cw_str_add(out, i > 0 ? "," : "");
        cw_str_add_json(out, decision->candidates[i], strlen(decision->candidates[i]));
    }
    cw_str_addf(out, "],\"inputs\":%s}", decision->inputs[0] != '\0' ? decision->inputs : "null");
}

void cw_wire_fleet_member(struct cw_str *out, const Cachew__V1__ListWorkersReply *workers)
{
    uint64_t ready = 0, draining = 0, threads = 0, used = 0, budget = 0;
    double cores = 0;
    for (size_t i = 0; i < workers->n_workers; i++) {
        const Cachew__V1__WorkerRow *w = workers->workers[i];
        *(strcmp(w->state, "ready") == 0 ? &ready : &draining) += 1;
        threads += w->threads;
        used += w->budget_used;
        budget += w->budget_bytes;
        cores += w->cpu_cores;
    }
    cw_str_add(out, ",\"fleet\":{");
    cw_member_text(out, "provisioner", workers->provisioner);
    cw_member_number(out, "ready", ready);
    cw_member_number(out, "starting", workers->starting);
    cw_member_number(out, "draining", draining);
    cw_member_real(out, "wanted", workers->wanted);
    cw_member_number(out, "min_workers", workers->min_workers);
    cw_member_number(out, "max_workers", workers->max_workers);
    cw_member_number(out, "threads", threads);
    cw_member_real(out, "cpu_cores", cores);
    cw_member_number(out, "budget_used", used);
    cw_member_number(out, "budget_bytes", budget);
    cw_str_add_char(out, '}');
}
