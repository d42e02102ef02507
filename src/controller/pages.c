/* SPDX-License-Identifier: Apache-2.0 */
/* Probes never ask a peer: a controller is not killed because the API server or the dispatcher is away. */
#include "controller/pages.h"

#include <inttypes.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/version.h"
#include "controller/fluid.h"
#include "controller/kueue.h"
#include "daemon/http.h"
#include "kube/field.h"

#define TEXT "text/plain; charset=utf-8"

struct cw_pages {
    struct cw_http *http;
    struct cw_http_page pages[5];
};

/* The loop turns, or nobody would print this. */
static bool print_alive(void *arg, struct cw_str *out)
{
    (void)arg;
    cw_str_add(out, "ok\n");
    return true;
}

/* Whoever stands by is ready as well, or no rolling update would ever end. */
static bool print_ready(void *arg, struct cw_str *out)
{
    const struct cw_controller *c = arg;
    cw_str_add(out, c->stopping  ? "stopping\n"
                    : !c->listed ? "the first lists are not in\n"
                                 : "ok\n");
    return c->listed && !c->stopping;
}

static void add_head(struct cw_str *out, const char *name, const char *type, const char *help)
{
    cw_str_addf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void add_one(struct cw_str *out, const char *name, const char *type, const char *help,
                    uint64_t value)
{
    add_head(out, name, type, help);
    cw_str_addf(out, "%s %" PRIu64 "\n", name, value);
}

static void add_words(const struct cw_controller *c, struct cw_str *out)
{
    static const char *const words[] = {"Pending",    "CacheCreating", "PVCCreating",
                                        "PVCCreated", "CacheReady",    "Idle",
                                        "Degraded",   "CacheFailed",   "Terminating"};
    add_head(out, "cachew_controller_cachebackends", "gauge", "CacheBackends by cacheStatus.");
    for (size_t i = 0; i < CW_ARRAY_LEN(words); i++) {
        const char *key;
        void *value;
        uint64_t n = 0;
        for (size_t k = 0; cw_strmap_next(&c->items, &k, &key, &value);) {
            const struct cw_item *item = value;
            n += cw_str_eq(cw_kube_text(&item->b->status, "cacheStatus"), words[i]);
        }
        cw_str_addf(out, "cachew_controller_cachebackends{status=\"%s\"} %" PRIu64 "\n", words[i],
                    n);
    }
}

static void add_requests(const struct cw_controller *c, struct cw_str *out)
{
    static const char *const codes[] = {"none", "1xx", "2xx", "3xx", "4xx", "5xx"};
    add_head(out, "cachew_controller_requests_total", "counter",
             "Requests to the API server that were answered, by verb and status; none: no answer.");
    for (int verb = 0; verb < CW_KUBE_VERBS; verb++)
        for (size_t i = 0; i < CW_ARRAY_LEN(codes); i++)
            if (c->requests[verb][i] > 0)
                cw_str_addf(
                    out, "cachew_controller_requests_total{verb=\"%s\",code=\"%s\"} %" PRIu64 "\n",
                    cw_kube_verb_name((enum cw_kube_verb)verb), codes[i], c->requests[verb][i]);
}

static void add_watch(const struct cw_kube_watch *watch, struct cw_kube_watch_counts *sum)
{
    if (!watch)
        return;
    const struct cw_kube_watch_counts one = cw_kube_watch_counts(watch);
    sum->lists += one.lists;
    sum->watches += one.watches;
    sum->failures += one.failures;
    sum->events += one.events;
}

static void add_watches(const struct cw_controller *c, struct cw_str *out)
{
    struct cw_kube_watch_counts sum = {0};
    add_watch(c->backends, &sum);
    add_watch(c->maps, &sum);
    add_watch(c->pods, &sum);
    add_watch(c->claims, &sum);
    for (size_t i = 0; i < CW_JOB_KINDS; i++)
        add_watch(c->jobs[i].watch, &sum);
    cw_fluid_counts(c, &sum);
    cw_kueue_counts(c, &sum);
    add_one(out, "cachew_controller_lists_total", "counter", "Lists that were begun.", sum.lists);
    add_one(out, "cachew_controller_watches_total", "counter", "Watches that were begun.",
            sum.watches);
    add_one(out, "cachew_controller_watch_failures_total", "counter",
            "Lists and watches that have failed.", sum.failures);
    add_one(out, "cachew_controller_events_total", "counter", "Lines of watches.", sum.events);
}

static bool print_metrics(void *arg, struct cw_str *out)
{
    const struct cw_controller *c = arg;
    add_head(out, "cachew_controller_build_info", "gauge", "Version of this controller.");
    cw_str_addf(out, "cachew_controller_build_info{version=\"%s\"} 1\n", CW_VERSION);
    add_one(out, "cachew_controller_leads", "gauge", "Whether this controller acts.", c->leads);
    add_one(out, "cachew_controller_dispatcher_away", "gauge",
            "Whether the dispatcher has not answered for a while.", cw_link_is_away(c->link));
    add_words(c, out);
    add_one(out, "cachew_controller_status_writes_total", "counter",
            "Writes of a status that say another word, condition or user.", c->status_writes);
    add_one(out, "cachew_controller_figure_writes_total", "counter",
            "Writes of a status for its figures alone.", c->figure_writes);
    add_one(out, "cachew_controller_other_writes_total", "counter",
            "Writes of finalizers, ConfigMaps, jobs and pods, and deletions.", c->other_writes);
    add_one(out, "cachew_controller_failed_writes_total", "counter",
            "Writes that were refused or not answered.", c->failed_writes);
    add_one(out, "cachew_controller_engines_at_work", "gauge",
            "Calls of engines that are under way.", cw_engine_runs_n(c->runs));
    add_requests(c, out);
    add_watches(c, out);
    return true;
}

int cw_pages_start(struct cw_controller *c, const char *listen, struct cw_pages **ret_pages,
                   struct cw_err *err)
{
    *ret_pages = NULL;
    if (!listen || !*listen)
        return 0;
    struct cw_pages *pages = CW_NEW(struct cw_pages);
    struct cw_http_page *page = pages->pages;
    *page++ = (struct cw_http_page){.path = "/livez", .type = TEXT, .print = print_alive, .arg = c};
    *page++ =
        (struct cw_http_page){.path = "/readyz", .type = TEXT, .print = print_ready, .arg = c};
    *page++ =
        (struct cw_http_page){.path = "/healthz", .type = TEXT, .print = print_ready, .arg = c};
    *page++ = (struct cw_http_page){.path = "/metrics",
                                    .type = "text/plain; version=0.0.4; charset=utf-8",
                                    .print = print_metrics,
                                    .arg = c};
    *ret_pages = pages;
    if (cw_http_start(c->loop, listen, pages->pages, &pages->http, err) < 0)
        return cw_err_wrap(err, "--metrics-listen");
    cw_log_info(CW_CONTROLLER, "metrics by HTTP at %s, port %u", listen, cw_http_port(pages->http));
    return 0;
}

void cw_pages_stop(struct cw_pages *pages)
{
    if (!pages)
        return;
    cw_http_stop(pages->http);
    cw_mem_free(pages);
}
