/* SPDX-License-Identifier: Apache-2.0 */
/* The tracer of this process: it gathers spans as text and sends them about once a second, one request
 * at a time. Loop thread. */
#include "trace/trace.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/version.h"
#include "http/http_client.h"
#include "http/http_url.h"
#include "trace/trace_int.h"

#define SEND_MS 1000
#define TIMEOUT_MS 10000
#define GATHERED_MAX ((size_t)1 << 20) /* bytes of spans, beyond which new ones are dropped */
#define ANSWER_MAX 65536
#define WALL_NS 10000000 /* wall time that is off by more was set */

struct tracer {
    char *url, *service, *instance;
    char *shown; /* the URL without name and password */
    uint64_t every, counter;
    int64_t wall_ns;
    struct cw_http_client *http;
    struct cw_http_call *call; /* the request that is out */
    struct cw_timer *timer;    /* runs while there are spans to be sent */
    struct cw_str spans;
    uint64_t dropped;
    bool failed; /* the last request did, and it was logged */
    struct cw_trace_open *open;
    size_t open_next;
};
static struct tracer *tracer;

struct cw_trace_open *cw_trace_opened(size_t **ret_next)
{
    *ret_next = tracer ? &tracer->open_next : NULL;
    return tracer ? tracer->open : NULL;
}

bool cw_trace_has(uint64_t item)
{
    return tracer && item % tracer->every == 0;
}

bool cw_trace_next(const struct cw_set *items, uint64_t from, uint64_t *ret_item)
{
    if (!tracer)
        return false;
    for (size_t i = cw_set_find(items, from); i < items->n; i++) {
        uint64_t lo = CW_MAX(items->v[i].lo, from), past = lo % tracer->every;
        uint64_t left = past == 0 ? 0 : tracer->every - past;
        if (left < items->v[i].hi - lo) {
            *ret_item = lo + left;
            return true;
        }
    }
    return false;
}

static void on_end(void *arg, int code, const struct cw_http_response *response,
                   const struct cw_err *err)
{
    (void)arg;
    tracer->call = NULL;
    bool failed = code != CW_OK || response->status < 200 || response->status > 299;
    if (failed && !tracer->failed && code != CW_OK)
        cw_log_warn("trace", "traces are lost: %s", err->msg);
    else if (failed && !tracer->failed)
        cw_log_warn("trace", "traces are lost: %s answers %d", tracer->shown, response->status);
    else if (!failed && tracer->dropped > 0)
        cw_log_warn("trace", "%llu spans were dropped: there were too many for one request",
                    (unsigned long long)tracer->dropped);
    tracer->failed = failed;
    tracer->dropped = failed ? tracer->dropped : 0;
}

static void send_spans(void *arg)
{
    static const char *const headers[] = {"Content-Type: application/json", NULL};
    (void)arg;
    if (tracer->call)
        return;
    if (tracer->spans.len == 0) {
        cw_timer_stop(tracer->timer);
        return;
    }
    CW_STR_AUTO body = {0};
    cw_trace_text_wrap(&body, tracer->service, tracer->instance, cw_str_text(&tracer->spans));
    cw_str_clear(&tracer->spans);
    const struct cw_http_request request = {.method = "POST",
                                            .url = tracer->url,
                                            .headers = headers,
                                            .body = cw_str_text(&body),
                                            .body_n = body.len,
                                            .timeout_ms = TIMEOUT_MS,
                                            .body_max = ANSWER_MAX};
    tracer->call =
        cw_http_call_new(tracer->http, &request, &(struct cw_http_events){.on_end = on_end});
}

/* What is to be added to cw_clock_ns stays as it is until wall time was set, so that parts of one trace
 * keep their order. */
static void set_wall(void)
{
    int64_t wall_ns = cw_clock_wall_ms() * 1000000 - cw_clock_ns();
    if (llabs(wall_ns - tracer->wall_ns) > WALL_NS)
        tracer->wall_ns = wall_ns;
}

void cw_trace_add(const struct cw_trace_span *span)
{
    if (!tracer)
        return;
    if (tracer->spans.len > GATHERED_MAX) {
        tracer->dropped++;
        return;
    }
    set_wall();
    uint64_t own = cw_mix64(cw_rng_process_id() + ++tracer->counter);
    if (tracer->spans.len > 0)
        cw_str_add_char(&tracer->spans, ',');
    cw_trace_text_add(&tracer->spans, span, own, tracer->wall_ns);
    if (!cw_timer_is_active(tracer->timer))
        cw_timer_start(tracer->timer, SEND_MS, SEND_MS);
}

int cw_trace_start(struct cw_loop *loop, const struct cw_trace_options *options, struct cw_err *err)
{
    if (!options->url || !*options->url)
        return 0;
    cw_autofree char *shown = cw_http_url_shown(options->url);
    if (!cw_str_starts(options->url, "http://") && !cw_str_starts(options->url, "https://"))
        return cw_err_set(err, CW_E_INVALID,
                          "--trace-url \"%s\": give http://HOST:PORT/v1/traces, or https", shown);
    struct tracer *made = CW_NEW(struct tracer);
    const struct cw_http_identity identity = {0};
    int rc = cw_http_client_new(loop, "cachew/" CW_VERSION, &identity, &made->http, err);
    if (rc != 0) {
        cw_mem_free(made);
        return rc;
    }
    made->url = cw_mem_strdup(options->url);
    made->shown = cw_steal(&shown);
    made->service = cw_mem_strdup(options->service);
    made->instance = cw_mem_strdup(options->instance);
    made->every = CW_MAX(options->every, (uint64_t)1);
    made->open = CW_NEW_ARRAY(struct cw_trace_open, CW_TRACE_OPEN_MAX);
    made->timer = cw_timer_new(loop, send_spans, NULL);
    tracer = made;
    return 0;
}

void cw_trace_stop(void)
{
    struct tracer *ended = cw_steal(&tracer);
    if (!ended)
        return;
    cw_http_call_cancel(ended->call);
    cw_http_client_free(ended->http);
    cw_timer_free(ended->timer);
    cw_str_fini(&ended->spans);
    cw_mem_free(ended->open);
    cw_mem_free(ended->url);
    cw_mem_free(ended->shown);
    cw_mem_free(ended->service);
    cw_mem_free(ended->instance);
    cw_mem_free(ended);
}
