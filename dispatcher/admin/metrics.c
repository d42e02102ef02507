/* SPDX-License-Identifier: Apache-2.0 */
#include "dispatcher/access/access.h"
#include "dispatcher/admin/admin_int.h"
#include "dispatcher/cache/cache.h"
#include "dispatcher/kubernetes/kubernetes.h"
#include "dispatcher/scaling/scaling.h"
#include "kube/leader.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/version.h"

enum subject {
    INFO,
    ONE,
    WORKER_STATE,
    JOB_STATE,
    DECISION_KIND,
    CACHE,
    TENANT,
    JOB,
    THREADS,
    NODE,
    WORKER,
    TIER,
    METHOD,
    METHOD_TIME, /* Of a method, or of the end of an iteration of the loop. */
    DEPLOYMENT,
    POD_REASON,
    KUBE_REQUESTS
};
enum type { COUNTER, GAUGE };
#define NO_VALUE ((double)NAN)
struct cw_metric_of {
    struct cw_dispatcher *d;
    /* The state, kind or use that WORKER_STATE, JOB_STATE, DECISION_KIND and THREADS are about. */
    const char *word;
    size_t index;
    uint64_t count; /* The number of workers or jobs in the state `word`. */
    const struct cw_tenant *tenant;
    struct cw_job *job;
    const Cachew__V1__JobRow *row; /* The job's row; set if the subject is JOB. */
    double thread_ns;              /* set if the subject is THREADS */
    const struct cw_node_sums *node;
    const struct cw_worker *worker;
    const Cachew__V1__SourceTier *tier;
    const struct cw_cache_service *cache;
    const struct cw_method_time *method;
    const struct cw_cluster_deployment *deployment;
    const struct cw_cluster_reason *reason;
    const struct cw_cluster_requests *requests;
};
struct metric {
    enum subject subject;
    const char *name;
    enum type type;
    const char *help;
    double (*value)(const struct cw_metric_of *s);
};

/* ---- values ---- */

static double above_zero(double v)
{
    return v > 0 ? v : NO_VALUE;
}

static double starting(const struct cw_dispatcher *d)
{
    return !d->provision.kind || d->provision.kind->fixed
               ? NO_VALUE
               : (double)d->provision.kind->starting(d->provision.state);
}

static double watches_again(const struct cw_dispatcher *d)
{
    uint64_t n = cw_cluster_watches_again(d);
    return n == UINT64_MAX ? NO_VALUE : (double)n;
}

static double reviews_of(const struct cw_dispatcher *d, bool failed)
{
    struct cw_token_review_counts counts;
    if (!cw_access_review_counts(d, &counts))
        return NO_VALUE;
    return (double)(failed ? counts.failed : counts.asked);
}

static double wanted(const struct cw_dispatcher *d)
{
    return !d->provision.kind || d->provision.kind->fixed ? NO_VALUE : d->provision.wanted;
}

static struct cw_server_calls calls_of(const struct cw_dispatcher *d)
{
    return d->server ? cw_server_calls(d->server) : (struct cw_server_calls){0};
}

static double clients_of(const struct cw_job *job)
{
    double n = 0;
    for (uint32_t c = 0; c < job->layout.consumers; c++)
        n += job->consumers[c].client != NULL;
    return n;
}

static double leased_by(const struct cw_worker *worker)
{
    double n = 0;
    for (const struct cw_share *share = worker->shares; share; share = share->next_of_worker)
        n += (double)share->todo_n;
    return n;
}

static struct cw_usage used_by(const struct cw_metric_of *s)
{
    struct cw_usage all = s->tenant->past;
    for (const struct cw_job *job = s->d->jobs; job; job = job->next)
        if (job->tenant == s->tenant)
            cw_usage_add(&all, &job->usage);
    return all;
}

#define PASTE2(a, b) a##b
#define PASTE(a, b) PASTE2(a, b)
#define METRIC(subject_, name_, type_, help_, value_)                                              \
    static double PASTE(value_of_line_, __LINE__)(const struct cw_metric_of *s)                    \
    {                                                                                              \
        (void)s;                                                                                   \
        return (double)(value_);                                                                   \
    }
#include "dispatcher/admin/metric_items.h"
#undef METRIC
static const struct metric metrics[] = {
#define METRIC(subject_, name_, type_, help_, value_)                                              \
    {subject_, name_, type_, help_, PASTE(value_of_line_, __LINE__)},
#include "dispatcher/admin/metric_items.h"
#undef METRIC
};

/* ---- labels ---- */

void cw_metrics_add_value(struct cw_str *out, const char *text)
{
    for (const char *p = text; *p; p++) {
        if (*p == '\\' || *p == '"')
            cw_str_add_char(out, '\\');
        if (*p == '\n')
            cw_str_add(out, "\\n");
        else
            cw_str_add_char(out, (unsigned char)*p < 0x20 || *p == 0x7f ? '?' : *p);
    }
}

static const char *const labels_of[] = {[INFO] = "version",
                                        [ONE] = "",
                                        [WORKER_STATE] = "state",
                                        [JOB_STATE] = "state",
                                        [DECISION_KIND] = "kind",
                                        [CACHE] = "cache, of a named one",
                                        [TENANT] = "tenant",
                                        [JOB] = "job, name, tenant",
                                        [THREADS] = "job, name, tenant, use",
                                        [NODE] = "job, name, tenant, node, op",
                                        [WORKER] = "worker, address, host",
                                        [TIER] = "worker, tier",
                                        [METHOD] = "method",
                                        [METHOD_TIME] = "method",
                                        [DEPLOYMENT] = "deployment",
                                        [POD_REASON] = "reason",
                                        [KUBE_REQUESTS] = "verb, code"};

static void add_labels(struct cw_str *out, enum subject subject, const struct cw_metric_of *s)
{
    char worker[32] = "", code[16] = "";
    if (s->requests)
        (void)snprintf(code, sizeof(code), "%d", s->requests->code);
    if (s->worker)
        (void)snprintf(worker, sizeof(worker), "%016llx", (unsigned long long)s->worker->id);
    const struct {
        const char *key, *value;
    } labels[] = {
        {"version", subject == INFO ? CW_VERSION : NULL},
        {subject == DECISION_KIND ? "kind" : "state", subject == THREADS ? NULL : s->word},
        {"job", s->job ? s->job->id : NULL},
        {"name", s->job ? s->job->name : NULL},
        {"tenant", s->job      ? s->job->tenant->name
                   : s->tenant ? s->tenant->name
                               : NULL},
        {"use", subject == THREADS ? s->word : NULL},
        {"node", s->node ? s->job->info->cacheable[s->index]->node : NULL},
        {"op", s->node ? s->job->info->cacheable[s->index]->op : NULL},
        {"worker", s->worker ? worker : NULL},
        {"address", s->worker && !s->tier ? s->worker->address : NULL},
        {"host", s->worker && !s->tier ? s->worker->host_id : NULL},
        {"tier", s->tier ? s->tier->tier : NULL},
        {"cache", s->cache && s->cache->id != 0 ? s->cache->name : NULL},
        {"method", s->method ? s->method->path : NULL},
        {"deployment", s->deployment ? s->deployment->name : NULL},
        {"reason", s->reason ? s->reason->reason : NULL},
        {"verb", s->requests ? s->requests->verb : NULL},
        {"code", s->requests ? code : NULL},
    };
    const char *before = "{";
    for (size_t i = 0; i < CW_ARRAY_LEN(labels); i++) {
        if (!labels[i].value)
            continue;
        cw_str_addf(out, "%s%s=\"", before, labels[i].key);
        cw_metrics_add_value(out, labels[i].value);
        cw_str_add_char(out, '"');
        before = ",";
    }
    if (before[0] == ',')
        cw_str_add_char(out, '}');
}

/* ---- collecting, on the loop thread ---- */

struct sample {
    double value;
    size_t labels; /* Where they begin in the texts of labels. */
};
static const char *const worker_states[] = {"ready", "draining"};
static const char *const job_states[] = {"preparing", "running", "waiting", "finished", "failed"};
#define WORKER_STATES_N CW_ARRAY_LEN(worker_states)
#define JOB_STATES_N CW_ARRAY_LEN(job_states)

/* What was measured at a time: numbers and texts, which refer to nothing else. */
struct cw_metrics_page {
    /* How many of those that were added are in each state. */
    uint64_t workers_in[WORKER_STATES_N], jobs_in[JOB_STATES_N];
    struct cw_str labels; /* Each text ends with a 0. */
    struct samples {
        struct sample *v;
        size_t n, cap;
    } of[CW_ARRAY_LEN(metrics)];
};

struct cw_metrics_page *cw_metrics_page_new(void)
{
    return CW_NEW(struct cw_metrics_page);
}

void cw_metrics_page_free(struct cw_metrics_page *page)
{
    for (size_t i = 0; page && i < CW_ARRAY_LEN(page->of); i++)
        cw_mem_free(page->of[i].v);
    if (page)
        cw_str_fini(&page->labels);
    cw_mem_free(page);
}

/* Adds all metrics of an object that have a value. */
static void add(struct cw_metrics_page *page, enum subject subject, const struct cw_metric_of *s)
{
    size_t labels = page->labels.len;
    add_labels(&page->labels, subject, s);
    cw_str_add_bytes(&page->labels, "", 1);
    for (size_t i = 0; i < CW_ARRAY_LEN(metrics); i++) {
        double value = metrics[i].subject == subject ? metrics[i].value(s) : NO_VALUE;
        struct samples *to = &page->of[i];
        if (!isfinite(value))
            continue;
        CW_GROW(to->v, to->n, to->cap);
        to->v[to->n++] = (struct sample){value, labels};
    }
}

static void add_words(struct cw_metrics_page *page, struct cw_dispatcher *d, enum subject subject,
                      const char *const *words, const uint64_t *counts, size_t n)
{
    for (size_t i = 0; i < n; i++)
        add(page, subject,
            &(const struct cw_metric_of){
                .d = d, .word = words[i], .index = i, .count = counts ? counts[i] : 0});
}

static void count_word(const char *const *words, uint64_t *counts, size_t n, const char *word)
{
    for (size_t i = 0; i < n; i++)
        counts[i] += strcmp(words[i], word) == 0;
}

static void add_methods(struct cw_metrics_page *page, struct cw_dispatcher *d)
{
    struct cw_method_time method;
    for (size_t i = 0; d->server && cw_server_next_method(d->server, &i, &method);) {
        const struct cw_metric_of it = {.d = d, .method = &method};
        if (method.messages == 0)
            continue;
        add(page, METHOD, &it);
        add(page, METHOD_TIME, &it);
    }
    method = (struct cw_method_time){.path = CW_ITERATION_END,
                                     .longest_ns = d->iteration_ends.longest_ns,
                                     .long_n = d->iteration_ends.long_n};
    if (d->server)
        add(page, METHOD_TIME, &(const struct cw_metric_of){.d = d, .method = &method});
}

#define REASONS_MAX 32

static void add_kubernetes(struct cw_metrics_page *page, struct cw_dispatcher *d)
{
    struct cw_cluster_deployment deployment;
    struct cw_cluster_requests requests;
    struct cw_cluster_reason reasons[REASONS_MAX];
    size_t n = cw_cluster_reasons(d, reasons, CW_ARRAY_LEN(reasons));
    for (size_t i = 0; cw_cluster_next_deployment(d, &i, &deployment);)
        add(page, DEPLOYMENT, &(const struct cw_metric_of){.d = d, .deployment = &deployment});
    for (size_t i = 0; i < n; i++)
        add(page, POD_REASON, &(const struct cw_metric_of){.d = d, .reason = &reasons[i]});
    for (size_t i = 0; cw_cluster_next_requests(d, &i, &requests);)
        add(page, KUBE_REQUESTS, &(const struct cw_metric_of){.d = d, .requests = &requests});
}

void cw_metrics_add_dispatcher(struct cw_metrics_page *page, struct cw_dispatcher *d)
{
    const struct cw_metric_of it = {.d = d};
    add(page, INFO, &it);
    add(page, ONE, &it);
    for (const struct cw_cache_service *cache = d->caches; cache; cache = cache->next)
        add(page, CACHE, &(const struct cw_metric_of){.d = d, .cache = cache});
    add_words(page, d, DECISION_KIND, cw_decision_kinds, NULL, CW_DECISION_KINDS);
    add_methods(page, d);
    add_kubernetes(page, d);
}

void cw_metrics_add_states(struct cw_metrics_page *page, struct cw_dispatcher *d)
{
    add_words(page, d, WORKER_STATE, worker_states, page->workers_in, WORKER_STATES_N);
    add_words(page, d, JOB_STATE, job_states, page->jobs_in, JOB_STATES_N);
}

void cw_metrics_add_tenant(struct cw_metrics_page *page, struct cw_dispatcher *d,
                           const struct cw_tenant *tenant)
{
    add(page, TENANT, &(const struct cw_metric_of){.d = d, .tenant = tenant});
}

static void add_threads(struct cw_metrics_page *page, struct cw_job *job)
{
    const struct cw_thread_use *use = &job->threads.total;
#define USE(field, words)                                                                          \
    add(page, THREADS,                                                                             \
        &(const struct cw_metric_of){                                                              \
            .d = job->d, .job = job, .word = #field, .thread_ns = use->field});
    CW_THREAD_USES(USE)
#undef USE
}

static void add_nodes(struct cw_metrics_page *page, struct cw_job *job)
{
    bool known = job->measured && job->info;
    size_t n = known ? CW_MIN(job->measured->n, (size_t)CW_METRICS_NODES_MAX) : 0;
    for (size_t i = 0; i < n; i++)
        add(page, NODE,
            &(const struct cw_metric_of){
                .d = job->d, .job = job, .index = i, .node = &job->measured->total[i]});
}

void cw_metrics_add_job(struct cw_metrics_page *page, struct cw_job *job)
{
    struct cw_svc_job_row row;
    cw_svc_job_row(job, &row);
    count_word(job_states, page->jobs_in, JOB_STATES_N, row.row.state);
    add(page, JOB, &(const struct cw_metric_of){.d = job->d, .job = job, .row = &row.row});
    if (job->status != CW_JOB_RUNNING || !cw_job_has_clients(job))
        return;
    add_threads(page, job);
    add_nodes(page, job);
}

void cw_metrics_add_worker(struct cw_metrics_page *page, const struct cw_worker *worker)
{
    count_word(worker_states, page->workers_in, WORKER_STATES_N,
               worker->draining || worker->leaving ? "draining" : "ready");
    add(page, WORKER, &(const struct cw_metric_of){.d = worker->d, .worker = worker});
    for (size_t i = 0; i < worker->source_tiers_n; i++)
        add(page, TIER,
            &(const struct cw_metric_of){
                .d = worker->d, .worker = worker, .tier = worker->source_tiers[i]});
}

/* ---- printing, on any thread ---- */

static void print_metric(const struct cw_metrics_page *page, size_t i, struct cw_str *out)
{
    const struct metric *m = &metrics[i];
    const struct samples *samples = &page->of[i];
    if (samples->n > 0)
        cw_str_addf(out, "# HELP %s %s\n# TYPE %s %s\n", m->name, m->help, m->name,
                    m->type == COUNTER ? "counter" : "gauge");
    for (size_t k = 0; k < samples->n; k++) {
        cw_str_add(out, m->name);
        cw_str_add(out, cw_str_text(&page->labels) + samples->v[k].labels);
        cw_str_add_char(out, ' ');
        cw_str_add_f64(out, samples->v[k].value);
        cw_str_add_char(out, '\n');
    }
}

void cw_metrics_page_print(const struct cw_metrics_page *page, struct cw_str *out)
{
    for (size_t i = 0; i < CW_ARRAY_LEN(metrics); i++)
        print_metric(page, i, out);
}

void cw_metrics_markdown(struct cw_str *out)
{
    cw_str_add(out, "# Metrics\n\nGenerated by `cachew-dispatcher --metrics-markdown` from "
                    "dispatcher/admin/metric_items.h; how to get\nthem stands in "
                    "[watching.md](watching.md). A metric without a value, or of something that "
                    "there is\nnot, is left out. Counters begin at zero with the dispatcher, but "
                    "for those of use and cost, which\nare kept.\n\n| name | type | "
                    "labels | |\n|---|---|---|---|\n");
    for (size_t i = 0; i < CW_ARRAY_LEN(metrics); i++)
        cw_str_addf(out, "| `%s` | %s | %s | %s |\n", metrics[i].name,
                    metrics[i].type == COUNTER ? "counter" : "gauge", labels_of[metrics[i].subject],
                    metrics[i].help);
}
