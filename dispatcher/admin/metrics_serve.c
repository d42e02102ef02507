/* SPDX-License-Identifier: Apache-2.0 */
/* Serves metrics, by the call Admin.GetMetrics and by HTTP. */
#include "daemon/http.h"
#include "dispatcher/admin/admin_int.h"
#include "dispatcher/admin/walk.h"
#include "dispatcher/web/web.h"
#include "loop/offload.h"

#define OWN_PAGES_N 4

/* Metrics that somebody asked for: collected in a walk, printed by a thread, sent by the loop. */
struct asked {
    struct cw_walk walk;
    struct cw_offload work;
    struct cw_metrics_page *page;
    struct cw_page_request *request; /* NULL: it is the call of the walk */
    struct cw_str text;
    struct cw_buf *reply;
};

static void on_tenant(struct cw_walk *walk, const struct cw_tenant *tenant)
{
    cw_metrics_add_tenant(CW_CONTAINER_OF(walk, struct asked, walk)->page, walk->d, tenant);
}

static void on_job(struct cw_walk *walk, struct cw_job *job)
{
    cw_metrics_add_job(CW_CONTAINER_OF(walk, struct asked, walk)->page, job);
}

static void on_worker(struct cw_walk *walk, const struct cw_worker *worker)
{
    cw_metrics_add_worker(CW_CONTAINER_OF(walk, struct asked, walk)->page, worker);
}

/* On the thread. */
static void print(void *arg)
{
    struct asked *asked = arg;
    cw_metrics_page_print(asked->page, &asked->text);
    cw_metrics_page_free(cw_steal(&asked->page));
    if (asked->request)
        return;
    Cachew__V1__GetMetricsReply reply = CACHEW__V1__GET_METRICS_REPLY__INIT;
    reply.text = (char *)(uintptr_t)cw_str_text(&asked->text);
    asked->reply = cw_wire_pack(&reply.base);
}

static void on_printed(void *arg)
{
    struct asked *asked = arg;
    if (asked->request)
        cw_http_answer(asked->request, true, &asked->text);
    else
        cw_call_reply(asked->walk.call, asked->reply);
    cw_buf_unref(asked->reply);
    cw_str_fini(&asked->text);
    cw_mem_free(asked);
}

static void on_collected(struct cw_walk *walk, bool all)
{
    struct asked *asked = CW_CONTAINER_OF(walk, struct asked, walk);
    cw_metrics_add_states(asked->page, walk->d);
    if (all && walk->d->offload) {
        asked->work = (struct cw_offload){.run = print, .done = on_printed, .arg = asked};
        cw_offload_add(walk->d->offload, &asked->work);
        return;
    }
    print(asked); /* In tests; or the dispatcher ends, and nobody waits for it any more. */
    on_printed(asked);
}

/* For one of the two. */
static void begin_metrics(struct cw_dispatcher *d, struct cw_call *call,
                          struct cw_page_request *request)
{
    struct asked *asked = CW_NEW(struct asked);
    asked->request = request;
    asked->page = cw_metrics_page_new();
    asked->walk = (struct cw_walk){.d = d,
                                   .call = call,
                                   .on_tenant = on_tenant,
                                   .on_job = on_job,
                                   .on_worker = on_worker,
                                   .done = on_collected};
    cw_metrics_add_dispatcher(asked->page, d);
    cw_walk_begin(&asked->walk);
}

static void begin_page(void *arg, struct cw_page_request *request)
{
    begin_metrics(arg, NULL, request);
}

static bool print_health(void *arg, struct cw_str *out)
{
    const struct cw_dispatcher *d = arg;
    cw_str_add(out, d->stopping    ? "stopping\n"
                    : !d->server   ? "standing by\n"
                    : d->unwritten ? "state.db cannot be written\n"
                                   : "ok\n");
    return !d->stopping && !d->unwritten;
}

/* The loop turns, or nobody would print this. */
static bool print_alive(void *arg, struct cw_str *out)
{
    (void)arg;
    cw_str_add(out, "ok\n");
    return true;
}

static bool print_ready(void *arg, struct cw_str *out)
{
    const struct cw_dispatcher *d = arg;
    if (!d->server)
        return print_health(arg, out);
    bool is_full = cw_server_calls(d->server).full;
    const char *trouble = is_full ? "connections are refused: too few descriptors are left"
                                  : cw_server_trouble(d->server);
    if (d->stopping || !trouble)
        return print_health(arg, out);
    cw_str_addf(out, "%s\n", trouble);
    return false;
}

static void add_pages(struct cw_dispatcher *d, struct cw_http_page *pages)
{
    static const char text[] = "text/plain; charset=utf-8";
    pages[0] = (struct cw_http_page){.path = "/metrics",
                                     .type = "text/plain; version=0.0.4; charset=utf-8",
                                     .begin = begin_page};
    pages[1] = (struct cw_http_page){.path = "/healthz", .type = text, .print = print_health};
    pages[2] = (struct cw_http_page){.path = "/livez", .type = text, .print = print_alive};
    pages[3] = (struct cw_http_page){.path = "/readyz", .type = text, .print = print_ready};
    for (size_t i = 0; i < OWN_PAGES_N; i++)
        pages[i].arg = d;
    cw_web_add_pages(d, &pages[OWN_PAGES_N]);
}

int cw_metrics_open(struct cw_dispatcher *d, struct cw_err *err)
{
    static struct cw_http_page pages[OWN_PAGES_N + CW_WEB_PAGES_MAX + 1];
    if (!d->options.metrics_listen)
        return 0;
    add_pages(d, pages);
    int rc = d->options.metrics_tls
                 ? cw_metrics_tls_open(d, pages, err)
                 : cw_http_start(d->loop, d->options.metrics_listen, pages, &d->http, err);
    if (rc < 0)
        return cw_err_wrap(err, "--metrics-listen");
    d->metrics_port = cw_http_port(d->http);
    cw_log_info(CW_LOG_MOD, "metrics by HTTP at %s, port %u", d->options.metrics_listen,
                cw_http_port(d->http));
    return 0;
}

void cw_metrics_close(struct cw_dispatcher *d)
{
    cw_metrics_tls_close(d);
    cw_web_close(d);
    cw_http_stop(d->http);
    d->http = NULL;
}

static void handle_metrics(void *arg, struct cw_call *call, struct cw_rpc_msg *request)
{
    ProtobufCMessage *message =
        cw_svc_unpack(&cachew__v1__get_metrics_request__descriptor, call, request);
    if (!message)
        return;
    begin_metrics(arg, call, NULL);
    protobuf_c_message_free_unpacked(message, NULL);
}

void cw_svc_metrics_add(struct cw_dispatcher *d)
{
    const struct cw_method method = {"/cachew.v1.Admin/GetMetrics", handle_metrics, NULL, d};
    cw_server_add(d->server, &method);
}
