/* SPDX-License-Identifier: Apache-2.0 */
/* From a trainer's hello to its welcome: who is refused, and with which words; who gets which place,
 * and where it goes on. */
#include <stdio.h>
#include <string.h>
#include "base/limits.h"
#include "base/version.h"
#include "dispatcher/access/access.h"
#include "dispatcher/job/job.h"
#include "dispatcher/message/message.h"
#include "dispatcher/session/session.h"
#include "support/soon.h"
#include "unit/dispatcher/peers.h"

#define WELCOME CACHEW__V1__CLIENT_COMMAND__KIND_WELCOME
#define ERROR CACHEW__V1__CLIENT_COMMAND__KIND_ERROR

/* A hello, and what it points to; `set` of a case changes some of it. */
struct hello {
    Cachew__V1__ClientMessage message;
    Cachew__V1__ClientHello hello;
    Cachew__V1__JobOptions options;
    Cachew__V1__Position position;
    Cachew__V1__EpochSet sets[2], *received[1], *consumed[1];
    Cachew__V1__Interval intervals[2], *in_received[1], *in_consumed[1];
    char version[16], name[80], tenant[80], policy[64], job_id[64];
    unsigned char token[512];
};

static void hello_init(struct hello *h)
{
    *h = (struct hello){.version = CW_VERSION};
    cachew__v1__client_message__init(&h->message);
    cachew__v1__client_hello__init(&h->hello);
    cachew__v1__job_options__init(&h->options);
    cachew__v1__position__init(&h->position);
    h->message.kind_case = CACHEW__V1__CLIENT_MESSAGE__KIND_HELLO;
    h->message.hello = &h->hello;
    h->hello.protocol = CW_PROTOCOL;
    h->hello.version = h->version;
    h->hello.client_id = 7;
    h->hello.job_id = h->job_id;
    h->hello.job = &h->options;
    h->options.name = h->name;
    h->options.tenant = h->tenant;
    h->options.graph = peers_graph(10);
    h->options.epochs = 2;
}

static struct cw_stream *hello_say(struct hello *h)
{
    struct cw_stream *stream = peers_attach("Jobs/Attach");
    peers_say(stream, &h->message.base);
    return stream;
}

static void hello_fini(struct hello *h)
{
    if (h->options.graph)
        cachew__v1__graph__free_unpacked(h->options.graph, NULL);
}

/* The stream ends with this code and these words, and an error message says the same. */
static void assert_refused(const struct cw_stream *stream, int code, const char *says)
{
    if (!peers_is_ended(stream))
        fail_msg("it is not refused: \"%s\" was to be said", says);
    if (!strstr(peers_end_msg(stream), says))
        fail_msg("\"%s\" does not say \"%s\"", peers_end_msg(stream), says);
    assert_int_equal(peers_end_code(stream), code);
    const Cachew__V1__ClientCommand *told = peers_to_client(stream, ERROR);
    assert_non_null(told);
    assert_int_equal(told->error->code, code);
    assert_string_equal(told->error->error, peers_end_msg(stream));
}

static const Cachew__V1__ClientWelcome *welcome_of(const struct cw_stream *stream)
{
    const Cachew__V1__ClientCommand *command = peers_to_client(stream, WELCOME);
    return command ? command->welcome : NULL;
}

/* ---- who is refused before there is a job ---- */
static void later_protocol(struct hello *h)
{
    h->hello.protocol = CW_PROTOCOL + 1;
}
static void earlier_protocol(struct hello *h)
{
    h->hello.protocol = CW_PROTOCOL - 2;
}
static void no_id(struct hello *h)
{
    h->hello.client_id = 0;
}
static void higher_generation(struct hello *h)
{
    h->message.generation = made_up.generation + 5;
}
static void unknown_job(struct hello *h)
{
    snprintf(h->job_id, sizeof(h->job_id), "j12");
}
static void removed_job(struct hello *h)
{
    snprintf(h->job_id, sizeof(h->job_id), "j13");
    cw_strmap_set(&made_up.removed_ids, "j13", &made_up);
}
static void no_options(struct hello *h)
{
    h->hello.job = NULL;
}
static void no_graph(struct hello *h)
{
    hello_fini(h);
    h->options.graph = NULL;
}
static void bad_name(struct hello *h)
{
    snprintf(h->name, sizeof(h->name), "a\nb");
}
static void bad_tenant(struct hello *h)
{
    snprintf(h->tenant, sizeof(h->tenant), "a/b");
}
static void bad_autocache(struct hello *h)
{
    snprintf(h->policy, sizeof(h->policy), "always");
    h->options.autocache = h->policy;
}
static void bad_autoscale(struct hello *h)
{
    snprintf(h->policy, sizeof(h->policy), "fastest");
    h->options.autoscale = h->policy;
}
static void bad_autoplace(struct hello *h)
{
    snprintf(h->policy, sizeof(h->policy), "nearest");
    h->options.autoplace = h->policy;
}
static void least_above_most(struct hello *h)
{
    h->options.min_workers = 4;
    h->options.max_workers = 3;
}
static void negative_weight(struct hello *h)
{
    h->options.weight = -1;
}
static void stall_above_1(struct hello *h)
{
    h->options.max_stall = 1.5;
}
static void price_is_no_number(struct hello *h)
{
    h->options.client_price = __builtin_nan("");
}
static void unknown_mode(struct hello *h)
{
    h->options.mode = (Cachew__V1__ConsumerMode)9;
}
static void too_many_consumers(struct hello *h)
{
    h->options.mode = CACHEW__V1__CONSUMER_MODE__COORDINATED;
    h->options.consumers = CW_CONSUMERS_MAX + 1;
}
static void single_of_two(struct hello *h)
{
    h->options.consumers = 2;
}
static void no_such_consumer(struct hello *h)
{
    h->hello.consumer = 1;
}
static void nameless_consumers(struct hello *h)
{
    h->options.mode = CACHEW__V1__CONSUMER_MODE__SHARED;
    h->options.consumers = 2;
}
static void unknown_operator(struct hello *h)
{
    h->options.graph->nodes[0]->op[0] = 'x';
}
static void no_room(struct hello *h)
{
    (void)h;
    made_up.options.max_jobs = 0;
}
static void no_room_for_its_pipeline(struct hello *h)
{
    (void)h;
    made_up.options.max_jobs = 10;
    made_up.options.max_jobs_bytes = 1;
}
static void tenant_is_full(struct hello *h)
{
    made_up.options.max_jobs_bytes = 0;
    made_up.options.tenants = (struct cw_arg_list){.n = 1, .v = {"t:max-jobs=0"}};
    snprintf(h->tenant, sizeof(h->tenant), "t");
}

static void refused_hellos(void **state)
{
    (void)state;
    static const struct {
        void (*set)(struct hello *h);
        int code;
        const char *says;
    } cases[] = {
        {later_protocol, CW_E_UNSUPPORTED, "upgrade the older one"},
        {earlier_protocol, CW_E_UNSUPPORTED, "upgrade the older one"},
        {no_id, CW_E_INVALID, "the client has no id"},
        {higher_generation, CW_E_UNAVAILABLE, "another has taken over"},
        {unknown_job, CW_E_NOT_FOUND, "job j12 is not known here"},
        {removed_job, CW_E_STATE, "job j13 was removed by request"},
        {no_options, CW_E_INVALID, "the client asked for no job"},
        {no_graph, CW_E_INVALID, "the client asked for no job"},
        {bad_name, CW_E_INVALID, "name is no valid UTF-8, or has control characters"},
        {bad_tenant, CW_E_INVALID, "a/b"},
        {bad_autocache, CW_E_INVALID, "always"},
        {bad_autoscale, CW_E_INVALID, "fastest"},
        {bad_autoplace, CW_E_INVALID, "nearest"},
        {least_above_most, CW_E_INVALID, "min_workers 4 is more than max_workers 3"},
        {negative_weight, CW_E_INVALID, "weight -1"},
        {stall_above_1, CW_E_INVALID, "max_stall 1.5"},
        {price_is_no_number, CW_E_INVALID, "client_price nan"},
        {unknown_mode, CW_E_INVALID, "consumer mode 9 is unknown"},
        {too_many_consumers, CW_E_INVALID, "too many"},
        {single_of_two, CW_E_INVALID, "they must be coordinated or shared"},
        {no_such_consumer, CW_E_INVALID, "consumer 1 of 1: they are numbered from 0"},
        {nameless_consumers, CW_E_INVALID, "needs a name"},
        {unknown_operator, CW_E_NOT_FOUND, "there is no such operator"},
        {no_room, CW_E_LIMIT, "the dispatcher is full: it has 0 jobs"},
        {no_room_for_its_pipeline, CW_E_LIMIT, "of 1 (--max-jobs-bytes)"},
        {tenant_is_full, CW_E_LIMIT, "max-jobs"},
    };
    for (size_t i = 0; i < CW_ARRAY_LEN(cases); i++) {
        struct hello h;
        hello_init(&h);
        cases[i].set(&h);
        struct cw_stream *stream = hello_say(&h);
        assert_refused(stream, cases[i].code, cases[i].says);
        assert_null(made_up.jobs);
        peers_say(stream, &h.message.base); /* nothing that it says counts */
        peers_break(stream, 0, "");
        hello_fini(&h);
    }
    assert_int_equal(made_up.clients_n, 0);
    assert_int_equal(made_up.generation_seen, made_up.generation + 5);
}

/* ---- a job by its name ---- */
static void another_pipeline(struct hello *h)
{
    hello_fini(h);
    h->options.graph = peers_graph(11);
}
static void another_identity(struct hello *h)
{
    h->options.graph->identity = 3;
}
static void another_tenant(struct hello *h)
{
    snprintf(h->tenant, sizeof(h->tenant), "t");
}
static void another_seed(struct hello *h)
{
    h->options.seed = 5;
}
static void more_epochs(struct hello *h)
{
    h->options.epochs = 3;
}
static void unordered(struct hello *h)
{
    h->options.unordered = true;
}
static void skips_bad(struct hello *h)
{
    h->options.skip_bad = true;
}
static void coordinated(struct hello *h)
{
    h->options.mode = CACHEW__V1__CONSUMER_MODE__COORDINATED;
}
static void at_most_once(struct hello *h)
{
    h->options.at_most_once = true;
}

static void other_jobs_of_that_name(void **state)
{
    (void)state;
    static const struct {
        void (*set)(struct hello *h);
        const char *says;
    } cases[] = {
        {another_pipeline, "another pipeline"},
        {another_identity, "another identity of source files"},
        {another_tenant, "another tenant"},
        {another_seed, "another seed"},
        {more_epochs, "another number of epochs"},
        {unordered, "another order of delivery"},
        {skips_bad, "another rule for bad elements"},
        {coordinated, "another arrangement of consumers"},
        {at_most_once, "another delivery guarantee"},
    };
    struct cw_job *job = peers_running("a", NULL);
    for (size_t i = 0; i < CW_ARRAY_LEN(cases); i++) {
        struct hello h;
        hello_init(&h);
        snprintf(h.name, sizeof(h.name), "a");
        cases[i].set(&h);
        assert_refused(hello_say(&h), CW_E_EXISTS, cases[i].says);
        hello_fini(&h);
    }
    assert_ptr_equal(made_up.jobs, job);
    assert_null(job->next);
}

/* A place that is held: the second waits for it, --takeover at most. */
static void a_held_place_is_waited_for(void **state)
{
    (void)state;
    struct cw_stream *holder;
    struct cw_job *job = peers_running("a", &holder);
    struct hello h;
    hello_init(&h);
    snprintf(h.name, sizeof(h.name), "a");
    struct cw_stream *second = hello_say(&h);
    h.hello.client_id = 8;
    struct cw_stream *third = hello_say(&h);
    hello_fini(&h);
    peers_turn();
    assert_false(peers_is_ended(second) || peers_is_ended(third));
    Cachew__V1__Bye bye = CACHEW__V1__BYE__INIT;
    Cachew__V1__ClientMessage message = CACHEW__V1__CLIENT_MESSAGE__INIT;
    message.kind_case = CACHEW__V1__CLIENT_MESSAGE__KIND_BYE;
    message.bye = &bye;
    peers_say(third, &message.base); /* does not wait any longer */
    assert_true(peers_is_ended(third) && peers_end_code(third) == 0);
    assert_ptr_equal(job->consumers[0].client->stream, holder);
    assert_null(welcome_of(second));
    peers_break(holder, CW_E_UNAVAILABLE, "gone");
    peers_turn();
    assert_ptr_equal(job->consumers[0].client->stream, second);
    assert_non_null(welcome_of(second));
}

static void a_held_place_is_not_waited_for_without_end(void **state)
{
    (void)state;
    struct cw_stream *holder;
    (void)peers_running("a", &holder);
    made_up.options.takeover_ms = 0;
    struct hello h;
    hello_init(&h);
    snprintf(h.name, sizeof(h.name), "a");
    assert_refused(hello_say(&h), CW_E_EXISTS,
                   "consumer 0 of job \"a\" is held by another client (ipv4:192.0.2.1:4711)");
    hello_fini(&h);
    assert_false(peers_is_ended(holder));
}

/* Its rows would be given as they come. */
static void who_cannot_fill_rows_up_is_refused(void **state)
{
    (void)state;
    struct cw_stream *holder;
    struct cw_job *job = peers_running("a", &holder);
    struct hello h;
    peers_break(holder, CW_E_UNAVAILABLE, "gone");
    job->info->n_pads = 1;
    hello_init(&h);
    snprintf(h.name, sizeof(h.name), "a");
    h.hello.protocol = 1;
    assert_refused(hello_say(&h), CW_E_UNSUPPORTED, "libcachew is too old for a padded_batch");
    hello_fini(&h);
    job->info->n_pads = 0;
}

/* ---- the same process is back ---- */
static void reconnect(struct hello *h, const struct cw_job *job, uint64_t id)
{
    hello_init(h);
    hello_fini(h);
    h->hello.job = NULL;
    h->options.graph = NULL;
    h->hello.client_id = id;
    snprintf(h->job_id, sizeof(h->job_id), "%s", job->id);
}

static void who_comes_back_takes_its_own_place(void **state)
{
    (void)state;
    struct cw_stream *before;
    struct cw_job *job = peers_running("a", &before);
    struct hello h;
    reconnect(&h, job, 100);
    /* it has received 0 to 4, and consumed 0 to 2 */
    for (int i = 0; i < 2; i++) {
        cachew__v1__epoch_set__init(&h.sets[i]);
        cachew__v1__interval__init(&h.intervals[i]);
        h.sets[i].n_items = 1;
    }
    h.intervals[0].hi = 5;
    h.intervals[1].hi = 3;
    h.in_received[0] = &h.intervals[0], h.in_consumed[0] = &h.intervals[1];
    h.sets[0].items = h.in_received, h.sets[1].items = h.in_consumed;
    h.received[0] = &h.sets[0], h.consumed[0] = &h.sets[1];
    h.hello.n_received = h.hello.n_consumed = 1;
    h.hello.received = h.received, h.hello.consumed = h.consumed;
    h.position.item = 3;
    h.hello.position = &h.position;
    struct cw_stream *again = hello_say(&h);
    assert_int_equal(peers_end_code(before), CW_E_UNAVAILABLE);
    assert_non_null(strstr(peers_end_msg(before), "the same client has connected again"));
    peers_turn();
    const Cachew__V1__ClientWelcome *welcome = welcome_of(again);
    assert_non_null(welcome);
    assert_int_equal(welcome->first_item, 3);
    const struct cw_epoch *epoch = cw_job_epoch(job, 0);
    assert_true(cw_set_has_range(&epoch->received, 0, 5) && cw_set_count(&epoch->consumed) == 3);
    assert_ptr_equal(job->consumers[0].client->stream, again);
    peers_break(before, CW_E_STATE, "ended");
    assert_ptr_equal(job->consumers[0].client->stream, again);
}

/* The network was cut while the job was prepared: the dispatcher still has the stream that the client has
 * given up, and the client listens to the other one. */
static void who_comes_again_before_the_job_is_ready(void **state)
{
    (void)state;
    struct hello h;
    hello_init(&h);
    snprintf(h.name, sizeof(h.name), "a");
    struct cw_stream *given_up = hello_say(&h);
    peers_turn();
    struct cw_stream *again = hello_say(&h);
    assert_int_equal(peers_end_code(given_up), CW_E_UNAVAILABLE);
    struct cw_stream *worker = peers_worker(1, 2);
    peers_turn();
    peers_prepared(worker, 10);
    peers_turn();
    assert_false(peers_is_ended(again));
    assert_non_null(welcome_of(again));
    hello_fini(&h);
}

static void who_was_replaced_does_not_come_back(void **state)
{
    (void)state;
    struct cw_stream *before;
    struct cw_job *job = peers_running("a", &before);
    peers_break(before, CW_E_UNAVAILABLE, "gone");
    struct hello h;
    reconnect(&h, job, 55);
    assert_refused(hello_say(&h), CW_E_STATE, "another client has taken the place of consumer 0");
    h.hello.consumer = 1;
    assert_refused(hello_say(&h), CW_E_INVALID, "has no consumer 1");
    job->layout.mode = CW_MODE_SHARED;
    h.hello.consumer = 0;
    assert_refused(hello_say(&h), CW_E_STATE, "was away for too long");
}

static void a_failed_job_takes_nobody(void **state)
{
    (void)state;
    struct cw_stream *before;
    struct cw_job *job = peers_running("a", &before);
    cw_job_fail(job, CW_E_IO, "the disk is gone");
    peers_turn();
    assert_refused(before, CW_E_IO, "the disk is gone");
    struct hello h;
    reconnect(&h, job, 100);
    assert_refused(hello_say(&h), CW_E_IO, "job a failed: the disk is gone");
}

/* ---- tokens ---- */
static size_t encode(const struct cw_job *job, struct cw_token *token, unsigned char *bytes,
                     size_t cap)
{
    struct cw_err err = {0};
    size_t n = 0;
    if (token->fingerprint.hi == 0)
        token->fingerprint = job->fingerprint;
    if (cw_token_encode(token, bytes, cap, &n, &err) != 0)
        fail_msg("%s", err.msg);
    return n;
}

static struct cw_stream *resume(const struct cw_job *job, struct cw_token *token)
{
    struct hello h;
    hello_init(&h);
    snprintf(h.name, sizeof(h.name), "a");
    h.hello.token.data = h.token;
    h.hello.token.len = encode(job, token, h.token, sizeof(h.token));
    struct cw_stream *stream = hello_say(&h);
    hello_fini(&h);
    peers_turn();
    return stream;
}

static void a_token_says_where_to_go_on(void **state)
{
    (void)state;
    struct cw_stream *before;
    struct cw_job *job = peers_running("a", &before);
    peers_break(before, CW_E_UNAVAILABLE, "gone");
    struct cw_token token = {.epoch = 1, .item = 4, .consumers = 1, .batches = 4};
    const Cachew__V1__ClientWelcome *welcome = welcome_of(resume(job, &token));
    assert_non_null(welcome);
    assert_true(welcome->first_epoch == 1 && welcome->first_item == 4);
    assert_int_equal(job->first_epoch, 1);
}

/* One of two consumers, with a token of this epoch. */
static struct cw_stream *second_of_two(const struct cw_job *job, uint64_t epoch)
{
    struct cw_token token = {.epoch = epoch, .mode = CW_MODE_COORDINATED, .consumers = 2};
    struct hello h;
    hello_init(&h);
    snprintf(h.name, sizeof(h.name), "a");
    h.options.mode = CACHEW__V1__CONSUMER_MODE__COORDINATED;
    h.options.consumers = 2;
    h.options.epochs = 200;
    h.hello.client_id = 8 + epoch;
    h.hello.consumer = 1;
    h.hello.token.data = h.token;
    h.hello.token.len = encode(job, &token, h.token, sizeof(h.token));
    struct cw_stream *stream = hello_say(&h);
    hello_fini(&h);
    peers_turn();
    return stream;
}

/* Not more epochs may be open than a job may have ahead, and the other consumer is at a late one. */
static void a_token_of_long_ago_while_others_are_there(void **state)
{
    (void)state;
    enum { NOW = CW_EPOCHS_AHEAD + 20 };
    char name[] = "a";
    Cachew__V1__JobOptions options;
    cachew__v1__job_options__init(&options);
    options.name = name;
    options.epochs = 200;
    options.mode = CACHEW__V1__CONSUMER_MODE__COORDINATED;
    options.consumers = 2;
    struct cw_stream *worker = peers_worker(1, 2), *first = peers_trainer(100, &options);
    peers_prepared(worker, 10);
    peers_turn();
    struct cw_job *job = made_up.jobs;
    struct cw_stream *second = second_of_two(job, 0);
    assert_non_null(welcome_of(second));
    for (uint64_t epoch = 0; epoch < NOW; epoch++) {
        peers_ack(first, epoch, 10, 10);
        peers_ack(second, epoch, 10, 10);
    }
    assert_int_equal(job->first_epoch, NOW);
    peers_break(second, CW_E_UNAVAILABLE, "gone");
    assert_refused(second_of_two(job, 3), CW_E_STATE, "they must go back to their tokens, too");
    assert_int_equal(job->first_epoch, NOW);
    assert_non_null(welcome_of(second_of_two(job, NOW - 10)));
    assert_int_equal(job->first_epoch, NOW - 10);
    /* Alone it may go back as far as it likes. */
    peers_break(first, CW_E_UNAVAILABLE, "gone");
    peers_break(job->consumers[1].client->stream, CW_E_UNAVAILABLE, "gone");
    assert_non_null(welcome_of(second_of_two(job, 3)));
    assert_int_equal(job->first_epoch, 3);
}

static void tokens_of_other_functions(void **state)
{
    (void)state;
    static const struct {
        struct cw_token token;
        Cachew__V1__PlanInfo info;
        const char *says;
    } cases[] = {
        {{.seed = 9}, CACHEW__V1__PLAN_INFO__INIT, "of seed 9, the job has seed 0"},
        {{.fingerprint = {1, 1}},
         CACHEW__V1__PLAN_INFO__INIT,
         "or the source's files have changed"},
        {{.fingerprint = {1, 1}, .pipeline_sum = 2, .files_sum = 1, .identity = 0},
         {.pipeline_sum = 1, .files_sum = 1, .identity = 0},
         "its operators or their options are others"},
        {{.fingerprint = {1, 1}, .pipeline_sum = 1, .files_sum = 1, .identity = 3},
         {.pipeline_sum = 1, .files_sum = 1, .identity = 0},
         "resume with --identity content"},
        {{.fingerprint = {1, 1}, .pipeline_sum = 1, .files_sum = 2, .identity = 0},
         {.pipeline_sum = 1, .files_sum = 1, .identity = 0},
         "which there are, or their sizes"},
        {{.fingerprint = {1, 1}, .pipeline_sum = 1, .files_sum = 1, .identity = 0},
         {.pipeline_sum = 1, .files_sum = 1, .identity = 0},
         "times of change"},
        {{.fingerprint = {1, 1}, .pipeline_sum = 1, .files_sum = 1, .identity = 3},
         {.pipeline_sum = 1, .files_sum = 1, .identity = 3},
         "the bytes of some of them are others now (identity content)"},
    };
    struct cw_stream *before;
    struct cw_job *job = peers_running("a", &before);
    peers_break(before, CW_E_UNAVAILABLE, "gone");
    for (size_t i = 0; i < CW_ARRAY_LEN(cases); i++) {
        struct cw_token token = cases[i].token;
        token.consumers = 1;
        job->info->pipeline_sum = cases[i].info.pipeline_sum;
        job->info->files_sum = cases[i].info.files_sum;
        job->info->identity = cases[i].info.identity;
        assert_refused(resume(job, &token), CW_E_INVALID, cases[i].says);
    }
    struct hello h;
    hello_init(&h);
    snprintf(h.name, sizeof(h.name), "a");
    memcpy(h.token, "no token", 8);
    h.hello.token.data = h.token;
    h.hello.token.len = 8;
    assert_refused(hello_say(&h), CW_E_CORRUPT, "token");
    hello_fini(&h);
    assert_null(job->consumers[0].client);
}

/* ---- room ---- */
static void old_jobs_make_room(void **state)
{
    (void)state;
    struct cw_stream *before;
    struct cw_job *job = peers_running("a", &before);
    peers_break(before, CW_E_UNAVAILABLE, "gone");
    job->status = CW_JOB_FINISHED;
    made_up.options.max_jobs = 1;
    made_up.jobs_n += 100; /* as if there were so many that are over */
    struct hello h;
    hello_init(&h);
    assert_false(peers_is_ended(hello_say(&h)));
    hello_fini(&h);
    made_up.jobs_n -= 100;
    assert_null(cw_job_find(&made_up, "a"));
    assert_int_equal(made_up.jobs_n, 1);
}

/* ---- streams ---- */
static void who_says_something_else_first(void **state)
{
    (void)state;
    Cachew__V1__Ack ack = CACHEW__V1__ACK__INIT;
    Cachew__V1__ClientMessage message = CACHEW__V1__CLIENT_MESSAGE__INIT;
    message.kind_case = CACHEW__V1__CLIENT_MESSAGE__KIND_ACK;
    message.ack = &ack;
    struct cw_stream *stream = peers_attach("Jobs/Attach");
    peers_say(stream, &message.base);
    assert_refused(stream, CW_E_INVALID, "the first message must be a hello");
    struct cw_stream *holder;
    (void)peers_running("a", &holder);
    struct hello h;
    hello_init(&h);
    peers_say(holder, &h.message.base);
    hello_fini(&h);
    assert_refused(holder, CW_E_INVALID, "a second hello");
    stream = peers_attach("Jobs/Attach");
    peers_say_bytes(stream, "\xff\xff\xff");
    assert_int_equal(peers_end_code(stream), CW_E_INVALID);
}

/* So many intervals take the loop less than 10 ms. Who says more comes back, and says all at once. */
/* One set of very many intervals, which are behind the items of the job. */
enum { MANY = CW_ACK_INTERVALS_MAX };
struct many {
    Cachew__V1__Interval *intervals, **list;
    Cachew__V1__EpochSet set, *sets[1];
};

static void many_init(struct many *m)
{
    m->intervals = CW_NEW_ARRAY(Cachew__V1__Interval, MANY);
    m->list = CW_NEW_ARRAY(Cachew__V1__Interval *, MANY);
    for (size_t i = 0; i < MANY; i++) {
        cachew__v1__interval__init(&m->intervals[i]);
        m->intervals[i].lo = 100 + 2 * i;
        m->intervals[i].hi = m->intervals[i].lo + 1;
        m->list[i] = &m->intervals[i];
    }
    cachew__v1__epoch_set__init(&m->set);
    m->set.items = m->list;
    m->set.n_items = MANY;
    m->sets[0] = &m->set;
}

static void many_fini(struct many *m)
{
    cw_mem_free(m->intervals);
    cw_mem_free(m->list);
}

static void say_many(struct cw_stream *trainer, struct many *m, size_t consumed_n)
{
    Cachew__V1__EpochSet consumed = m->set, *others[] = {&consumed};
    Cachew__V1__Ack ack = CACHEW__V1__ACK__INIT;
    Cachew__V1__ClientMessage message = CACHEW__V1__CLIENT_MESSAGE__INIT;
    message.kind_case = CACHEW__V1__CLIENT_MESSAGE__KIND_ACK;
    message.ack = &ack;
    consumed.n_items = consumed_n;
    ack.received = m->sets, ack.consumed = others;
    ack.n_received = 1, ack.n_consumed = consumed_n > 0;
    peers_say(trainer, &message.base);
}

static void who_acknowledges_too_much_at_once(void **state)
{
    (void)state;
    struct cw_stream *trainer;
    struct many many;
    (void)peers_running("a", &trainer);
    many_init(&many);
    say_many(trainer, &many, 0);
    assert_true(peers_is_paused(trainer));
    say_many(trainer, &many, 1);
    assert_false(peers_is_ended(trainer));
    /* It waits until the first is taken, in several turns. */
    soon((peers_turn(), peers_is_ended(trainer)));
    assert_int_equal(peers_end_code(trainer), CW_E_LIMIT);
    many_fini(&many);
}

/* Of a trainer that breaks off nothing more is taken. The same one comes back with all that it has: it has
 * its place at once, and is welcomed when all of that is taken. */
static void who_comes_back_with_much(void **state)
{
    (void)state;
    struct cw_stream *trainer;
    struct many many;
    const struct cw_job *job = peers_running("a", &trainer);
    many_init(&many);
    say_many(trainer, &many, 0);
    peers_break(trainer, 0, "");
    Cachew__V1__ClientMessage message = CACHEW__V1__CLIENT_MESSAGE__INIT;
    Cachew__V1__ClientHello hello = CACHEW__V1__CLIENT_HELLO__INIT;
    char version[] = CW_VERSION;
    message.kind_case = CACHEW__V1__CLIENT_MESSAGE__KIND_HELLO;
    message.hello = &hello;
    hello.protocol = CW_PROTOCOL;
    hello.version = version;
    hello.client_id = 100;
    hello.job_id = job->id;
    hello.received = many.sets;
    hello.n_received = 1;
    trainer = peers_attach("Jobs/Attach");
    peers_say(trainer, &message.base);
    peers_one_turn();
    assert_non_null(job->consumers[0].client);
    assert_null(welcome_of(trainer));
    struct cw_stream *again = peers_attach("Jobs/Attach"); /* before that */
    peers_say(again, &message.base);
    assert_true(peers_is_ended(trainer));
    soon((peers_turn(), welcome_of(again) != NULL));
    assert_null(welcome_of(trainer));
    assert_false(peers_is_paused(again));
    many_fini(&many);
}

/* A token lets somebody in whose certificate workers refuse: he is told at once, for a new job and
 * for one that is there. Without a tenant the job is of the tenant "default". */
static void whom_workers_would_refuse(void **state)
{
    (void)state;
    static const struct cw_caller caller = {
        .kind = CW_CALLER_OPERATOR, .name = "root", .certificate_tenant = "vision"};
    static const char *const tenants[] = {"", "audio", "vision"};
    struct cw_stream *stream = NULL;
    peers_caller = &caller;
    for (size_t i = 0; i < CW_ARRAY_LEN(tenants); i++) {
        struct hello h;
        hello_init(&h);
        snprintf(h.tenant, sizeof(h.tenant), "%s", tenants[i]);
        stream = hello_say(&h);
        if (i < 2)
            assert_refused(stream, CW_E_DENIED, "is that of tenant \"vision\", the job is of");
        else
            assert_false(peers_is_ended(stream));
        hello_fini(&h);
    }
    peers_caller = NULL;
    struct cw_job *job = peers_running("theirs", &stream);
    peers_caller = &caller;
    assert_refused(peers_back(8, job->id), CW_E_DENIED, "the job is of \"default\"");
    peers_caller = NULL;
}

static void who_says_nothing(void **state)
{
    (void)state;
    struct cw_stream *stream = peers_attach("Jobs/Attach");
    cw_client_sessions_tick(&made_up, cw_clock_ms());
    assert_false(peers_is_ended(stream));
    cw_client_sessions_tick(&made_up, cw_clock_ms() + 60000);
    assert_refused(stream, CW_E_TIMEOUT, "no hello came");
    cw_client_sessions_tick(&made_up, cw_clock_ms() + 60000);
    made_up.stopping = true;
    assert_refused(peers_attach("Jobs/Attach"), CW_E_UNAVAILABLE, "the dispatcher is stopping");
    made_up.stopping = false;
    made_up.clients_n += 20000;
    assert_refused(peers_attach("Jobs/Attach"), CW_E_LIMIT, "as many clients as it takes");
    made_up.clients_n -= 20000;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, peers_begin, peers_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(refused_hellos),
        TEST(other_jobs_of_that_name),
        TEST(a_held_place_is_waited_for),
        TEST(a_held_place_is_not_waited_for_without_end),
        TEST(who_cannot_fill_rows_up_is_refused),
        TEST(who_comes_back_takes_its_own_place),
        TEST(who_comes_again_before_the_job_is_ready),
        TEST(who_was_replaced_does_not_come_back),
        TEST(a_failed_job_takes_nobody),
        TEST(a_token_says_where_to_go_on),
        TEST(a_token_of_long_ago_while_others_are_there),
        TEST(tokens_of_other_functions),
        TEST(old_jobs_make_room),
        TEST(who_says_something_else_first),
        TEST(who_acknowledges_too_much_at_once),
        TEST(who_comes_back_with_much),
        TEST(whom_workers_would_refuse),
        TEST(who_says_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
