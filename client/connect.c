/* SPDX-License-Identifier: Apache-2.0 */
/* cachew_connect and cachew_disconnect: they start and end the client's loop thread and the private
 * cluster of "local:", and ask the dispatcher whether it is there. */
#include "client/model/client.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "auth/tls_files.h"
#include "auth/token_file.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/version.h"
#include "cachew/v1/admin.pb-c.h"
#include "client/model/cancel.h"
#include "client/embedded/embedded_cluster.h"
#include "client/embedded/local_workers.h"
#include "client/model/public.h"
#include "base/short_reason.h"
#include "client/transport/recvpool.h"
#include "loop/loop.h"
#include "shm/shm.h"
#include "wire/wire.h"

#define TIMEOUT_MS 10000
#define LOCAL_TIMEOUT_MS 30000
#define PROBE_MS 2000
#define PROBE_PAUSE_MAX_MS 500
/* The time that cachew_connect waits longer than its deadline for the last answer, which says why
 * the dispatcher cannot be reached. */
#define PROBE_LATE_MS 1000
/* "local:": the period at which the loop thread checks whether the child processes are alive. */
#define WATCH_MS 250
/* The largest amount of idle memory for received batches that is kept. */
#define KEEP_BYTES (256u << 20)

/* ---- the first question to the dispatcher ---- */

/* Asks the dispatcher for its version until it answers or the deadline has passed. cachew_connect
 * waits for the answer, which the loop thread writes. */
struct cw_connect_probe {
    struct cachew_client *client;
    struct cw_timer *retry;
    int64_t deadline_ms, pause_ms;
    struct cw_mutex mutex;
    struct cw_cond cond;
    bool done; /* The attempts are over. `mutex` guards it. */
    struct cw_err err;
};

static void probe_send(void *arg);

static void probe_end(struct cw_connect_probe *probe)
{
    cw_mutex_lock(&probe->mutex);
    probe->done = true;
    cw_cond_signal(&probe->cond);
    cw_mutex_unlock(&probe->mutex);
}

static void check_info(struct cw_connect_probe *probe, struct cw_rpc_msg *reply)
{
    const char *address = probe->client->address;
    ProtobufCMessage *base =
        cw_wire_unpack(&cachew__v1__info_reply__descriptor, reply, &probe->err);
    if (!base) {
        cw_err_wrap(&probe->err, "%s does not answer like a cachew dispatcher", address);
        return;
    }
    const Cachew__V1__InfoReply *info = (const Cachew__V1__InfoReply *)(void *)base;
    if (info->protocol != CW_PROTOCOL)
        cw_err_set(&probe->err, CW_E_UNSUPPORTED,
                   "the dispatcher at %s is of version %s (protocol %u), this library of %s "
                   "(protocol %d): upgrade the older one, dispatchers before trainers",
                   address, info->version, info->protocol, CW_VERSION, CW_PROTOCOL);
    protobuf_c_message_free_unpacked(base, NULL);
}

static void on_info(void *arg, struct cw_rpc_msg *reply, int code, const char *msg)
{
    struct cw_connect_probe *probe = arg;
    const char *address = probe->client->address;
    if (reply) {
        /* An attempt has succeeded, so the errors of earlier ones do not matter. */
        probe->err = (struct cw_err){0};
        check_info(probe, reply);
        probe_end(probe);
        return;
    }
    /* The code means that this process was forked from one that used gRPC, and that it has no
     * relay. */
    if (code == CW_E_STATE) {
        cw_err_set(&probe->err, code, "%s", msg);
        probe_end(probe);
        return;
    }
    if (code == CW_E_DENIED) {
        cw_err_set(&probe->err, code, "the dispatcher at %s refuses this client: %s", address, msg);
        probe_end(probe);
        return;
    }
    if (code == CW_E_UNSUPPORTED) {
        cw_err_set(
            &probe->err, code,
            "the server at %s is not a cachew dispatcher (%s): is this the address of a worker?",
            address, msg);
        probe_end(probe);
        return;
    }
    char why[256];
    cw_short_reason(address, msg && *msg ? msg : cw_err_text(code), why, sizeof(why));
    cw_err_set(&probe->err, CW_E_UNAVAILABLE, "cannot reach a dispatcher at %s: %s%s", address, why,
               strstr(why, "TLS") || strstr(why, "certificate")
                   ? ""
                   : ": is cachew-dispatcher running there?");
    if (cw_clock_ms() + probe->pause_ms >= probe->deadline_ms) {
        probe_end(probe);
        return;
    }
    cw_timer_start(probe->retry, probe->pause_ms, 0);
    probe->pause_ms = CW_MIN(2 * probe->pause_ms, PROBE_PAUSE_MAX_MS);
}

static void probe_send(void *arg)
{
    struct cw_connect_probe *probe = arg;
    Cachew__V1__InfoRequest request = CACHEW__V1__INFO_REQUEST__INIT;
    request.protocol = CW_PROTOCOL;
    struct cw_buf *buf = cw_wire_pack(&request.base);
    int64_t left = CW_MAX(probe->deadline_ms - cw_clock_ms(), 1);
    if (!probe->retry)
        /* The loop owns the timer and frees it. */
        probe->retry = cw_timer_new(probe->client->loop, probe_send, probe);
    cw_channel_unary(probe->client->channel, "/cachew.v1.Admin/Info", buf, CW_MIN(left, PROBE_MS),
                     on_info, probe);
    cw_buf_unref(buf);
}

static struct cw_connect_probe *probe_new(struct cachew_client *client, int64_t deadline_ms)
{
    struct cw_connect_probe *probe = CW_NEW(struct cw_connect_probe);
    probe->client = client;
    probe->deadline_ms = deadline_ms;
    probe->pause_ms = 20;
    cw_mutex_init(&probe->mutex);
    cw_cond_init(&probe->cond);
    return probe;
}

static void probe_free(struct cw_connect_probe *probe)
{
    if (!probe)
        return;
    cw_cond_fini(&probe->cond);
    cw_mutex_fini(&probe->mutex);
    cw_mem_free(probe);
}

static int probe_dispatcher(struct cachew_client *client, int64_t deadline_ms,
                            const struct cachew_cancel *cancel, struct cw_err *err)
{
    struct cw_connect_probe *probe = client->probe = probe_new(client, deadline_ms);
    int64_t give_up_ns = (deadline_ms + PROBE_LATE_MS) * 1000000;
    int rc = 0;
    cw_loop_post(client->loop, probe_send, probe);
    cw_mutex_lock(&probe->mutex);
    while (!probe->done && rc == 0) {
        if (cw_cancel_is_set(cancel))
            rc = cw_err_set(err, CW_E_CANCELLED, "connecting to %s was cancelled", client->address);
        else if (cw_clock_ns() >= give_up_ns)
            rc = cw_err_set(err, CW_E_UNAVAILABLE,
                            "cannot reach a dispatcher at %s within timeout_ms", client->address);
        else
            cw_cancel_wait(cancel, &probe->cond, &probe->mutex, give_up_ns);
    }
    if (rc == 0) {
        *err = probe->err;
        rc = err->code;
    }
    cw_mutex_unlock(&probe->mutex);
    return rc;
}

/* ---- the loop thread ---- */

static void on_watch(void *arg)
{
    cw_embedded_cluster_watch(arg);
}

static void loop_thread(void *arg)
{
    struct cachew_client *client = arg;
    struct cw_timer *watch =
        client->cluster ? cw_timer_new(client->loop, on_watch, client->cluster) : NULL;
    client->rpc = cw_rpc_new(client->loop);
    if (cw_tls_options_are_set(&client->tls))
        (void)cw_rpc_set_tls(client->rpc, &client->tls, NULL); /* The channel has the error. */
    client->channel = cw_channel_open(client->rpc, client->address);
    cw_channel_set_token(client->channel, client->token, client->token_file);
    if (watch)
        cw_timer_start(watch, WATCH_MS, WATCH_MS);
    cw_loop_run(client->loop);
    cw_timer_free(watch);
    cw_channel_close(client->channel);
    cw_rpc_free(client->rpc);
    cw_loop_free(client->loop);
}

static void stop_loop(void *arg)
{
    struct cachew_client *client = arg;
    cw_loop_stop(client->loop);
}

static void free_tls(struct cw_tls_options *tls)
{
    cw_mem_free((char *)(uintptr_t)tls->cert);
    cw_mem_free((char *)(uintptr_t)tls->key);
    cw_mem_free((char *)(uintptr_t)tls->ca);
    for (size_t i = 0; i < tls->roles.n; i++)
        cw_mem_free((char *)(uintptr_t)tls->roles.v[i]);
    *tls = (struct cw_tls_options){0};
}

static void client_free(struct cachew_client *client)
{
    if (client->loop) {
        cw_loop_post(client->loop, stop_loop, client);
        cw_thread_join(&client->thread);
    }
    probe_free(client->probe);
    cw_local_workers_finish(client);
    cw_embedded_cluster_stop(client->cluster);
    cw_recvpool_free(client->pool);
    cw_mem_free(client->address);
    cw_mem_free(client->token);
    cw_mem_free(client->token_file);
    free_tls(&client->tls);
    client->magic = 0;
    cw_mem_free(client);
}

const char *cachew_client_address(const struct cachew_client *client)
{
    return client->address;
}

void cachew_disconnect(struct cachew_client *client)
{
    if (!client || cw_client_check(client, NULL) != 0)
        return;
    /* The client's thread still serves these jobs, so it is better to leak the client than to free
     * it. */
    if (atomic_load(&client->jobs) != 0) {
        int open = atomic_load(&client->jobs);
        cw_log_error("client", "cachew_disconnect: %d job%s still open", open,
                     open == 1 ? " is" : "s are");
        return;
    }
    client_free(client);
}

static int read_options(const struct cachew_connect_options *given,
                        struct cachew_connect_options *ret_options, struct cw_err *err)
{
    struct cachew_connect_options options = CACHEW_CONNECT_OPTIONS_INIT;
    if (given) {
        if (given->struct_size < sizeof(size_t) || given->struct_size > 4096)
            return cw_err_set(err, CW_E_INVALID,
                              "connect options: struct_size is not set: initialise with "
                              "CACHEW_CONNECT_OPTIONS_INIT");
        memcpy(&options, given, CW_MIN(given->struct_size, sizeof(options)));
    }
    if (options.timeout_ms < 0 || options.local_workers < 0 || options.local_threads < 0)
        return cw_err_set(
            err, CW_E_INVALID,
            "connect options: timeout_ms, local_workers and local_threads must not be negative");
    options.timeout_ms = CW_MIN(options.timeout_ms, 24 * 3600 * 1000);
    *ret_options = options;
    return 0;
}

static int check_address(const char *address, struct cw_err *err)
{
    const char *colon = address ? strrchr(address, ':') : NULL;
    if (!address || !*address)
        return cw_err_set(err, CW_E_INVALID,
                          "no dispatcher address was given (HOST:PORT, unix:/path, or local:), and "
                          "the environment variable CACHEW_DISPATCHER has none");
    if (strcmp(address, "local:") == 0 || (strncmp(address, "unix:", 5) == 0 && address[5]))
        return 0;
    uint64_t port;
    if (!colon || colon == address || !cw_str_to_u64(colon + 1, &port) || port == 0 || port > 65535)
        return cw_err_set(
            err, CW_E_INVALID,
            "dispatcher address \"%s\": give HOST:PORT, unix:/path, or local:", address);
    return 0;
}

/* An address that was not given comes from the environment. Errors name that then. */
static int find_address(const char **address, struct cw_err *err)
{
    if (*address)
        return check_address(*address, err);
    *address = getenv("CACHEW_DISPATCHER");
    int rc = check_address(*address, err);
    return rc == 0 || !*address || !**address ? rc : cw_err_wrap(err, "CACHEW_DISPATCHER");
}

/* Says early what is wrong with the token, whether or not it will be asked for. */
static int set_token(struct cachew_client *client, const struct cachew_connect_options *options,
                     struct cw_err *err)
{
    char text[CW_AUTH_TOKEN_MAX + 1];
    const char *file = options->token_file;
    if (!file && !options->token)
        file = getenv("CACHEW_TOKEN_FILE");
    if (options->token) {
        client->token = cw_mem_strdup(options->token);
        return cw_auth_token_check(options->token, err) == 0
                   ? 0
                   : cw_err_wrap(err, "connect option token");
    }
    if (!file || !*file)
        return 0;
    client->token_file = cw_mem_strdup(file);
    int rc = cw_auth_own_token(file, text, err);
    explicit_bzero(text, sizeof(text));
    return rc;
}

/* Says early what is wrong with the files. A unix socket needs none. */
static int set_tls(struct cachew_client *client, const char *address,
                   const struct cachew_connect_options *options, struct cw_err *err)
{
    struct cw_tls_options tls = {
        .cert = options->tls_cert, .key = options->tls_key, .ca = options->tls_ca};
    struct cw_tls_files files;
    if (options->tls_roles)
        tls.roles.v[tls.roles.n++] = options->tls_roles;
    int rc = cw_tls_options_read(&tls, err);
    if (rc != 0 || !cw_tls_options_are_set(&tls) || cw_rpc_address_is_unix(address))
        return rc;
    client->tls.cert = cw_mem_strdup(tls.cert);
    client->tls.key = cw_mem_strdup(tls.key);
    client->tls.ca = cw_mem_strdup(tls.ca);
    for (size_t i = 0; i < tls.roles.n; i++)
        client->tls.roles.v[client->tls.roles.n++] = cw_mem_strdup(tls.roles.v[i]);
    rc = cw_tls_files_read(&client->tls, &files, err);
    cw_tls_files_fini(&files);
    return rc;
}

static int open_client(const char *address, const struct cachew_connect_options *options,
                       struct cachew_client *client, struct cw_err *err)
{
    int64_t now_ms = cw_clock_ms(), deadline_ms = now_ms + client->timeout_ms;
    int rc = find_address(&address, err);
    if (rc != 0)
        return rc;
    const bool is_local = strcmp(address, "local:") == 0;
    if (is_local && options->cache_quota > 0 && !options->cache_store)
        return cw_err_set(err, CW_E_INVALID,
                          "connect option cache_quota: limits a cache, and there is none without "
                          "cache_store");
    if (is_local) {
        deadline_ms = now_ms + (options->timeout_ms ? options->timeout_ms : LOCAL_TIMEOUT_MS);
        rc = cw_embedded_cluster_start(options, deadline_ms, &client->cluster, err);
        if (rc != 0)
            return rc;
        address = cw_embedded_cluster_address(client->cluster);
    } else if (options->cache_store || options->cache_quota > 0) {
        return cw_err_set(err, CW_E_INVALID,
                          "connect option %s: for local: only; here the dispatcher at %s "
                          "says where caches are kept",
                          options->cache_store ? "cache_store" : "cache_quota", address);
    }
    if (!client->cluster)
        rc = set_token(client, options, err);
    if (rc == 0 && !client->cluster)
        rc = set_tls(client, address, options, err);
    if (rc != 0)
        return rc;
    client->address = cw_mem_strdup(address);
    client->loop = cw_loop_new();
    cw_thread_start(&client->thread, "cachew-client", loop_thread, client);
    return probe_dispatcher(client, deadline_ms, options->cancel, err);
}

int cachew_connect(const char *address, const struct cachew_connect_options *options,
                   struct cachew_client **ret_client, struct cachew_error *error)
{
    struct cw_err err = {0};
    struct cachew_connect_options o = CACHEW_CONNECT_OPTIONS_INIT;
    if (!ret_client)
        return cw_public_set(error, CW_E_INVALID, "cachew_connect: ret_client must not be NULL");
    if (read_options(options, &o, &err) != 0)
        return cw_public_fail(error, &err);
    struct cachew_client *client = CW_NEW(struct cachew_client);
    client->magic = CW_CLIENT_MAGIC;
    client->pid = getpid();
    client->timeout_ms = o.timeout_ms ? o.timeout_ms : TIMEOUT_MS;
    client->shm = !o.no_shared_memory;
    client->writable = o.writable != 0;
    cw_shm_host_id(client->host_id, sizeof(client->host_id));
    client->pool = cw_recvpool_new(KEEP_BYTES);
    if (open_client(address, &o, client, &err) != 0) {
        client_free(client);
        return cw_public_fail(error, &err);
    }
    *ret_client = client;
    return 0;
}
