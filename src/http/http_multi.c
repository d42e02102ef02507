/* SPDX-License-Identifier: Apache-2.0 */
/* One multi handle of libcurl on a loop: sockets and the timer are the loop's. libcurl is entered
 * from callbacks of the loop alone (drive), and what it tells is looked at when it has returned. */
#include "base/mem.h"
#include "http/http_int.h"
#include "loop/socket_watch.h"

static void drive(struct cw_http_client *client, curl_socket_t fd, int events);

static void on_timer(void *arg)
{
    drive(arg, CURL_SOCKET_TIMEOUT, 0);
}

static void on_drive(void *arg)
{
    struct cw_http_client *client = arg;

    client->drive_posted = false;
    if (client->closing)
        cw_mem_free(client);
    else
        drive(client, CURL_SOCKET_TIMEOUT, 0);
}

static void wake(struct cw_http_client *client)
{
    if (client->drive_posted)
        return;
    client->drive_posted = true;
    client->drive = (struct cw_loop_node){.fn = on_drive, .arg = client};
    cw_loop_post_node(client->loop, &client->drive);
}

static int on_curl_timer(CURLM *multi, long ms, void *arg)
{
    struct cw_http_client *client = arg;

    (void)multi;
    if (ms < 0)
        cw_timer_stop(client->timer);
    else if (ms == 0)
        wake(client);
    else
        cw_timer_start(client->timer, ms, 0);
    return 0;
}

static void on_socket(void *arg, int fd, int events)
{
    drive(arg, fd,
          (events & CW_SOCKET_READ ? CURL_CSELECT_IN : 0) |
              (events & CW_SOCKET_WRITE ? CURL_CSELECT_OUT : 0));
}

static int on_curl_socket(CURL *easy, curl_socket_t fd, int what, void *arg, void *socket_arg)
{
    struct cw_http_client *client = arg;
    struct cw_socket_watch *watch = socket_arg;

    (void)easy;
    if (what == CURL_POLL_REMOVE) {
        cw_socket_watch_free(watch);
        return curl_multi_assign(client->multi, fd, NULL) == CURLM_OK ? 0 : -1;
    }
    if (!watch) {
        watch = cw_socket_watch_new(client->loop, fd, on_socket, client, NULL);
        if (!watch)
            return -1;
        curl_multi_assign(client->multi, fd, watch);
    }
    cw_socket_watch_set(watch, (what & CURL_POLL_IN ? CW_SOCKET_READ : 0) |
                                   (what & CURL_POLL_OUT ? CW_SOCKET_WRITE : 0));
    return 0;
}

/* Frees the calls that were cancelled while libcurl was at work. */
static void free_cancelled(struct cw_http_client *client)
{
    struct cw_http_call *next;

    for (struct cw_http_call *call = client->calls; call; call = next) {
        next = call->next;
        if (call->cancelled)
            client->free_call(call);
    }
}

static void add_waiting(struct cw_http_client *client)
{
    while (client->waiting) {
        struct cw_http_call *call = client->waiting;

        client->waiting = call->next_waiting;
        if (!call->cancelled)
            cw_http_multi_add(client, call);
    }
}

/* Tells ends, one after the other: what is told may cancel and begin other calls. */
static void tell_ends(struct cw_http_client *client)
{
    CURLMsg *message;
    int left;

    while ((message = curl_multi_info_read(client->multi, &left))) {
        struct cw_http_call *call = NULL;
        CURLcode result = message->data.result;

        curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, (char **)&call);
        client->end_call(call, result);
    }
}

/* The only way into libcurl that moves data. */
static void drive(struct cw_http_client *client, curl_socket_t fd, int events)
{
    int running;

    client->in_curl = true;
    curl_multi_socket_action(client->multi, fd, events, &running);
    client->in_curl = false;
    add_waiting(client);
    free_cancelled(client);
    tell_ends(client);
}

void cw_http_multi_add(struct cw_http_client *client, struct cw_http_call *call)
{
    if (client->in_curl) {
        struct cw_http_call **at = &client->waiting;

        while (*at)
            at = &(*at)->next_waiting;
        call->next_waiting = NULL;
        *at = call;
        return;
    }
    client->in_curl = true; /* its callbacks are called from here, too */
    call->added = curl_multi_add_handle(client->multi, call->easy) == CURLM_OK;
    client->in_curl = false;
    CW_ASSERT(call->added);
}

void cw_http_multi_remove(struct cw_http_client *client, struct cw_http_call *call)
{
    if (!call->added)
        return;
    client->in_curl = true;
    curl_multi_remove_handle(client->multi, call->easy);
    client->in_curl = false;
    call->added = false;
}

void cw_http_multi_start(struct cw_http_client *client)
{
    CW_ASSERT(curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK); /* it counts */
    client->timer = cw_timer_new(client->loop, on_timer, client);
    client->multi = curl_multi_init();
    CW_ASSERT(client->multi);
    curl_multi_setopt(client->multi, CURLMOPT_SOCKETFUNCTION, on_curl_socket);
    curl_multi_setopt(client->multi, CURLMOPT_SOCKETDATA, client);
    curl_multi_setopt(client->multi, CURLMOPT_TIMERFUNCTION, on_curl_timer);
    curl_multi_setopt(client->multi, CURLMOPT_TIMERDATA, client);
    curl_multi_setopt(client->multi, CURLMOPT_PIPELINING, (long)CURLPIPE_MULTIPLEX);
}

void cw_http_multi_stop(struct cw_http_client *client)
{
    client->in_curl = true; /* sockets and the timer are taken back */
    curl_multi_cleanup(client->multi);
    cw_timer_free(client->timer);
    client->closing = true;
    if (!client->drive_posted)
        cw_mem_free(client);
}
