/* SPDX-License-Identifier: Apache-2.0 */
/* The trainer's program: a training loop on the public API. */
#include "trainer.h"

#include "tokens.h"

#include <stdio.h>
#include <string.h>

#include "cachew/cachew.h"
#include "system.h"
#include "wire/token.h"

#define AGAIN_NS INT64_C(200000000)
#define CONNECT_MS 20000
#define TAKEN_NS INT64_C(25000000000)

#define VISIT_EVERY 16 /* batches */
#define LEAVES 1       /* as an answer of train */
#define AWAY_NS INT64_C(2000000000)
#define BUFFERS 4 /* in one of so many worlds the buffers of clients are small */
#define BUFFER_BYTES ((uint64_t)256 << 10)

struct sim_trainer *sim_trainer_self;

__attribute__((visibility("default"))) void sim_trainer_main(void *arg);

static uint64_t mix(uint64_t hash, const void *p, size_t n)
{
    const unsigned char *at = p;
    uint64_t word;

    for (; n >= sizeof(word); n -= sizeof(word), at += sizeof(word)) {
        memcpy(&word, at, sizeof(word));
        hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
        hash ^= hash >> 29;
    }
    for (size_t i = 0; i < n; i++)
        hash = (hash ^ at[i]) * 0x100000001b3u;
    return hash;
}

static void add(struct sim_list *list, struct sim_element element)
{
    if (list->n == list->cap) {
        size_t cap = list->cap ? 2 * list->cap : 256;
        struct sim_element *at = sim_world_alloc(cap * sizeof(*at));
        if (list->n > 0)
            memcpy(at, list->at, list->n * sizeof(*at));
        sim_world_free(list->at);
        list->at = at;
        list->cap = cap;
    }
    list->at[list->n++] = element;
}

/* A row of each tensor makes an element. */
static uint64_t element_hash(const struct cachew_batch *batch, uint64_t row)
{
    uint64_t hash = 0xcbf29ce484222325u;

    for (size_t i = 0; i < cachew_batch_tensors(batch); i++) {
        struct cachew_tensor tensor;
        if (cachew_batch_tensor(batch, i, &tensor) != 0 || tensor.rank < 1 || tensor.dims[0] <= 0)
            sim_fail("a batch has no such tensor");
        size_t bytes = tensor.bytes / (size_t)tensor.dims[0];
        hash = mix(hash, tensor.name, strlen(tensor.name));
        hash = mix(hash, tensor.dims + 1, (size_t)(tensor.rank - 1) * sizeof(int64_t));
        hash = mix(hash, (const char *)tensor.data + row * bytes, bytes);
    }
    return hash;
}

static void take(struct sim_trainer *t, const struct cachew_batch *batch)
{
    uint64_t n = cachew_batch_elements(batch);
    struct sim_element element = {.epoch = cachew_batch_epoch(batch),
                                  .batch = cachew_batch_number(batch)};

    for (uint64_t row = 0; row < n; row++) {
        element.hash = element_hash(batch, row);
        add(&t->given, element);
    }
    if (element.epoch > t->last_epoch ||
        (element.epoch == t->last_epoch && element.batch > t->last_batch))
        t->last_epoch = element.epoch, t->last_batch = element.batch;
    t->batches++;
    t->skipped += cachew_batch_skipped(batch);
    t->asked_ns = 0;
    sim_log("batch %llu of epoch %llu, %llu elements", (unsigned long long)element.batch,
            (unsigned long long)element.epoch, (unsigned long long)n);
}

static void where_is(const void *bytes, size_t n, struct sim_checkpoint *ret)
{
    struct cw_token token = {.epoch = 0};
    struct cw_err err = {.code = 0};

    if (cw_token_decode(bytes, n, &token, &err) != 0)
        sim_fail("%s: its token cannot be read", sim_name(sim_self()));
    ret->epoch = token.epoch;
    ret->item = token.item;
    ret->batches = token.batches + token.to_come; /* where the next step begins */
    cw_token_fini(&token);
}

static void save(struct sim_trainer *t, struct cachew_job *job, size_t before_last)
{
    struct cachew_error error = CACHEW_ERROR_INIT;
    unsigned char token[SIM_TOKEN_BYTES];
    size_t bytes = 0;

    if (cachew_job_token(job, t->with_last, token, sizeof(token), &bytes, &error) != 0)
        sim_fail("%s: no token: %s", sim_name(sim_self()), error.message);
    struct sim_checkpoint *saved = sim_checkpoint_add(t, t->with_last ? t->given.n : before_last);
    memcpy(saved->token, token, bytes);
    where_is(token, bytes, saved);
    saved->token_bytes = bytes;
    sim_log("saves after %zu elements, at step %llu", saved->given_n,
            (unsigned long long)saved->step);
}

static void note_stats(struct sim_trainer *t, struct cachew_job *job)
{
    struct cachew_job_stats stats = {.struct_size = sizeof(stats)};

    if (cachew_job_stats(job, &stats) != 0)
        return;
    t->lost_items = stats.lost_items;
    t->reconnects = stats.reconnects;
}

static struct cachew_job_options options_of(const struct sim_trainer *t);

/* Another client asks for the place that this one has. It does not get it, and its leaving changes
 * nothing. */
static void visit(const struct sim_trainer *t)
{
    struct cachew_error error = CACHEW_ERROR_INIT;
    struct cachew_connect_options connect = CACHEW_CONNECT_OPTIONS_INIT;
    struct cachew_job_options options = options_of(t);
    struct cachew_client *client = NULL;
    struct cachew_pipeline *pipeline = NULL;
    struct cachew_job *job = NULL;

    options.token = NULL;
    options.token_bytes = 0;
    connect.token_file = SIM_TOKEN_OF_TRAINERS;
    connect.no_shared_memory = 1;
    connect.timeout_ms = sim_between(10, 400);
    int rc = cachew_connect(t->dispatcher, &connect, &client, &error);
    if (rc == 0)
        rc = cachew_pipeline_parse(t->pipeline, strlen(t->pipeline), &pipeline, &error);
    if (rc == 0)
        rc = cachew_job_start(client, pipeline, &options, &job, &error);
    sim_log("a visitor leaves: %s", error.message);
    if (rc == 0)
        sim_fail("%s: another client was given its place", sim_name(sim_self()));
    cachew_pipeline_release(pipeline);
    cachew_disconnect(client);
}

/* Until the last epoch has ended, or LEAVES; else the error. */
static int train(struct sim_trainer *t, struct cachew_job *job, struct cachew_error *error)
{
    for (uint64_t n = 1;; n++) {
        struct cachew_batch *batch = NULL;
        size_t before = t->given.n;
        t->asked_ns = t->asked_ns ? t->asked_ns : sim_now_ns();
        int rc = cachew_job_next(job, -1, &batch, error);
        if (rc < 0)
            return rc;
        if (rc == 0) {
            sim_log("an epoch has ended");
            t->asked_ns = 0;
            if (!cachew_job_done(job))
                continue;
            note_stats(t, job);
            return 0;
        }
        take(t, batch);
        if (t->at_most_once)
            note_stats(t, job);
        if (t->step_ns > 0)
            sim_sleep_ns(sim_between(0, t->step_ns));
        if (sim_now_ns() < t->stands_ns)
            sim_sleep_ns(t->stands_ns - sim_now_ns());
        if (t->visits && t->batches % VISIT_EVERY == 0)
            visit(t);
        if (t->save_every > 0 && t->batches % t->save_every == 0)
            save(t, job, before);
        cachew_batch_release(batch);
        if (n == t->leaves_after)
            return LEAVES;
    }
}

static struct cachew_job_options options_of(const struct sim_trainer *t)
{
    struct cachew_job_options options = CACHEW_JOB_OPTIONS_INIT;

    options.name = t->name[0] ? t->name : NULL;
    options.cache = t->cache;
    options.seed = t->seed;
    options.epochs = t->epochs;
    options.window = (uint32_t)t->window;
    options.unordered = t->unordered;
    options.mode = (enum cachew_consumer_mode)t->mode;
    options.consumers = (uint32_t)t->consumers;
    options.consumer = (uint32_t)t->consumer;
    options.at_most_once = t->at_most_once;
    if (sim_seed() % BUFFERS == 1) /* not in a reference, whose seed is 0 */
        options.buffer_bytes = BUFFER_BYTES;
    const struct sim_checkpoint *saved = sim_checkpoint_last(t);
    if (saved) {
        options.token = saved->token;
        options.token_bytes = saved->token_bytes;
    }
    return options;
}

/* A consumer of a shared job has left it. What it had not said may be given to others. */
static int leave(struct sim_trainer *t)
{
    sim_log("leaves %s", t->comes_back ? "for a while" : "for good");
    t->leaves++;
    t->leaves_after = 0;
    t->given_before = t->given.n;
    if (!t->comes_back) {
        t->has_ended = true;
        --*t->left;
        return 0;
    }
    sim_sleep_ns(sim_between(0, AWAY_NS));
    return CACHEW_E_AGAIN;
}

static int with_client(struct sim_trainer *t, struct cachew_client *client,
                       struct cachew_error *error)
{
    struct cachew_pipeline *pipeline = NULL;
    struct cachew_job *job = NULL;
    struct cachew_job_options options = options_of(t);
    const struct sim_checkpoint *saved = sim_checkpoint_last(t);
    t->begin_epoch = saved ? saved->epoch : 0;
    t->begin_item = saved ? saved->item : 0;
    int rc = cachew_pipeline_parse(t->pipeline, strlen(t->pipeline), &pipeline, error);

    if (rc == 0)
        rc = cachew_job_start(client, pipeline, &options, &job, error);
    cachew_pipeline_release(pipeline);
    if (rc != 0)
        return rc;
    sim_log("job %s", cachew_job_id(job));
    snprintf(t->job_id, sizeof(t->job_id), "%s", cachew_job_id(job));
    if (!sim_checkpoint_last(t) &&
        t->save_every > 0) /* else a named job would go on where it stands */
        save(t, job, t->given.n);
    rc = train(t, job, error);
    if (rc == 0) {
        t->has_ended = true;
        --*t->left;
        while (*t->left > 0)
            sim_sleep_ns(AGAIN_NS);
    }
    cachew_job_close(job);
    return rc == LEAVES ? leave(t) : rc;
}

/* A place that its host's crash has left taken is free again long before keepalive (50 s) says so. */
static bool is_taken_for_too_long(int rc, int64_t *since_ns)
{
    if (rc != CACHEW_E_EXISTS)
        *since_ns = 0;
    else if (*since_ns == 0)
        *since_ns = sim_now_ns();
    return *since_ns > 0 && sim_now_ns() - *since_ns > TAKEN_NS;
}

/* So does a consumer of a shared job that was away for too long: it is one more that comes. */
static bool is_passing(const struct sim_trainer *t, int rc, const char *message)
{
    if (t->mode == CACHEW_SHARED && rc == CACHEW_E_STATE && strstr(message, "away for too long"))
        return true;
    /* The operator will attach it again. */
    if (t->cache && rc == CACHEW_E_STATE && strstr(message, "there is no cache"))
        return true;
    return rc == CACHEW_E_UNAVAILABLE || rc == CACHEW_E_TIMEOUT || rc == CACHEW_E_AGAIN ||
           rc == CACHEW_E_EXISTS;
}

/* A job that cannot be started now is tried again; so is one that broke, from the checkpoint. */
void sim_trainer_main(void *arg)
{
    struct sim_trainer *t = arg;
    int64_t taken_since_ns = 0;

    sim_system_init();
    sim_trainer_self = t;
    if (t->joins_ns > 0)
        sim_sleep_ns(t->joins_ns);
    t->joins_ns = 0;
    t->asked_ns = sim_now_ns();
    for (;;) {
        struct cachew_error error = CACHEW_ERROR_INIT;
        struct cachew_connect_options options = CACHEW_CONNECT_OPTIONS_INIT;
        struct cachew_client *client = NULL;
        options.token_file = SIM_TOKEN_OF_TRAINERS;
        options.no_shared_memory = 1;
        options.timeout_ms = CONNECT_MS;
        int rc = cachew_connect(t->dispatcher, &options, &client, &error);
        if (rc == 0)
            rc = with_client(t, client, &error);
        cachew_disconnect(client);
        if (rc == 0) {
            sim_log("done: %zu elements", t->given.n);
            return;
        }
        sim_log("%s: %s", cachew_code_name(rc), error.message);
        if (!is_passing(t, rc, error.message) || is_taken_for_too_long(rc, &taken_since_ns)) {
            t->error = rc;
            snprintf(t->message, sizeof(t->message), "%s: %s", cachew_code_name(rc), error.message);
            return;
        }
        sim_checkpoint_return(t);
        sim_sleep_ns(sim_between(1, AGAIN_NS));
    }
}
