/* SPDX-License-Identifier: Apache-2.0 */
/* cachew_job_start and cachew_job_close: they check the options, and start and end the session on
 * the loop thread. */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/mem.h"
#include "base/name.h"
#include "base/str.h"
#include "client/model/cancel.h"
#include "client/model/client_job.h"
#include "client/pipeline.h"
#include "client/model/public.h"
#include "client/session/session.h"

#define POLICY_BYTES_MAX 256
#define TELL_NS INT64_C(1000000000) /* on_waiting is called at most so often. */

/* Returns whose job it is: as the options say, else the environment; NULL: neither says it. */
static const char *tenant_of(const struct cachew_job_options *o)
{
    return o->tenant && *o->tenant ? o->tenant : getenv("CACHEW_TENANT");
}

/* Returns the job's cache: as the options say, else the environment; NULL: neither says it. A private
 * dispatcher (local:) has no named caches, and is not meant by the environment. */
static const char *cache_of(const struct cachew_job_options *o, bool local)
{
    return (o->cache && *o->cache) || local ? o->cache : getenv("CACHEW_CACHE");
}

static int check_options(const struct cachew_job_options *o, bool local, struct cw_err *err)
{
    if (o->mode > CACHEW_SHARED)
        return cw_err_set(
            err, CW_E_INVALID,
            "job option mode: %d is none of CACHEW_SINGLE, CACHEW_COORDINATED, CACHEW_SHARED",
            (int)o->mode);
    uint32_t consumers = o->consumers ? o->consumers : 1;
    if (o->mode == CACHEW_SINGLE && consumers != 1)
        return cw_err_set(
            err, CW_E_INVALID,
            "job option consumers: %u consumers need mode CACHEW_COORDINATED or CACHEW_SHARED",
            consumers);
    if (o->consumer >= consumers)
        return cw_err_set(err, CW_E_INVALID, "job option consumer: %u is not below consumers (%u)",
                          o->consumer, consumers);
    if (o->name && cw_name_check_job(o->name, err) != 0)
        return cw_err_wrap(err, "job option name");
    if (o->mode != CACHEW_SINGLE && (!o->name || !*o->name))
        return cw_err_set(
            err, CW_E_INVALID,
            "job option name: a job of several consumers needs one, by which they find it");
    const char *tenant = tenant_of(o);
    if (tenant && cw_name_check_tenant(tenant, err) != 0)
        return cw_err_wrap(err, tenant == o->tenant ? "job option tenant" : "CACHEW_TENANT");
    const char *cache = cache_of(o, local);
    if (cache && cw_name_check_cache(cache, err) != 0)
        return cw_err_wrap(err, cache == o->cache ? "job option cache" : "CACHEW_CACHE");
    if (o->autocache && strlen(o->autocache) > POLICY_BYTES_MAX)
        return cw_err_set(err, CW_E_INVALID, "job option autocache: longer than %d bytes",
                          POLICY_BYTES_MAX);
    enum cw_identity identity;
    if (o->identity && cw_identity_parse(o->identity, "job option identity", &identity, err) != 0)
        return CW_E_INVALID;
    const char *const policies[][2] = {
        {"autoscale", o->autoscale}, {"autoplace", o->autoplace}, {"optimize", o->optimize}};
    for (size_t i = 0; i < CW_ARRAY_LEN(policies); i++)
        if (policies[i][1] && strlen(policies[i][1]) > POLICY_BYTES_MAX)
            return cw_err_set(err, CW_E_INVALID, "job option %s: longer than %d bytes",
                              policies[i][0], POLICY_BYTES_MAX);
    if (o->fusion && strcmp(o->fusion, "auto") != 0 && strcmp(o->fusion, "off") != 0)
        return cw_err_set(err, CW_E_INVALID, "job option fusion: \"%.100s\" is not auto or off",
                          o->fusion);
    if (o->max_workers > 0 && o->min_workers > o->max_workers)
        return cw_err_set(err, CW_E_INVALID,
                          "job option min_workers: %u is more than max_workers (%u)",
                          o->min_workers, o->max_workers);
    if (!(o->weight >= 0) || !(o->max_stall >= 0 && o->max_stall <= 1) || !(o->client_price >= 0) ||
        !(o->local_cpus >= 0))
        return cw_err_set(
            err, CW_E_INVALID,
            "job options weight, client_price and local_cpus must be 0 or more, max_stall 0 to 1");
    if (o->local_workers > CW_LOCAL_WORKERS_MAX)
        return cw_err_set(err, CW_E_INVALID, "job option local_workers: %u is over %d",
                          o->local_workers, CW_LOCAL_WORKERS_MAX);
    if (o->local_nice < 0 || o->local_nice > 19)
        return cw_err_set(err, CW_E_INVALID, "job option local_nice: %d is not 0 to 19",
                          o->local_nice);
    if (o->local_memory > 0 &&
        o->local_memory / CW_MAX(o->local_workers, 1u) < CW_LOCAL_WORKER_BYTES_MIN)
        return cw_err_set(
            err, CW_E_INVALID,
            "job option local_memory: %llu bytes are less than 16M for each of %u local workers",
            (unsigned long long)o->local_memory, CW_MAX(o->local_workers, 1u));
    if (o->token && o->token_bytes == 0)
        return cw_err_set(err, CW_E_INVALID, "job option token_bytes: 0, but there is a token");
    return 0;
}

static int read_options(const struct cachew_job_options *given, bool local,
                        struct cachew_job_options *ret_options, struct cw_err *err)
{
    struct cachew_job_options options = CACHEW_JOB_OPTIONS_INIT;
    if (given) {
        if (given->struct_size < sizeof(size_t) || given->struct_size > 4096)
            return cw_err_set(
                err, CW_E_INVALID,
                "job options: struct_size is not set: initialise with CACHEW_JOB_OPTIONS_INIT");
        memcpy(&options, given, CW_MIN(given->struct_size, sizeof(options)));
    }
    *ret_options = options;
    return check_options(&options, local, err);
}

static char *dup_given(const char *text)
{
    return text && *text ? cw_mem_strdup(text) : NULL;
}

static int make_conf(const struct cachew_pipeline *pipeline, const struct cachew_job_options *o,
                     bool local, struct cw_session_conf *ret_conf, struct cw_err *err)
{
    struct cw_session_conf conf = {.seed = o->seed,
                                   .epochs = o->epochs,
                                   .buffer_bytes = o->buffer_bytes,
                                   .lease_items = o->lease_items,
                                   .window = o->window,
                                   .mode = (uint32_t)o->mode,
                                   .consumers = o->consumers ? o->consumers : 1,
                                   .consumer = o->consumer,
                                   .unordered = o->unordered != 0,
                                   .skip_bad = o->bad_elements == CACHEW_BAD_SKIP,
                                   .at_most_once = o->at_most_once != 0};
    if (o->token) {
        int rc = cw_token_decode(o->token, o->token_bytes, &conf.token, err);
        if (rc != 0)
            return rc;
        conf.token_bytes = cw_mem_dup(o->token, o->token_bytes);
        conf.token_n = o->token_bytes;
    }
    conf.graph = cw_graph_ref(cw_pipeline_graph(pipeline));
    conf.identity = conf.graph->identity;
    if (o->identity) /* The name is valid: check_options has checked it. */
        (void)!cw_identity_parse(o->identity, "", &conf.identity, NULL);
    conf.name = dup_given(o->name);
    conf.autocache = dup_given(o->autocache);
    conf.tenant = dup_given(tenant_of(o));
    conf.cache = dup_given(cache_of(o, local));
    conf.autoscale = dup_given(o->autoscale);
    conf.autoplace = dup_given(o->autoplace);
    conf.optimize = dup_given(o->optimize);
    conf.plan = dup_given(o->plan);
    conf.profile = dup_given(o->profile);
    conf.relaxed = o->relaxed != 0;
    conf.apart = o->fusion && strcmp(o->fusion, "off") == 0;
    conf.min_workers = o->min_workers;
    conf.max_workers = o->max_workers;
    conf.local = (struct cw_local_workers_conf){.max = o->local_workers,
                                                .threads = o->local_threads,
                                                .nice_level = o->local_nice,
                                                .cpus = o->local_cpus,
                                                .memory = o->local_memory,
                                                .everywhere = o->mode != CACHEW_SINGLE};
    conf.priority = o->priority;
    conf.weight = o->weight;
    conf.max_stall = o->max_stall;
    conf.client_price = o->client_price;
    *ret_conf = conf;
    return 0;
}

struct open_call {
    struct cachew_job *job;
    struct cw_session_conf conf;
};

static void open_on_loop(void *arg)
{
    struct open_call *call = arg;
    call->job->session = cw_session_new(call->job, &call->conf);
    cw_mem_free(call);
}

static void on_kick(void *arg)
{
    struct cachew_job *job = arg;
    atomic_store_explicit(&job->kicked, 0, memory_order_release);
    if (job->session)
        cw_session_kicked(job->session);
}

static void on_closed(void *arg)
{
    struct cachew_job *job = arg;
    job->session = NULL;
    cw_mutex_lock(&job->mutex);
    job->closed = true;
    cw_cond_broadcast(&job->cond); /* The lock is held, because the waiting thread frees the job. */
    cw_mutex_unlock(&job->mutex);
}

static void close_on_loop(void *arg)
{
    struct cachew_job *job = arg;
    cw_session_close(job->session, on_closed, job);
}

/* A wake-up of the loop may still be posted with the job's node. Posted calls run in order, so once
 * this one has run the node may be freed. */
static void last_on_loop(void *arg)
{
    on_closed(arg);
}

static void wait_closed(struct cachew_job *job)
{
    cw_mutex_lock(&job->mutex);
    while (!job->closed)
        cw_cond_wait(&job->cond, &job->mutex);
    job->closed = false;
    cw_mutex_unlock(&job->mutex);
}

static void free_list(struct cachew_batch *list)
{
    while (list) {
        struct cachew_batch *next = list->next;
        cachew_batch_release(list);
        list = next;
    }
}

void cachew_job_close(struct cachew_job *job)
{
    if (!job || cw_client_job_check(job, NULL) != 0)
        return;
    cw_loop_post(job->client->loop, close_on_loop, job);
    wait_closed(job);
    free_list(job->taken);
    free_list(job->head);
    cw_loop_post(job->client->loop, last_on_loop, job);
    wait_closed(job);
    atomic_fetch_sub(&job->client->jobs, 1);
    cw_set_fini(&job->used);
    cw_bad_list_unref(job->last_bad.list);
    if (job->has_fd)
        close(job->fd);
    cw_spec_fini(&job->spec.of);
    cw_pads_unref(job->pads);
    cw_mem_free(job->id);
    for (size_t i = 0; i < job->old_ids_n; i++)
        cw_mem_free(job->old_ids[i]);
    cw_mem_free(job->old_ids);
    cw_cond_fini(&job->cond);
    cw_mutex_fini(&job->mutex);
    job->magic = 0;
    cw_mem_free(job);
}

static int fail_start(const struct cachew_job *job, struct cw_err *err)
{
    if (job->waits.kind == CACHEW_WAIT_NOTHING)
        return cw_err_set(err, CW_E_UNAVAILABLE,
                          "the job did not start: nothing moved for %lld ms: the dispatcher at %s "
                          "does not answer",
                          (long long)job->client->timeout_ms, job->client->address);
    return cw_err_set(err, CW_E_UNAVAILABLE, "the job did not start: nothing moved for %lld ms: %s",
                      (long long)job->client->timeout_ms, job->waits.text);
}

/* Calls on_waiting, without the lock, if there is something to tell. */
static void tell_waiting(struct cachew_job *job, const struct cachew_job_options *o)
{
    struct cachew_waiting waiting = CACHEW_WAITING_INIT;
    cw_waits_tell(&job->waits, cw_clock_ns(), &waiting);
    cw_mutex_unlock(&job->mutex);
    if (waiting.kind != CACHEW_WAIT_NOTHING)
        o->on_waiting(o->on_waiting_arg, &waiting);
    cw_mutex_lock(&job->mutex);
}

/* Waits until the dispatcher has welcomed this client. The time limit begins anew whenever the
 * dispatcher reports that something has moved. */
static int wait_started(struct cachew_job *job, const struct cachew_job_options *o,
                        struct cw_err *err)
{
    int rc = 0;
    int64_t tell_ns = o->on_waiting ? cw_clock_ns() + TELL_NS : INT64_MAX;
    cw_mutex_lock(&job->mutex);
    while (!job->started && job->err.code == 0 && rc == 0) {
        if (cw_clock_ns() >= tell_ns) {
            tell_waiting(job, o);
            tell_ns = cw_clock_ns() + TELL_NS;
        } else if (cw_cancel_is_set(o->cancel))
            rc = cw_err_set(err, CW_E_CANCELLED, "the start of the job was cancelled");
        else if (cw_clock_ns() >= job->start_by_ns)
            rc = fail_start(job, err);
        else
            cw_cancel_wait(o->cancel, &job->cond, &job->mutex, CW_MIN(job->start_by_ns, tell_ns));
    }
    if (job->err.code != 0) {
        *err = job->err;
        rc = err->code;
    }
    cw_mutex_unlock(&job->mutex);
    return rc;
}

static struct cachew_job *job_new(struct cachew_client *client, const struct cw_session_conf *conf)
{
    struct cachew_job *job = CW_NEW(struct cachew_job);
    job->magic = CW_JOB_MAGIC;
    job->pid = getpid();
    job->client = client;
    job->writable = client->writable;
    job->unordered = conf->unordered;
    job->mode = conf->mode;
    job->consumers = conf->consumers;
    job->consumer = conf->consumer;
    job->kick_node.fn = on_kick;
    job->kick_node.arg = job;
    job->start_by_ns = cw_clock_ns() + client->timeout_ms * 1000000;
    cw_mutex_init(&job->mutex);
    cw_cond_init(&job->cond);
    atomic_fetch_add(&client->jobs, 1);
    return job;
}

int cachew_job_start(struct cachew_client *client, const struct cachew_pipeline *pipeline,
                     const struct cachew_job_options *options, struct cachew_job **ret_job,
                     struct cachew_error *error)
{
    struct cw_err err = {0};
    struct cachew_job_options o = CACHEW_JOB_OPTIONS_INIT;
    struct cw_session_conf conf = {0};
    if (cw_client_check(client, &err) != 0)
        return cw_public_fail(error, &err);
    if (!pipeline || !ret_job)
        return cw_public_set(error, CW_E_INVALID,
                             "cachew_job_start: pipeline and ret_job must not be NULL");
    bool local = client && client->cluster;
    if (read_options(options, local, &o, &err) != 0 ||
        make_conf(pipeline, &o, local, &conf, &err) != 0)
        return cw_public_fail(error, &err);
    struct cachew_job *job = job_new(client, &conf);
    struct open_call *call = CW_NEW(struct open_call);
    *call = (struct open_call){job, conf};
    cw_loop_post(client->loop, open_on_loop, call);
    if (wait_started(job, &o, &err) != 0) {
        cachew_job_close(job);
        return cw_public_fail(error, &err);
    }
    *ret_job = job;
    return 0;
}
