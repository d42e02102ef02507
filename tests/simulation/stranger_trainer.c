/* SPDX-License-Identifier: Apache-2.0 */
/* Trainers whose dispatcher is a liar, or whose job is one that no other trainer has. They are not
 * told what to get, but each call must end, and with an error that has a text. */
#include <stdio.h>
#include <string.h>

#include "cachew/cachew.h"
#include "stranger.h"
#include "system.h"
#include "tokens.h"

#define NEXT_MS 2000
#define BATCHES 12

__attribute__((visibility("default"))) void sim_victim_main(void *arg);

static const char small[] = "{\"pipeline\": [{\"op\": \"range\", \"stop\": 40}, {\"op\": "
                            "\"batch\", \"size\": 5}]}";
static const char empty[] = "{\"pipeline\": [{\"op\": \"range\", \"stop\": 0}, {\"op\": "
                            "\"batch\", \"size\": 5}]}";
static const char bad[] = "{\"pipeline\": [{\"op\": \"range\", \"stop\": 40}, {\"op\": \"eval\", "
                          "\"expr\": \"1 % (x - 17)\"}, {\"op\": \"batch\", \"size\": 5}]}";
static const char missing[] = "{\"pipeline\": [{\"op\": \"files\", \"pattern\": \"/none/*\"}, "
                              "{\"op\": \"batch\", \"size\": 5}]}";
static const char sparse[] = "{\"pipeline\": [{\"op\": \"range\", \"stop\": 90}, {\"op\": "
                             "\"filter\", \"expr\": \"x % 3 != 1\"}, {\"op\": \"batch\", "
                             "\"size\": 8}]}";
static const char filters[] = "{\"pipeline\": [{\"op\": \"range\", \"stop\": 90}, {\"op\": "
                              "\"filter\", \"expr\": \"x % 3 != 1\"}, {\"op\": \"filter\", "
                              "\"expr\": \"x % 4 != 1\"}, {\"op\": \"batch\", \"size\": 8}]}";

static void check_error(int rc, const struct cachew_error *error)
{
    if (rc < 0 && !error->message[0])
        sim_fail("%s: an error %d without a text", sim_name(sim_self()), rc);
    if (rc < 0)
        sim_log("a stranger's trainer: %s", error->message);
}

static int64_t longer(int64_t ms)
{
    return sim_one_in(8) ? 10 * ms : ms;
}

/* token: what it has at the end; room for *bytes. */
static void train(struct cachew_client *client, const char *text,
                  const struct cachew_job_options *options, unsigned char *token, size_t *bytes)
{
    struct cachew_error error = CACHEW_ERROR_INIT;
    struct cachew_pipeline *pipeline = NULL;
    struct cachew_batch *batch = NULL;
    struct cachew_job *job = NULL;
    int rc = cachew_pipeline_parse(text, strlen(text), &pipeline, &error);

    if (rc != 0)
        sim_fail("a stranger's pipeline: %s", error.message);
    rc = cachew_job_start(client, pipeline, options, &job, &error);
    check_error(rc, &error);
    cachew_pipeline_release(pipeline);
    if (rc != 0)
        return;
    for (uint64_t n = sim_below(BATCHES); n > 0 && rc >= 0 && !cachew_job_done(job); n--) {
        rc = cachew_job_next(job, longer(NEXT_MS), &batch, &error);
        check_error(rc, &error);
        if (rc > 0)
            cachew_batch_release(batch);
    }
    if (bytes && cachew_job_token(job, 1, token, *bytes, bytes, &error) != 0)
        *bytes = 0;
    cachew_job_close(job);
}

static struct cachew_client *connect_to(const char *address)
{
    struct cachew_error error = CACHEW_ERROR_INIT;
    struct cachew_connect_options options = CACHEW_CONNECT_OPTIONS_INIT;
    struct cachew_client *client = NULL;

    options.timeout_ms = longer(500);
    options.no_shared_memory = sim_one_in(2);
    options.token_file = SIM_TOKEN_OF_TRAINERS;
    check_error(cachew_connect(address, &options, &client, &error), &error);
    return client;
}

static void draw_options(struct cachew_job_options *options)
{
    options->seed = sim_below(2);
    options->epochs = 1 + sim_below(2);
    options->unordered = sim_one_in(3);
    if (sim_one_in(2)) {
        options->autocache = "off";
        options->tenant = "another";
        options->autoscale = sim_one_in(2) ? "fixed:1" : "off";
        options->autoplace = "off";
        options->lease_items = sim_below(4);
        options->buffer_bytes = 1 << 20;
    }
    if (sim_strangers_say_all() && sim_one_in(4)) { /* some of it is refused */
        options->optimize = sim_one_in(2) ? "off" : "auto:once";
        options->plan = sim_one_in(2) ? "{}" : NULL;
        options->profile = sim_one_in(2) ? "{}" : NULL;
    }
    options->bad_elements = sim_one_in(2) ? CACHEW_BAD_SKIP : CACHEW_BAD_FAIL;
}

void sim_as_trainer(const struct sim_stranger *stranger)
{
    static const char *const pipelines[] = {small, empty, bad, missing, sparse, filters, filters};
    struct cachew_job_options options = CACHEW_JOB_OPTIONS_INIT;
    struct cachew_client *client = connect_to(stranger->dispatcher);

    if (!client)
        return;
    draw_options(&options);
    train(client, pipelines[sim_below(sim_strangers_say_all() ? 7 : 5)], &options, NULL, NULL);
    cachew_disconnect(client);
}

/* The last token of one job is that of the next one's, which is another, or seems so. */
void sim_victim_main(void *arg)
{
    const struct sim_stranger *stranger = arg;
    unsigned char token[4096];
    size_t bytes = 0;

    sim_system_init();
    for (;;) {
        struct cachew_job_options options = CACHEW_JOB_OPTIONS_INIT;
        struct cachew_client *client = connect_to(stranger->dispatcher);
        sim_sleep_ns(sim_between(1, 100 * SIM_MS));
        if (!client)
            continue;
        draw_options(&options);
        if (bytes > 0 && sim_one_in(2)) {
            options.token = token;
            options.token_bytes = bytes;
        }
        if (sim_one_in(3))
            options.name = "victim";
        bytes = sizeof(token);
        train(client, sim_one_in(2) ? small : sparse, &options, token, &bytes);
        cachew_disconnect(client);
    }
}
