/* SPDX-License-Identifier: Apache-2.0 */
/* What a trainer may not give to the library's functions, and what they say. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"
#include "cachew/cachew.h"
#include "client/model/client.h"
#include "client/model/client_job.h"
#include "support/cm.h"

static void assert_says(const struct cachew_error *error, const char *says)
{
    if (!strstr(error->message, says))
        fail_msg("\"%s\" does not say \"%s\"", error->message, says);
}

/* ---- pipelines ---- */
static void null_name(struct cachew_builder *b)
{
    cachew_set_name(b, NULL);
}
static void null_field(struct cachew_builder *b)
{
    cachew_add_field(b, NULL);
}
static void null_depends(struct cachew_builder *b)
{
    cachew_add_depends_on(b, NULL);
}
static void null_option(struct cachew_builder *b)
{
    cachew_set_i64(b, NULL, 1);
}
static void null_real(struct cachew_builder *b)
{
    cachew_set_f64(b, NULL, 1);
}
static void null_bool(struct cachew_builder *b)
{
    cachew_set_bool(b, NULL, 1);
}
static void null_text(struct cachew_builder *b)
{
    cachew_set_str(b, "x", NULL);
}
static void null_integers(struct cachew_builder *b)
{
    cachew_set_i64s(b, "x", NULL, 2);
}
static void null_reals(struct cachew_builder *b)
{
    cachew_set_f64s(b, "x", NULL, 2);
}
static void null_texts(struct cachew_builder *b)
{
    cachew_set_strs(b, "x", NULL, 2);
}
static void null_json(struct cachew_builder *b)
{
    cachew_set_json(b, "x", NULL);
}

static void null_in_a_builder(void **state)
{
    (void)state;
    static const struct {
        void (*call)(struct cachew_builder *b);
        const char *says;
    } cases[] = {
        {null_name, "cachew_set_name: NULL was given for operator range"},
        {null_field, "cachew_add_field: NULL was given for operator range"},
        {null_depends, "cachew_add_depends_on: NULL"},
        {null_option, "cachew_set_i64: NULL"},
        {null_real, "cachew_set_f64: NULL"},
        {null_bool, "cachew_set_bool: NULL"},
        {null_text, "cachew_set_str: NULL"},
        {null_integers, "cachew_set_i64s: NULL"},
        {null_reals, "cachew_set_f64s: NULL"},
        {null_texts, "cachew_set_strs: NULL"},
        {null_json, "cachew_set_json: NULL"},
    };
    for (size_t i = 0; i < CW_ARRAY_LEN(cases); i++) {
        struct cachew_error error = CACHEW_ERROR_INIT;
        struct cachew_pipeline *pipeline = NULL;
        struct cachew_builder *b = cachew_builder_new("p");
        cachew_add(b, "range");
        cases[i].call(b);
        cachew_add_input(b, "r"); /* the first error is told */
        cachew_set_keep_position(b);
        cachew_add(b, "batch");
        assert_int_equal(cachew_builder_finish(b, &pipeline, &error), CACHEW_E_INVALID);
        assert_says(&error, cases[i].says);
        assert_null(pipeline);
    }
}

static void calls_before_an_operator(void **state)
{
    (void)state;
    struct cachew_error error = CACHEW_ERROR_INIT;
    struct cachew_pipeline *pipeline = NULL;
    struct cachew_builder *b = cachew_builder_new("p");
    cachew_set_name(b, NULL);
    assert_int_equal(cachew_builder_finish(b, &pipeline, &error), CACHEW_E_INVALID);
    assert_string_equal(error.message, "cachew_set_name: NULL was given");
    b = cachew_builder_new("p");
    cachew_add_input(b, "r");
    assert_int_equal(cachew_builder_finish(b, &pipeline, &error), CACHEW_E_INVALID);
    assert_says(&error, "cachew_add_input was called before cachew_add");
    static const char *const names[] = {NULL, ""};
    for (size_t i = 0; i < CW_ARRAY_LEN(names); i++) {
        b = cachew_builder_new("p");
        cachew_add(b, "range");
        cachew_add(b, names[i]);
        assert_int_equal(cachew_builder_finish(b, &pipeline, &error), CACHEW_E_INVALID);
        assert_says(&error, "operator 1 has no name");
    }
    b = cachew_builder_new("p");
    cachew_add(b, "range");
    assert_int_equal(cachew_builder_finish(b, NULL, &error), CACHEW_E_INVALID);
    assert_says(&error, "ret_pipeline must not be NULL");
    assert_int_equal(cachew_pipeline_load(NULL, &pipeline, &error), CACHEW_E_INVALID);
    assert_int_equal(cachew_pipeline_load("x", NULL, &error), CACHEW_E_INVALID);
    assert_int_equal(cachew_pipeline_parse(NULL, 0, &pipeline, &error), CACHEW_E_INVALID);
    assert_int_equal(cachew_pipeline_parse("{}", 2, NULL, &error), CACHEW_E_INVALID);
}

/* ---- cachew_connect ---- */
static void addresses(void **state)
{
    (void)state;
    static const char *const bad[] = {"",       "host",       ":7070", "host:",     "host:seven",
                                      "host:0", "host:65536", "unix:", "host:70 70"};
    struct cachew_client *client = NULL;
    struct cachew_error error = CACHEW_ERROR_INIT;
    for (size_t i = 0; i < CW_ARRAY_LEN(bad); i++) {
        assert_int_equal(cachew_connect(bad[i], NULL, &client, &error), CACHEW_E_INVALID);
        assert_says(&error, "HOST:PORT, unix:/path, or local:");
    }
    assert_int_equal(unsetenv("CACHEW_DISPATCHER"), 0);
    assert_int_equal(cachew_connect(NULL, NULL, &client, &error), CACHEW_E_INVALID);
    assert_says(&error, "no dispatcher address was given");
    assert_says(&error, "CACHEW_DISPATCHER has none");
    assert_int_equal(setenv("CACHEW_DISPATCHER", "", 1), 0);
    assert_int_equal(cachew_connect(NULL, NULL, &client, &error), CACHEW_E_INVALID);
    assert_says(&error, "CACHEW_DISPATCHER has none");
    assert_int_equal(setenv("CACHEW_DISPATCHER", "host:seven", 1), 0);
    assert_int_equal(cachew_connect(NULL, NULL, &client, &error), CACHEW_E_INVALID);
    assert_says(&error, "CACHEW_DISPATCHER: dispatcher address \"host:seven\"");
    struct cachew_connect_options soon = CACHEW_CONNECT_OPTIONS_INIT;
    soon.timeout_ms = 1;
    assert_int_equal(setenv("CACHEW_DISPATCHER", "unix:/nowhere/socket", 1), 0);
    assert_int_equal(cachew_connect(NULL, &soon, &client, &error), CACHEW_E_UNAVAILABLE);
    assert_says(&error, "unix:/nowhere/socket");
    /* An address that was given is not asked for there. */
    assert_int_equal(cachew_connect("host:0", NULL, &client, &error), CACHEW_E_INVALID);
    assert_says(&error, "dispatcher address \"host:0\"");
    assert_int_equal(unsetenv("CACHEW_DISPATCHER"), 0);
    assert_int_equal(cachew_connect("host:1", NULL, NULL, &error), CACHEW_E_INVALID);
    assert_says(&error, "ret_client must not be NULL");
    assert_null(client);
}

static void connect_options(void **state)
{
    (void)state;
    struct cachew_client *client = NULL;
    struct cachew_error error = CACHEW_ERROR_INIT;
    struct cachew_connect_options good = CACHEW_CONNECT_OPTIONS_INIT, o;
    o = good, o.struct_size = 0;
    assert_int_equal(cachew_connect("host:1", &o, &client, &error), CACHEW_E_INVALID);
    assert_says(&error, "struct_size is not set");
    o.struct_size = 4097;
    assert_int_equal(cachew_connect("host:1", &o, &client, &error), CACHEW_E_INVALID);
    for (int i = 0; i < 3; i++) {
        o = good;
        o.timeout_ms = i == 0 ? -1 : 0;
        o.local_workers = i == 1 ? -1 : 0;
        o.local_threads = i == 2 ? -1 : 0;
        assert_int_equal(cachew_connect("host:1", &o, &client, &error), CACHEW_E_INVALID);
        assert_says(&error, "must not be negative");
    }
    o = good, o.cache_store = "mem:x";
    assert_int_equal(cachew_connect("host:1", &o, &client, &error), CACHEW_E_INVALID);
    assert_says(&error, "cache_store: for local: only");
    assert_null(client);
}

/* ---- cachew_job_start ---- */
static char long_text[300];

static void bad_mode(struct cachew_job_options *o)
{
    o->mode = 7;
}
static void two_single(struct cachew_job_options *o)
{
    o->consumers = 2;
}
static void no_such_consumer(struct cachew_job_options *o)
{
    o->consumer = 1;
}
static void bad_name(struct cachew_job_options *o)
{
    o->name = "a\nb";
}
static void no_name(struct cachew_job_options *o)
{
    o->mode = CACHEW_SHARED;
}
static void empty_name(struct cachew_job_options *o)
{
    o->mode = CACHEW_COORDINATED;
    o->name = "";
}
static void bad_tenant(struct cachew_job_options *o)
{
    o->tenant = "a/b";
}
static void long_autocache(struct cachew_job_options *o)
{
    o->autocache = long_text;
}
static void long_autoscale(struct cachew_job_options *o)
{
    o->autoscale = long_text;
}
static void long_autoplace(struct cachew_job_options *o)
{
    o->autoplace = long_text;
}
static void bad_identity(struct cachew_job_options *o)
{
    o->identity = "colour";
}
static void least_above_most(struct cachew_job_options *o)
{
    o->min_workers = 2;
    o->max_workers = 1;
}
static void bad_weight(struct cachew_job_options *o)
{
    o->weight = (double)NAN;
}
static void negative_stall(struct cachew_job_options *o)
{
    o->max_stall = -0.5;
}
static void stall_above_1(struct cachew_job_options *o)
{
    o->max_stall = 1.5;
}
static void bad_price(struct cachew_job_options *o)
{
    o->client_price = -1;
}
static void bad_cpus(struct cachew_job_options *o)
{
    o->local_cpus = -1;
}
static void many_local(struct cachew_job_options *o)
{
    o->local_workers = 100000;
}
static void negative_nice(struct cachew_job_options *o)
{
    o->local_nice = -1;
}
static void nice_above_19(struct cachew_job_options *o)
{
    o->local_nice = 20;
}
static void little_memory(struct cachew_job_options *o)
{
    o->local_workers = 2;
    o->local_memory = 17 << 20;
}
static void empty_token(struct cachew_job_options *o)
{
    o->token = "x";
}
static void no_size(struct cachew_job_options *o)
{
    o->struct_size = 0;
}
static void large_size(struct cachew_job_options *o)
{
    o->struct_size = 5000;
}

static void job_options(void **state)
{
    (void)state;
    static const struct {
        void (*set)(struct cachew_job_options *o);
        const char *says;
    } cases[] = {
        {bad_mode, "job option mode: 7"},
        {two_single, "2 consumers need mode"},
        {no_such_consumer, "job option consumer: 1 is not below consumers (1)"},
        {bad_name, "job option name"},
        {no_name, "job option name: a job of several consumers needs one"},
        {empty_name, "job option name: a job of several consumers needs one"},
        {bad_tenant, "job option tenant"},
        {long_autocache, "job option autocache: longer than 256 bytes"},
        {long_autoscale, "job option autoscale: longer than 256 bytes"},
        {long_autoplace, "job option autoplace: longer than 256 bytes"},
        {bad_identity, "job option identity"},
        {least_above_most, "job option min_workers: 2 is more than max_workers (1)"},
        {bad_weight, "must be 0 or more, max_stall 0 to 1"},
        {negative_stall, "must be 0 or more, max_stall 0 to 1"},
        {stall_above_1, "must be 0 or more, max_stall 0 to 1"},
        {bad_price, "must be 0 or more, max_stall 0 to 1"},
        {bad_cpus, "must be 0 or more, max_stall 0 to 1"},
        {many_local, "job option local_workers: 100000 is over"},
        {negative_nice, "job option local_nice: -1 is not 0 to 19"},
        {nice_above_19, "job option local_nice: 20 is not 0 to 19"},
        {little_memory, "less than 16M for each of 2 local workers"},
        {empty_token, "job option token_bytes: 0, but there is a token"},
        {no_size, "struct_size is not set"},
        {large_size, "struct_size is not set"},
    };
    struct cachew_error error = CACHEW_ERROR_INIT;
    struct cachew_pipeline *pipeline = NULL;
    struct cachew_job *job = NULL;
    struct cachew_client client = {.magic = CW_CLIENT_MAGIC, .pid = getpid()}; /* is not reached */
    static const char text[] = "{\"pipeline\": [{\"op\": \"range\", \"stop\": 3}]}";
    memset(long_text, 'x', sizeof(long_text) - 1);
    assert_int_equal(cachew_pipeline_parse(text, strlen(text), &pipeline, &error), 0);
    for (size_t i = 0; i < CW_ARRAY_LEN(cases); i++) {
        struct cachew_job_options o = CACHEW_JOB_OPTIONS_INIT;
        cases[i].set(&o);
        assert_int_equal(cachew_job_start(&client, pipeline, &o, &job, &error), CACHEW_E_INVALID);
        assert_says(&error, cases[i].says);
    }
    assert_int_equal(setenv("CACHEW_TENANT", "c/d", 1), 0);
    assert_int_equal(cachew_job_start(&client, pipeline, NULL, &job, &error), CACHEW_E_INVALID);
    assert_says(&error, "CACHEW_TENANT: \"c/d\" is no name of a tenant");
    struct cachew_job_options own = CACHEW_JOB_OPTIONS_INIT;
    bad_tenant(&own);
    assert_int_equal(cachew_job_start(&client, pipeline, &own, &job, &error), CACHEW_E_INVALID);
    assert_says(&error, "job option tenant: \"a/b\"");
    assert_int_equal(unsetenv("CACHEW_TENANT"), 0);
    assert_int_equal(cachew_job_start(&client, NULL, NULL, &job, &error), CACHEW_E_INVALID);
    assert_int_equal(cachew_job_start(&client, pipeline, NULL, NULL, &error), CACHEW_E_INVALID);
    assert_says(&error, "pipeline and ret_job must not be NULL");
    client.pid = getpid() + 1; /* of a parent */
    assert_int_equal(cachew_job_start(&client, pipeline, NULL, &job, &error), CACHEW_E_STATE);
    assert_int_equal(cachew_job_start(NULL, pipeline, NULL, &job, &error), CACHEW_E_STATE);
    assert_null(job);
    cachew_pipeline_release(pipeline);
}

/* ---- jobs ---- */
static void calls_without_a_job(void **state)
{
    (void)state;
    struct cachew_error error = CACHEW_ERROR_INIT;
    struct cachew_batch *batch = NULL;
    struct cachew_job_stats stats = {.struct_size = sizeof(stats)};
    static char none[sizeof(struct cachew_job)];
    struct cachew_job *const jobs[] = {NULL, (struct cachew_job *)(void *)none};
    char token[64];
    size_t n;
    for (size_t i = 0; i < CW_ARRAY_LEN(jobs); i++) {
        batch = (struct cachew_batch *)(void *)token;
        assert_int_equal(cachew_job_next(jobs[i], 0, &batch, &error), CACHEW_E_STATE);
        assert_null(batch);
        assert_int_equal(cachew_job_stats(jobs[i], &stats), CACHEW_E_STATE);
        assert_int_equal(cachew_job_token(jobs[i], 0, token, sizeof(token), &n, &error),
                         CACHEW_E_STATE);
        assert_false(cachew_job_done(jobs[i]));
        assert_string_equal(cachew_job_id(jobs[i]), "");
        cachew_job_cancel(jobs[i]);
    }
}

static void a_job_that_is_there(void **state)
{
    (void)state;
    struct cachew_error error = CACHEW_ERROR_INIT;
    struct cachew_client client = {.magic = CW_CLIENT_MAGIC, .pid = getpid()};
    static struct cachew_job job;
    char id[] = "j1", token[256];
    size_t n;
    job.magic = CW_JOB_MAGIC;
    job.pid = getpid();
    job.client = &client;
    job.id = id;
    struct cachew_job_stats stats = {.struct_size = 0};
    assert_int_equal(cachew_job_stats(&job, &stats), CACHEW_E_INVALID);
    stats.struct_size = 65 * sizeof(stats);
    assert_int_equal(cachew_job_stats(&job, &stats), CACHEW_E_INVALID);
    assert_int_equal(cachew_job_stats(&job, NULL), CACHEW_E_STATE);
    stats.struct_size = sizeof(stats);
    job.mine = 10;
    job.counts.done_items = 4;
    assert_int_equal(cachew_job_stats(&job, &stats), 0);
    assert_true(stats.epoch_done == 0.4 && stats.epoch_items == 10);
    job.counts.done_items = 12;
    assert_int_equal(cachew_job_stats(&job, &stats), 0);
    assert_true(stats.epoch_done == 1);
    job.mine = 0;
    assert_int_equal(cachew_job_stats(&job, &stats), 0);
    assert_true(stats.epoch_done == 0);
    assert_string_equal(cachew_job_id(&job), "j1");
    assert_int_equal(cachew_job_next(&job, 0, NULL, &error), CACHEW_E_INVALID);
    assert_says(&error, "ret_batch must not be NULL");
    assert_int_equal(cachew_job_token(&job, 0, NULL, 0, &n, &error), CACHEW_E_INVALID);
    assert_true(n > 0 && n <= CACHEW_TOKEN_BYTES);
    assert_int_equal(cachew_job_token(&job, 0, NULL, n, &n, &error), CACHEW_E_INVALID);
    assert_int_equal(cachew_job_token(&job, 0, token, sizeof(token), NULL, &error),
                     CACHEW_E_INVALID);
    job.mode = CW_MODE_SHARED;
    assert_int_equal(cachew_job_token(&job, 0, token, sizeof(token), &n, &error),
                     CACHEW_E_UNSUPPORTED);
    job.over = true;
    assert_true(cachew_job_done(&job));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(null_in_a_builder),   cmocka_unit_test(calls_before_an_operator),
        cmocka_unit_test(addresses),           cmocka_unit_test(connect_options),
        cmocka_unit_test(job_options),         cmocka_unit_test(calls_without_a_job),
        cmocka_unit_test(a_job_that_is_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
