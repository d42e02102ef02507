/* SPDX-License-Identifier: Apache-2.0 */
#include "dispatcher/admin/admin_int.h"
#include "dispatcher/cache/cache.h"
#include "dispatcher/scaling/scaling.h"

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
    METHOD
};
enum type { COUNTER, GAUGE };
#define NO_VALUE ((double)NAN)
struct cw_metric_of {
    struct cw_dispatcher *d;
    /* The state, kind or use that WORKER_STATE, JOB_STATE, DECISION_KIND and THREADS are about. */
    const char *word;
    size_t index;
    const struct cw_tenant *tenant;
    struct cw_job *job;
    const Cachew__V1__JobRow *row; /* The job's row; set if the subject is JOB. */
    double thread_ns;              /* set if the subject is THREADS */
    const struct cw_node_sums *node;
    const struct cw_worker *worker;
    const Cachew__V1__SourceTier *tier;
    const struct cw_cache_service *cache;
    const struct cw_method_time *method;
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
    return d->provision.kind->fixed ? NO_VALUE
                                    : (double)d->provision.kind->starting(d->provision.state);
}

static double wanted(const struct cw_dispatcher *d)
{
    return d->provision.kind->fixed ? NO_VALUE : d->provision.wanted;
}

static struct cw_server_calls calls_of(const struct cw_dispatcher *d)
{
    return d->server ? cw_server_calls(d->server) : (struct cw_server_calls){0};
}

static double workers_in(const struct cw_dispatcher *d, const char *state)
{
    double n = 0;
    for (const struct cw_worker *w = d->workers; w; w = w->next)
        n += w->said_hello && strcmp(w->draining ? "draining" : "ready", state) == 0;
    return n;
}

static double jobs_in(const struct cw_dispatcher *d, const char *state)
{
    double n = 0;
    for (const struct cw_job *job = d->jobs; job; job = job->next)
        n += strcmp(cw_svc_job_state(job), state) == 0;
    return n;
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

/* ---- lines ---- */

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
                                        [METHOD] = "method"};

static void add_labels(struct cw_str *out, enum subject subject, const struct cw_metric_of *s)
{
    char worker[32] = "";
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

struct page {
    struct cw_str *out;
    const struct cw_svc_job_row *rows; /* The rows are in the order of the dispatcher's jobs. */
    const struct metric *metric;
    bool headed;
};

static void add_sample(struct page *page, const struct cw_metric_of *s)
{
    const struct metric *m = page->metric;
    double value = m->value(s);
    if (!isfinite(value))
        return;
    if (!page->headed)
        cw_str_addf(page->out, "# HELP %s %s\n# TYPE %s %s\n", m->name, m->help, m->name,
                    m->type == COUNTER ? "counter" : "gauge");
    page->headed = true;
    cw_str_add(page->out, m->name);
    add_labels(page->out, m->subject, s);
    cw_str_add_char(page->out, ' ');
    cw_str_add_f64(page->out, value);
    cw_str_add_char(page->out, '\n');
}

/* ---- all objects of a subject ---- */

static void each_word(struct page *page, struct cw_dispatcher *d, const char *const *words,
                      size_t n)
{
    for (size_t i = 0; i < n; i++)
        add_sample(page, &(const struct cw_metric_of){.d = d, .word = words[i], .index = i});
}

static void each_tenant(struct page *page, struct cw_dispatcher *d)
{
    const char *name;
    void *value;
    for (size_t i = 0; cw_strmap_next(&d->tenants, &i, &name, &value);)
        add_sample(page, &(const struct cw_metric_of){.d = d, .tenant = value});
}

static void each_job(struct page *page, struct cw_dispatcher *d)
{
    size_t i = 0;
    for (struct cw_job *job = d->jobs; job; job = job->next)
        add_sample(page,
                   &(const struct cw_metric_of){.d = d, .job = job, .row = &page->rows[i++].row});
}

static void each_use(struct page *page, struct cw_dispatcher *d)
{
    for (struct cw_job *job = d->jobs; job; job = job->next) {
        const struct cw_thread_use *use = &job->threads.total;
        if (job->status != CW_JOB_RUNNING || !cw_job_has_clients(job))
            continue;
#define USE(field, words)                                                                          \
    add_sample(page, &(const struct cw_metric_of){                                                 \
                         .d = d, .job = job, .word = #field, .thread_ns = use->field});
        CW_THREAD_USES(USE)
#undef USE
    }
}

static void each_node(struct page *page, struct cw_dispatcher *d)
{
    for (struct cw_job *job = d->jobs; job; job = job->next) {
        bool at_work =
            job->status == CW_JOB_RUNNING && job->telemetry && job->info && cw_job_has_clients(job);
        size_t n = at_work ? CW_MIN(job->telemetry->nodes.n, (size_t)CW_METRICS_NODES_MAX) : 0;
        for (size_t i = 0; i < n; i++)
            add_sample(
                page, &(const struct cw_metric_of){
                          .d = d, .job = job, .index = i, .node = &job->telemetry->nodes.nodes[i]});
    }
}

static void each_worker(struct page *page, struct cw_dispatcher *d)
{
    for (const struct cw_worker *w = d->workers; w; w = w->next) {
        if (!w->said_hello)
            continue;
        if (page->metric->subject == WORKER)
            add_sample(page, &(const struct cw_metric_of){.d = d, .worker = w});
        for (size_t i = 0; page->metric->subject == TIER && i < w->source_tiers_n; i++)
            add_sample(page, &(const struct cw_metric_of){
                                 .d = d, .worker = w, .tier = w->source_tiers[i]});
    }
}

static void each_method(struct page *page, struct cw_dispatcher *d)
{
    struct cw_method_time method;
    for (size_t i = 0; d->server && cw_server_next_method(d->server, &i, &method);)
        if (method.messages > 0)
            add_sample(page, &(const struct cw_metric_of){.d = d, .method = &method});
}

static void add_metric(struct page *page, struct cw_dispatcher *d)
{
    static const char *const worker_states[] = {"ready", "draining"};
    static const char *const job_states[] = {"preparing", "running", "waiting", "finished",
                                             "failed"};
    switch (page->metric->subject) {
    case INFO:
    case ONE:
        add_sample(page, &(const struct cw_metric_of){.d = d});
        break;
    case CACHE:
        for (const struct cw_cache_service *cache = d->caches; cache; cache = cache->next)
            add_sample(page, &(const struct cw_metric_of){.d = d, .cache = cache});
        break;
    case WORKER_STATE:
        each_word(page, d, worker_states, CW_ARRAY_LEN(worker_states));
        break;
    case JOB_STATE:
        each_word(page, d, job_states, CW_ARRAY_LEN(job_states));
        break;
    case DECISION_KIND:
        each_word(page, d, cw_decision_kinds, CW_DECISION_KINDS);
        break;
    case TENANT:
        each_tenant(page, d);
        break;
    case JOB:
        each_job(page, d);
        break;
    case THREADS:
        each_use(page, d);
        break;
    case NODE:
        each_node(page, d);
        break;
    case METHOD:
        each_method(page, d);
        break;
    case WORKER:
    case TIER:
    default:
        each_worker(page, d);
        break;
    }
}

void cw_metrics_print(struct cw_dispatcher *d, struct cw_str *out)
{
    cw_autofree struct cw_svc_job_row *rows = CW_NEW_ARRAY(struct cw_svc_job_row, d->jobs_n + 1);
    size_t n = 0;
    for (struct cw_job *job = d->jobs; job; job = job->next)
        cw_svc_job_row(job, &rows[n++]);
    for (size_t i = 0; i < CW_ARRAY_LEN(metrics); i++)
        add_metric(&(struct page){.out = out, .metric = &metrics[i], .rows = rows}, d);
}

void cw_metrics_markdown(struct cw_str *out)
{
    cw_str_add(out, "# Metrics\n\nGenerated by `cachew-dispatcher --metrics-markdown` from "
                    "dispatcher/admin/metric_items.h; how to get them stands in\n"
                    "[watching.md](watching.md). A metric without a value, or of something that "
                    "there is not, is left out. Counters begin at zero with the\n"
                    "dispatcher, but for those of use and cost, which are kept.\n\n| name | type | "
                    "labels | |\n|---|---|---|---|\n");
    for (size_t i = 0; i < CW_ARRAY_LEN(metrics); i++)
        cw_str_addf(out, "| `%s` | %s | %s | %s |\n", metrics[i].name,
                    metrics[i].type == COUNTER ? "counter" : "gauge", labels_of[metrics[i].subject],
                    metrics[i].help);
}
