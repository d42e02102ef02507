/* SPDX-License-Identifier: Apache-2.0 */
/* The health service, grpc.health.v1: Check and Watch. The whole process ("") and every service in
 * it share one state. Two more names are what kubelets ask for: "liveness", which is SERVING whenever
 * there is an answer, and "readiness". */
#include <string.h>

#include "base/mem.h"
#include "grpc/health/v1/health.pb-c.h"
#include "rpc/server_int.h"

#define STATUS(name) GRPC__HEALTH__V1__HEALTH_CHECK_RESPONSE__SERVING_STATUS__##name

enum subject { SERVICE_IS_UNKNOWN, SERVICE, LIVENESS, READINESS };

struct watcher {
    struct cw_health *health;
    struct cw_stream *stream;
    struct watcher *next, **prev;
    enum subject subject;
    bool asked; /* the request has arrived */
    int told;   /* the status that was sent last */
};
struct cw_health {
    struct cw_server_part part;
    struct cw_server *server;
    bool serving;
    bool ready; /* See cw_server_set_ready. */
    struct watcher *watchers;
};

static int status_of(const struct cw_health *health, enum subject subject)
{
    switch (subject) {
    case LIVENESS:
        return STATUS(SERVING);
    case SERVICE:
        return health->serving ? STATUS(SERVING) : STATUS(NOT_SERVING);
    case READINESS:
        return health->serving && health->ready ? STATUS(SERVING) : STATUS(NOT_SERVING);
    case SERVICE_IS_UNKNOWN:
        break;
    }
    return STATUS(SERVICE_UNKNOWN);
}

static struct cw_buf *reply_of(int status)
{
    Grpc__Health__V1__HealthCheckResponse reply = GRPC__HEALTH__V1__HEALTH_CHECK_RESPONSE__INIT;
    reply.status = (Grpc__Health__V1__HealthCheckResponse__ServingStatus)status;
    uint8_t bytes[16];
    size_t n = grpc__health__v1__health_check_response__pack(&reply, bytes);
    return cw_buf_copy(bytes, n);
}

static enum subject subject_of(const struct cw_health *health, const char *name)
{
    if (strcmp(name, "liveness") == 0)
        return LIVENESS;
    if (strcmp(name, "readiness") == 0)
        return READINESS;
    return *name == '\0' || cw_server_has_service(health->server, name) ? SERVICE
                                                                        : SERVICE_IS_UNKNOWN;
}

/* Returns a subject, or a cw_code if the request cannot be parsed. */
static int find_service(const struct cw_health *health, struct cw_rpc_msg *msg)
{
    size_t n = cw_rpc_msg_len(msg);
    const void *flat = n <= 4096 ? cw_rpc_msg_flat(msg, n) : NULL;
    Grpc__Health__V1__HealthCheckRequest *request =
        flat ? grpc__health__v1__health_check_request__unpack(NULL, n, flat) : NULL;
    if (!request)
        return CW_E_INVALID;
    enum subject subject = subject_of(health, request->service);
    grpc__health__v1__health_check_request__free_unpacked(request, NULL);
    return (int)subject;
}

static void handle_check(void *arg, struct cw_call *call, struct cw_rpc_msg *msg)
{
    struct cw_health *health = arg;
    int subject = find_service(health, msg);
    if (subject < 0) {
        cw_call_fail(call, CW_E_INVALID, "not a HealthCheckRequest");
    } else if (subject == SERVICE_IS_UNKNOWN) {
        cw_call_fail(call, CW_E_NOT_FOUND, "unknown service");
    } else {
        struct cw_buf *reply = reply_of(status_of(health, (enum subject)subject));
        cw_call_reply(call, reply);
        cw_buf_unref(reply);
    }
}

static void send_status(struct watcher *watcher)
{
    watcher->told = status_of(watcher->health, watcher->subject);
    struct cw_buf *reply = reply_of(watcher->told);
    cw_stream_send(watcher->stream, &reply, 1);
    cw_buf_unref(reply);
}

static void watcher_free(struct watcher *watcher)
{
    *watcher->prev = watcher->next;
    if (watcher->next)
        watcher->next->prev = watcher->prev;
    cw_stream_free(watcher->stream);
    cw_mem_free(watcher);
}

static void on_watch_message(void *arg, struct cw_rpc_msg *msg)
{
    struct watcher *watcher = arg;
    int subject = find_service(watcher->health, msg);
    if (subject < 0 || watcher->asked) {
        cw_stream_finish(watcher->stream, CW_E_INVALID, "not one HealthCheckRequest");
        return;
    }
    watcher->asked = true;
    watcher->subject = (enum subject)subject;
    send_status(watcher);
}

static void on_watch_close(void *arg, int code, const char *msg)
{
    (void)code;
    (void)msg;
    watcher_free(arg);
}

static void handle_watch(void *arg, struct cw_stream *stream)
{
    static const struct cw_stream_cb cb = {.on_message = on_watch_message,
                                           .on_close = on_watch_close};
    struct cw_health *health = arg;
    struct watcher *watcher = CW_NEW(struct watcher);
    watcher->health = health;
    watcher->stream = stream;
    watcher->next = health->watchers;
    watcher->prev = &health->watchers;
    if (watcher->next)
        watcher->next->prev = &watcher->next;
    health->watchers = watcher;
    cw_stream_accept(stream, &cb, watcher);
    cw_stream_hold_open(stream); /* the client has half-closed the stream already */
}

static void tell_watchers(struct cw_health *health)
{
    for (struct watcher *watcher = health->watchers; watcher; watcher = watcher->next)
        if (watcher->asked && watcher->told != status_of(health, watcher->subject))
            send_status(watcher);
}

static void stop_health(struct cw_server_part *part)
{
    struct cw_health *health = CW_CONTAINER_OF(part, struct cw_health, part);
    health->serving = false;
    tell_watchers(health);
    for (struct watcher *watcher = health->watchers; watcher; watcher = watcher->next)
        cw_stream_finish(watcher->stream, CW_E_UNAVAILABLE, "the server is stopping");
}

static void destroy_health(struct cw_server_part *part)
{
    struct cw_health *health = CW_CONTAINER_OF(part, struct cw_health, part);
    CW_ASSERT(!health->watchers);
    cw_mem_free(health);
}

void cw_server_add_health(struct cw_server *server)
{
    struct cw_health *health = CW_NEW(struct cw_health);
    health->server = server;
    health->serving = health->ready = true;
    cw_server_add(server, &(struct cw_method){.path = "/grpc.health.v1.Health/Check",
                                              .unary = handle_check,
                                              .arg = health});
    cw_server_add(server, &(struct cw_method){.path = "/grpc.health.v1.Health/Watch",
                                              .stream = handle_watch,
                                              .arg = health});
    health->part = (struct cw_server_part){.stop = stop_health, .destroy = destroy_health};
    cw_server_add_part(server, &health->part);
    server->health = health;
}

bool cw_server_is_serving(const struct cw_server *server)
{
    return server->health && server->health->serving;
}

void cw_server_set_serving(struct cw_server *server, bool serving)
{
    if (!server->health)
        return;
    server->health->serving = serving;
    tell_watchers(server->health);
}

void cw_server_set_ready(struct cw_server *server, bool ready)
{
    if (!server->health)
        return;
    server->health->ready = ready;
    tell_watchers(server->health);
}
