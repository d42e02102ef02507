/* SPDX-License-Identifier: Apache-2.0 */
/* From a client's hello to its welcome: which job it belongs to, which consumer slot it gets, and
 * from where it goes on. */
#include "base/fault.h"
#include "base/name.h"
#include "base/rng.h"
#include "base/version.h"
#include "dispatcher/access/access.h"
#include "dispatcher/cache/cache.h"
#include "dispatcher/job/job.h"
#include "dispatcher/lease/lease.h"
#include "dispatcher/message/message.h"
#include "dispatcher/optimize/first_plan.h"
#include "dispatcher/scaling/scaling.h"
#include "dispatcher/session/ack_turns.h"
#include "dispatcher/session/client_pipeline.h"
#include "dispatcher/session/job_room.h"
#include "dispatcher/session/inbox.h"
#include "dispatcher/session/session.h"

#include <stdio.h>
#include <string.h>

#define PROTOCOL_PADS 2 /* trainers of earlier protocols do not fill rows up */

static int check_policies(const Cachew__V1__JobOptions *options, struct cw_err *err)
{
    const struct cw_autocache_policy *policy;
    const char *argument;
    int rc = options->autocache[0] != '\0'
                 ? cw_autocache_find(options->autocache, &policy, &argument, err)
                 : 0;
    if (rc == 0)
        rc = cw_scaling_check(options->autoscale, err);
    if (rc == 0)
        rc = cw_placement_check(options->autoplace, err);
    if (rc == 0 && options->optimize[0] != '\0')
        rc = cw_first_plan_check_policy(options->optimize, err);
    if (rc != 0)
        return rc;
    if (options->max_workers > 0 && options->min_workers > options->max_workers)
        return cw_err_set(err, CW_E_INVALID, "min_workers %u is more than max_workers %u",
                          options->min_workers, options->max_workers);
    if (!(options->weight >= 0 && options->weight <= 1e6) ||
        !(options->max_stall >= 0 && options->max_stall <= 1) ||
        !(options->client_price >= 0 && options->client_price <= 1e9))
        return cw_err_set(err, CW_E_INVALID,
                          "weight %g, max_stall %g, client_price %g: the first and last must be 0 "
                          "or more, max_stall 0 to 1",
                          options->weight, options->max_stall, options->client_price);
    return 0;
}

static int check_options(const Cachew__V1__ClientHello *hello, struct cw_err *err)
{
    const Cachew__V1__JobOptions *options = hello->job;
    if (!options || !options->graph)
        return cw_err_set(err, CW_E_INVALID, "the client asked for no job");
    int rc = cw_name_check_job(options->name, err);
    if (rc == 0)
        rc = check_policies(options, err);
    if (rc == 0)
        rc = cw_name_check_tenant(options->tenant, err);
    if (rc == 0)
        rc = cw_name_check_cache(options->cache, err);
    if (rc != 0)
        return rc;
    if ((unsigned)options->mode > CACHEW__V1__CONSUMER_MODE__SHARED)
        return cw_err_set(err, CW_E_INVALID, "consumer mode %d is unknown", (int)options->mode);
    uint32_t n =
        options->mode == CACHEW__V1__CONSUMER_MODE__SINGLE ? 1 : CW_MAX(options->consumers, 1);
    if (n > CW_CONSUMERS_MAX ||
        (options->mode == CACHEW__V1__CONSUMER_MODE__SINGLE && options->consumers > 1))
        return cw_err_set(err, CW_E_INVALID, "%u consumers: %s", options->consumers,
                          n > CW_CONSUMERS_MAX ? "too many" : "they must be coordinated or shared");
    if (hello->consumer >= n)
        return cw_err_set(err, CW_E_INVALID, "consumer %u of %u: they are numbered from 0",
                          hello->consumer, n);
    if (n > 1 && options->name[0] == '\0')
        return cw_err_set(
            err, CW_E_INVALID,
            "a job of several consumers needs a name: it is how they find each other");
    return 0;
}

/* A client may join a named job only if its options give the same data. */
static int check_same(const struct cw_job *job, const Cachew__V1__JobOptions *o, uint32_t identity,
                      struct cw_hash fingerprint, struct cw_err *err)
{
    const Cachew__V1__JobOptions *own = job->options;
    const char *what = NULL;
    if (strcmp(job->tenant->name, o->tenant[0] != '\0' ? o->tenant : "default") != 0)
        what = "another tenant"; /* who learns no more of the job */
    else if (!cw_hash_eq(job->graph_fingerprint, fingerprint))
        what = "another pipeline";
    else if (job->graph->identity != identity)
        what = "another identity of source files";
    else if (own->seed != o->seed)
        what = "another seed";
    else if (own->epochs != o->epochs)
        what = "another number of epochs";
    else if (own->unordered != o->unordered)
        what = "another order of delivery";
    else if (own->skip_bad != o->skip_bad)
        what = "another rule for bad elements";
    else if (own->mode != o->mode || (own->mode != CACHEW__V1__CONSUMER_MODE__SINGLE &&
                                      job->layout.consumers != CW_MAX(o->consumers, 1)))
        what = "another arrangement of consumers";
    else if (own->at_most_once != o->at_most_once)
        what = "another delivery guarantee";
    if (!what)
        return 0;
    return cw_err_set(err, CW_E_EXISTS,
                      "job \"%s\" exists with %s: give another name, or remove that job", job->name,
                      what);
}

static int make_job(struct cw_client *client, Cachew__V1__ClientHello *hello, struct cw_err *err)
{
    struct cw_dispatcher *d = client->d;
    if (cw_state_is_overloaded(d->state) || cw_fault_rare("session.no_new_job"))
        return cw_err_set(err, CW_E_UNAVAILABLE,
                          "the dispatcher takes no new jobs, since it cannot store what it has: %s",
                          d->unwritten ? d->unwritten_why
                                       : "the disk of its state directory is slow");
    int rc = cw_tenant_admits(d, hello->job, err);
    if (rc == 0)
        rc = cw_cache_admits(d, hello->job->cache, hello->job->tenant, err);
    if (rc == 0)
        rc = cw_job_room_make(d, client->pipeline->packed->len, err);
    if (rc != 0)
        return rc;
    char id[32];
    snprintf(id, sizeof(id), "j%016llx", (unsigned long long)cw_rng_process_id());
    Cachew__V1__JobOptions *options = cw_steal(&hello->job);
    Cachew__V1__Graph *graph = cw_steal(&options->graph);
    struct cw_buf *packed = cw_steal(&client->pipeline->packed);
    cw_job_add_client(cw_job_new(d, id, options, graph, packed), client);
    client->job->graph_fingerprint = client->pipeline->fingerprint;
    client->job->written_packed = cw_steal(&client->pipeline->written);
    client->job->written_fingerprint = client->pipeline->written_fingerprint;
    client->job->is_unchecked = client->pipeline->is_unchecked;
    cw_cache_used_again(client->job);
    cw_log_info(CW_LOG_MOD, "job=%s name=%s begun by %s", id, options->name,
                cw_stream_peer(client->stream));
    cw_job_prepare(client->job);
    return 0;
}

static int check_caller(const struct cw_caller *caller, const struct cw_job *job,
                        struct cw_err *err)
{
    if (!cw_access_sees_job(caller, job))
        return cw_err_set(err, CW_E_DENIED, "the %s that was shown is another tenant's",
                          cw_access_shown(caller));
    return cw_access_check_fetch(caller, job->tenant->name, err);
}

/* A tenant's token or certificate says whose job it is, also where the options do not. */
static int set_tenant(const struct cw_client *client, Cachew__V1__JobOptions *options,
                      struct cw_err *err)
{
    const char *own = cw_access_tenant_of(client->caller);
    if (options->tenant[0] != '\0' && !cw_access_sees_tenant(client->caller, options->tenant))
        return cw_err_set(err, CW_E_DENIED,
                          "the %s that was shown is that of tenant \"%s\", the job is of \"%s\"",
                          cw_access_shown(client->caller), own, options->tenant);
    if (own && options->tenant[0] == '\0') {
        /* protobuf-c stores an absent text as a constant, which must not be freed. */
        if (options->tenant != protobuf_c_empty_string)
            cw_mem_free(options->tenant);
        options->tenant = cw_mem_strdup(own);
    }
    return cw_access_check_fetch(client->caller, options->tenant, err);
}

/* What the check of its pipeline found wrong. One that lacks nothing but operators of plugins waits for
 * workers, who say what these are, as long as there are none. */
static int check_pipeline(const struct cw_client *client, struct cw_err *err)
{
    const struct cw_client_pipeline *pipeline = client->pipeline;
    if (pipeline->rc == 0 || (pipeline->is_unchecked && client->d->workers_n == 0))
        return 0;
    *err = pipeline->err;
    return pipeline->rc;
}

int cw_client_hello(struct cw_client *client, struct cw_err *err)
{
    Cachew__V1__ClientHello *hello = client->hello->hello;
    client->id = hello->client_id;
    client->consumer = hello->consumer;
    client->max_local = hello->max_local;
    cw_mem_free(client->host_id);
    client->host_id = cw_mem_strdup(hello->host_id);
    if (!cw_protocol_is_served(hello->protocol))
        return cw_err_set(
            err, CW_E_UNSUPPORTED,
            "the client (version %s) speaks protocol %u, this dispatcher (version %s) protocols %d "
            "and %d: upgrade the older one, dispatchers before trainers",
            hello->version, hello->protocol, CW_VERSION, CW_PROTOCOL_OLDEST, CW_PROTOCOL);
    if (client->id == 0)
        return cw_err_set(err, CW_E_INVALID, "the client has no id");
    struct cw_dispatcher *d = client->d;
    if (hello->job_id[0] != '\0') {
        struct cw_job *job = cw_strmap_get(&d->jobs_by_id, hello->job_id);
        if (!job && cw_strmap_get(&d->removed_ids, hello->job_id))
            return cw_err_set(err, CW_E_STATE, "job %s was removed by request", hello->job_id);
        int refused = job ? check_caller(client->caller, job, err) : 0;
        if (refused != 0)
            return refused;
        if (!job)
            return cw_err_set(
                err, CW_E_NOT_FOUND,
                "job %s is not known here: it was removed, or the dispatcher's state was",
                hello->job_id);
        if (client->consumer >= job->layout.consumers)
            return cw_err_set(err, CW_E_INVALID, "job %s has no consumer %u", hello->job_id,
                              client->consumer);
        cw_job_add_client(job, client);
        cw_cache_used_again(job);
        return 0;
    }
    int rc = check_options(hello, err);
    if (rc == 0)
        rc = set_tenant(client, hello->job, err);
    if (rc == 0)
        rc = check_pipeline(client, err);
    if (rc != 0)
        return rc;
    struct cw_job *job =
        hello->job->name[0] != '\0' ? cw_job_find_named(d, hello->job->name) : NULL;
    if (!job)
        return make_job(client, hello, err);
    /* A job whose relaxed order was refused has the written one. */
    const bool is_refused = client->pipeline->written && !job->options->relaxed;
    rc = check_same(
        job, hello->job, hello->job->graph->identity,
        is_refused ? client->pipeline->written_fingerprint : client->pipeline->fingerprint, err);
    /* A job that nobody uses any more is refused as a new one would be, while its cache is closed. */
    if (rc == 0 && job->cache && cw_cache_is_closed(job->cache))
        rc = cw_cache_admits(d, job->cache->name, job->tenant->name, err);
    if (rc == 0)
        cw_job_add_client(job, client);
    return rc;
}

/* The same process is back: what it says it has counts, whatever the dispatcher had recorded. Epochs
 * before those that it names are over for it. */
static struct cw_ack what_it_has(const struct cw_client *client)
{
    const struct cw_job *job = client->job;
    const Cachew__V1__ClientHello *hello = client->hello->hello;
    uint64_t first = UINT64_MAX;
    for (size_t i = 0; i < hello->n_received; i++)
        first = CW_MIN(first, hello->received[i]->epoch);
    for (size_t i = 0; i < hello->n_consumed; i++)
        first = CW_MIN(first, hello->consumed[i]->epoch);
    struct cw_ack has = {.over = job->first_epoch, .over_end = job->first_epoch};
    if (first != UINT64_MAX && first > job->first_epoch)
        has.over_end = CW_MIN(first, job->first_epoch + CW_EPOCHS_AHEAD);
    has.received = hello->received;
    has.received_n = hello->n_received;
    has.consumed = hello->consumed;
    has.consumed_n = hello->n_consumed;
    return has;
}

/* The new client may reach workers that an earlier one could not. */
static void clear_unreachable(struct cw_job *job, uint32_t consumer)
{
    for (struct cw_share *share = job->shares; share; share = share->next_of_job)
        cw_unreachable_remove(share, consumer);
}

/* The report of a lost worker may have been lost with the client's stream (docs/protocol.md 4). So
 * items that are leased and not received are freed. Workers are not told: they still send what they
 * hold, and at worst an output arrives twice. In a shared job two consumers could then get the same
 * output, so there the hand-backs of workers must do. */
static void free_leased(struct cw_job *job)
{
    for (struct cw_share *share = job->shares; share && job->layout.mode != CW_MODE_SHARED;
         share = share->next_of_job)
        cw_lease_free_all(share, false);
}

/* Others that are here cannot go back with it as far as that. */
static int check_reach(const struct cw_client *client, const struct cw_token *token,
                       struct cw_err *err)
{
    const struct cw_job *job = client->job;
    uint64_t last = job->first_epoch + job->epochs_open;
    bool others = false;
    for (uint32_t c = 0; c < job->layout.consumers; c++)
        others = others || (c != client->consumer && job->consumers[c].client);
    if (!others || token->epoch >= job->first_epoch || last - token->epoch <= CW_EPOCHS_AHEAD)
        return 0;
    return cw_err_set(
        err, CW_E_STATE,
        "the resume token is of epoch %llu, and other consumers of job %s are at epoch "
        "%llu: they must go back to their tokens, too",
        (unsigned long long)token->epoch, job->id, (unsigned long long)job->first_epoch);
}

/* *ret_back: what the client says to have is to be taken, too. */
static int take_slot(struct cw_client *client, bool *ret_back, struct cw_err *err)
{
    struct cw_job *job = client->job;
    struct cw_consumer *slot = &job->consumers[client->consumer];
    const Cachew__V1__ClientHello *hello = client->hello->hello;
    bool same = slot->client_id == client->id;
    if (!same && hello->job_id[0] != '\0' && job->layout.mode == CW_MODE_SHARED)
        return cw_err_set(err, CW_E_STATE,
                          "consumer %u of job %s was away for too long: its batches went to others",
                          client->consumer, job->id);
    if (!same && hello->job_id[0] != '\0' && slot->client_id != 0)
        return cw_err_set(err, CW_E_STATE,
                          "another client has taken the place of consumer %u of job %s",
                          client->consumer, job->id);
    clear_unreachable(job, client->consumer);
    client->hello_epoch = hello->position ? hello->position->epoch : job->first_epoch;
    if (same || hello->job_id[0] != '\0') {
        *ret_back = true;
    } else if (hello->token.len > 0) {
        struct cw_token token = {0};
        int rc = cw_client_read_token(job, hello, &token, err);
        if (rc != 0)
            return rc;
        rc = check_reach(client, &token, err);
        if (rc == 0)
            cw_job_resume_at(job, client->consumer, &token);
        cw_token_fini(&token);
        if (rc != 0)
            return rc;
    } else {
        if (slot->client_id != 0)
            cw_job_resume_at(job, client->consumer, NULL);
        slot->position = cw_client_find_position(client);
    }
    slot->client = client;
    slot->client_id = client->id;
    slot->bye = false; /* (It stays expected until all that it says to have is taken.) */
    slot->ready = 0;
    slot->moved_ms = cw_clock_ms();
    return 0;
}

/* Sends `holder`, whose slot another client wants, a message. If its host has crashed, the holder
 * will never say that it is gone; but that host answers any message with a reset once it is up
 * again. */
static void solicit_answer(struct cw_client *holder)
{
    if (holder->welcomed)
        cw_client_send_workers(holder, true);
}

/* Refuses every other client that waits for the slot of `client`. The latest of them is the process
 * that lives. An earlier one may have died with its host, which nobody has seen yet: it must not get
 * the slot when the stream of `client` breaks for a moment. d->clients has the latest first. */
static void refuse_earlier(const struct cw_client *client)
{
    for (struct cw_client *other = client->next; other; other = other->next)
        if (other->job == client->job && other->consumer == client->consumer && !other->admitted)
            cw_client_fail(other, CW_E_EXISTS, "a later client has taken its place");
}

/* The client has its slot, and its progress is known: it is welcomed as soon as that is stored. */
static void begin_welcome(struct cw_client *client)
{
    struct cw_job *job = client->job;
    struct cw_consumer *slot = &job->consumers[client->consumer];
    const Cachew__V1__ClientHello *hello = client->hello->hello;
    slot->expected = false;
    /* It was never welcomed, and is told of all that was left out behind the place where it begins,
     * which is stored: however often this dispatcher and others restart before its welcome. */
    if (hello->job_id[0] == '\0')
        client->hello_epoch = slot->position.epoch;
    slot->position_dirty = job->due.progress = true;
    cw_job_advance(job);
    cw_job_flush(job);
    client->due.welcome = client->d->due.clients = true;
    client->knows = hello->job_id[0] != '\0';
    /* Trainers of protocol 1 do not tell what was left out. */
    job->skipped_untold = job->skipped_untold || hello->protocol < 2;
    client->welcome_seq = client->was_here ? 0 : cw_state_seq(job->d->state);
    Cachew__V1__ClientMessage *message = cw_steal(&client->hello);
    cw_inbox_drop_kept(client->d, &message->base, client->hello_is_large);
    cw_client_pipeline_free(cw_steal(&client->pipeline));
}

/* What a client that is back says to have was taken. */
static void on_back(struct cw_client *client, int rc, const struct cw_err *err)
{
    struct cw_job *job = client->job;
    const Cachew__V1__ClientHello *hello = client->hello->hello;
    if (rc != 0)
        cw_log_warn(CW_LOG_MOD, "job=%s client=%s: what it says to have is left out: %s", job->id,
                    cw_stream_peer(client->stream), err->msg);
    cw_telemetry_take_bad(job, client->consumer, client->id, hello->bad_n, hello->bad,
                          hello->n_bad);
    if (hello->position) {
        const Cachew__V1__Position *p = hello->position;
        job->consumers[client->consumer].position =
            (struct cw_state_position){p->epoch, p->item, p->row, p->rows, p->batches};
    }
    free_leased(job);
    begin_welcome(client);
}

void cw_client_admit(struct cw_client *client)
{
    struct cw_job *job = client->job;
    struct cw_err err = {0};
    if (job->status == CW_JOB_PREPARING)
        return;
    if (job->status == CW_JOB_FAILED) {
        cw_err_set(&err, job->error_code, "job %s failed: %s", job->name[0] ? job->name : job->id,
                   job->error);
        cw_client_fail(client, err.code, err.msg);
        return;
    }
    if (job->info->n_pads > 0 && client->hello->hello->protocol < PROTOCOL_PADS) {
        cw_client_fail(
            client, CW_E_UNSUPPORTED,
            "libcachew is too old for a padded_batch behind a filter, which the trainer's "
            "process fills up: upgrade it, or give the filter \"survey\": true");
        return;
    }
    struct cw_consumer *slot = &job->consumers[client->consumer];
    if (slot->client && slot->client->id == client->id) {
        cw_client_replace(slot->client);
    } else if (slot->client) {
        int64_t now = cw_clock_ms();
        if (client->place_wait_ms == 0)
            solicit_answer(slot->client);
        client->place_wait_ms = client->place_wait_ms > 0 ? client->place_wait_ms : now;
        if (now - client->place_wait_ms < job->d->options.takeover_ms)
            return;
        cw_err_set(&err, CW_E_EXISTS, "consumer %u of job \"%s\" is held by another client (%s)",
                   client->consumer, job->name, cw_stream_peer(slot->client->stream));
        cw_client_fail(client, err.code, err.msg);
        return;
    }
    client->place_wait_ms = 0;
    client->was_here = slot->client_id == client->id && client->hello->hello->job_id[0] != '\0';
    bool back = false;
    if (take_slot(client, &back, &err) != 0) {
        cw_client_fail(client, err.code, err.msg);
        return;
    }
    client->admitted = true;
    refuse_earlier(client);
    if (back) {
        const struct cw_ack has = what_it_has(client);
        cw_ack_turns_begin(client, &has, on_back);
    } else {
        begin_welcome(client);
    }
}

void cw_clients_job_changed(struct cw_job *job)
{
    for (struct cw_client *client = job->d->clients, *next; client; client = next) {
        next = client->next;
        if (client->job == job && job->status != CW_JOB_FAILED)
            cw_client_admit(client);
    }
}
