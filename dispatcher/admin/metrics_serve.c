/* SPDX-License-Identifier: Apache-2.0 */
/* Serves metrics, by the call Admin.GetMetrics and by HTTP. */
#include "daemon/http.h"
#include "dispatcher/admin/admin_int.h"

static bool print_metrics(void *arg, struct cw_str *out)
{
    cw_metrics_print(arg, out);
    return true;
}

static bool print_health(void *arg, struct cw_str *out)
{
    const struct cw_dispatcher *d = arg;
    cw_str_add(out, d->stopping    ? "stopping\n"
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
    bool is_full = cw_server_calls(d->server).full;
    const char *trouble = is_full ? "connections are refused: too few descriptors are left"
                                  : cw_server_trouble(d->server);
    if (d->stopping || !trouble)
        return print_health(arg, out);
    cw_str_addf(out, "%s\n", trouble);
    return false;
}

int cw_metrics_open(struct cw_dispatcher *d, struct cw_err *err)
{
    static struct cw_http_page pages[5];
    if (!d->options.metrics_listen)
        return 0;
    pages[0] = (struct cw_http_page){"/metrics", "text/plain; version=0.0.4; charset=utf-8",
                                     print_metrics, d};
    pages[1] = (struct cw_http_page){"/healthz", "text/plain; charset=utf-8", print_health, d};
    pages[2] = (struct cw_http_page){"/livez", "text/plain; charset=utf-8", print_alive, d};
    pages[3] = (struct cw_http_page){"/readyz", "text/plain; charset=utf-8", print_ready, d};
    int rc = cw_http_start(d->loop, d->options.metrics_listen, pages, &d->http, err);
    if (rc < 0)
        return cw_err_wrap(err, "--metrics-listen");
    cw_server_add_probe(d->server);
    cw_log_info(CW_LOG_MOD, "metrics by HTTP at %s, port %u", d->options.metrics_listen,
                cw_http_port(d->http));
    return 0;
}

void cw_metrics_close(struct cw_dispatcher *d)
{
    cw_http_stop(d->http);
    d->http = NULL;
}

static void handle_metrics(void *arg, struct cw_call *call, struct cw_rpc_msg *request)
{
    ProtobufCMessage *message =
        cw_svc_unpack(&cachew__v1__get_metrics_request__descriptor, call, request);
    if (!message)
        return;
    CW_STR_AUTO text = {0};
    Cachew__V1__GetMetricsReply answer = CACHEW__V1__GET_METRICS_REPLY__INIT;
    cw_metrics_print(arg, &text);
    answer.text = (char *)(uintptr_t)cw_str_text(&text);
    cw_svc_reply(call, &answer.base);
    protobuf_c_message_free_unpacked(message, NULL);
}

void cw_svc_metrics_add(struct cw_dispatcher *d)
{
    const struct cw_method method = {"/cachew.v1.Admin/GetMetrics", handle_metrics, NULL, d};
    cw_server_add(d->server, &method);
}
