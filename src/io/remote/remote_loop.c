/* SPDX-License-Identifier: Apache-2.0 */
/* Starts and ends the loop thread. Whom it trusts says SSL_CERT_FILE, else the system. */
#include "io/remote/remote_loop.h"

#include <stdlib.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/thread.h"
#include "base/version.h"
#include "io/remote/small_file.h"

#define PATIENCE_MS INT64_C(120000)

static struct {
    struct cw_mutex mutex; /* guards starting and ending */
    struct cw_loop *loop;
    struct cw_http_client *client;
    struct cw_thread thread;
    int64_t patience_ms;
} remote = {.mutex = CW_MUTEX_INIT};

static void run(void *arg)
{
    cw_loop_run(arg);
}

/* Reads how patient fetches are. */
static int64_t patience_of_environment(void)
{
    const char *text = getenv("CACHEW_SOURCE_PATIENCE");
    int64_t ms = 0;
    if (!text || !*text)
        return PATIENCE_MS;
    if (cw_str_to_ms(text, &ms) && ms > 0)
        return ms;
    cw_log_warn("io", "CACHEW_SOURCE_PATIENCE is no time such as 30s: two minutes it is");
    return PATIENCE_MS;
}

static char *trusted(void)
{
    const char *path = getenv("SSL_CERT_FILE");
    struct cw_str text = {0};
    struct cw_err err = {0};
    if (!path || !*path)
        return NULL;
    if (cw_small_file_read(path, &text, &err) == 0)
        return cw_str_take(&text);
    cw_log_warn("io", "SSL_CERT_FILE: %s", err.msg);
    return NULL;
}

static void start(void)
{
    cw_autofree char *ca = trusted();
    const struct cw_http_identity identity = {.ca = ca};
    remote.patience_ms = patience_of_environment();
    remote.loop = cw_loop_new();
    int rc = cw_http_client_new(remote.loop, "cachew/" CW_VERSION, &identity, &remote.client, NULL);
    CW_ASSERT(rc == 0); /* it has no certificate of its own, of which something could be wrong */
    cw_thread_start(&remote.thread, "cachew-io", run, remote.loop);
}

struct cw_loop *cw_remote_loop(void)
{
    cw_mutex_lock(&remote.mutex);
    if (!remote.loop)
        start();
    struct cw_loop *loop = remote.loop;
    cw_mutex_unlock(&remote.mutex);
    return loop;
}

struct cw_http_client *cw_remote_client(void)
{
    return remote.client;
}

int64_t cw_remote_patience_ms(void)
{
    return remote.patience_ms;
}

static void end(void *arg)
{
    cw_http_client_free(remote.client);
    cw_loop_stop(arg);
}

void cw_remote_loop_stop(void)
{
    cw_mutex_lock(&remote.mutex);
    if (remote.loop) {
        cw_loop_post(remote.loop, end, remote.loop);
        cw_thread_join(&remote.thread);
        cw_loop_free(remote.loop);
        remote.loop = NULL;
    }
    cw_mutex_unlock(&remote.mutex);
}
