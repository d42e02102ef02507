/* SPDX-License-Identifier: Apache-2.0 */
/* Probes never ask a peer or a store: a worker is not killed because another program is away. */
#include "worker/session/probes.h"

#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/version.h"
#include "daemon/http.h"
#include "worker/model/budget.h"

#define TEXT "text/plain; charset=utf-8"

struct cw_wprobes {
    struct cw_http *http; /* NULL: it could not be started */
    struct cw_http_page pages[5];
};

/* The loop turns, or nobody would print this. */
static bool print_alive(void *arg, struct cw_str *out)
{
    (void)arg;
    cw_str_add(out, "ok\n");
    return true;
}

static bool print_ready(void *arg, struct cw_str *out)
{
    const struct cw_worker_state *w = arg;
    bool is_leaving = w->closing || w->drain.active;
    if (is_leaving)
        cw_str_add(out, "draining\n");
    else if (!w->session.attached)
        cw_str_addf(out, "not attached to the dispatcher at %s\n", w->dispatcher);
    else
        cw_str_add(out, "ok\n");
    return !is_leaving && w->session.attached;
}

static void add_gauge(struct cw_str *out, const char *name, const char *help, uint64_t value)
{
    cw_str_addf(out, "# HELP %s %s\n# TYPE %s gauge\n%s %llu\n", name, help, name, name,
                (unsigned long long)value);
}

static bool print_metrics(void *arg, struct cw_str *out)
{
    const struct cw_worker_state *w = arg;
    cw_str_addf(out,
                "# HELP cachew_own_build_info Version of this worker.\n"
                "# TYPE cachew_own_build_info gauge\n"
                "cachew_own_build_info{version=\"%s\"} 1\n",
                CW_VERSION);
    add_gauge(out, "cachew_own_attached", "Whether a dispatcher has welcomed this worker.",
              w->session.attached);
    add_gauge(out, "cachew_own_draining", "Whether this worker is leaving.", w->drain.active);
    add_gauge(out, "cachew_own_threads", "Threads that compute.", w->threads);
    add_gauge(out, "cachew_own_jobs", "Jobs that this worker has.", w->jobs.n);
    add_gauge(out, "cachew_own_items", "Items that are being computed.", w->tasks_n);
    add_gauge(out, "cachew_own_streams", "Streams of clients.", w->clients_n);
    add_gauge(out, "cachew_own_output_bytes",
              "Outputs that wait for a client, or are on their way.", cw_budget_stream_bytes(w));
    add_gauge(out, "cachew_own_budget_bytes", "Memory that items and outputs may take.", w->budget);
    return true;
}

int cw_probes_start(struct cw_worker_state *w, const char *listen, struct cw_err *err)
{
    if (!listen || !*listen)
        return 0;
    struct cw_wprobes *probes = w->probes = CW_NEW(struct cw_wprobes);
    struct cw_http_page *page = probes->pages;
    *page++ = (struct cw_http_page){.path = "/livez", .type = TEXT, .print = print_alive, .arg = w};
    *page++ =
        (struct cw_http_page){.path = "/readyz", .type = TEXT, .print = print_ready, .arg = w};
    *page++ =
        (struct cw_http_page){.path = "/healthz", .type = TEXT, .print = print_ready, .arg = w};
    *page++ = (struct cw_http_page){.path = "/metrics",
                                    .type = "text/plain; version=0.0.4; charset=utf-8",
                                    .print = print_metrics,
                                    .arg = w};
    if (cw_http_start(w->loop, listen, probes->pages, &probes->http, err) < 0)
        return cw_err_wrap(err, "--metrics-listen");
    cw_log_info("worker", "metrics by HTTP at %s, port %u", listen, cw_http_port(probes->http));
    return 0;
}

void cw_probes_stop(struct cw_worker_state *w)
{
    if (!w->probes)
        return;
    cw_http_stop(w->probes->http);
    cw_mem_free(cw_steal(&w->probes));
}
