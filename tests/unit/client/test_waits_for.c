/* SPDX-License-Identifier: Apache-2.0 */
/* What a job waits for, from what its client knows and what it was told: each kind once. */
#include "support/cm.h"

#include <string.h>
#include "cachew/cachew.h"
#include "base/short_reason.h"
#include "client/session/waits_for.h"

#define SECOND INT64_C(1000000000)

static struct cw_waits away, told, waits;
static struct cw_waits_stream streams[2];
static struct cw_waits_view view;

/* A trainer that has had nothing for five seconds, with two workers that are up. */
static int setup(void **state)
{
    (void)state;
    cw_waits_clear(&away);
    cw_waits_clear(&told);
    streams[0] = (struct cw_waits_stream){1, "one:1", true, NULL};
    streams[1] = (struct cw_waits_stream){2, "two:2", true, NULL};
    view = (struct cw_waits_view){.dispatcher = "d:7070",
                                  .connected = true,
                                  .begun = true,
                                  .away = &away,
                                  .told = &told,
                                  .began_ns = SECOND,
                                  .starving_ns = 5 * SECOND,
                                  .ordered = true,
                                  .epoch = 3,
                                  .item = 17,
                                  .streams = streams,
                                  .streams_n = 2};
    return 0;
}

static void expect(int kind, const char *text, int64_t since_ns)
{
    cw_waits_for(&view, &waits);
    assert_int_equal(waits.kind, kind);
    if (!strstr(waits.text, text))
        fail_msg("\"%s\" is not in \"%s\"", text, waits.text);
    assert_int_equal(waits.since_ns, since_ns);
}

static void test_nothing(void **state)
{
    (void)state;
    view.starving_ns = 0;
    expect(CACHEW_WAIT_NOTHING, "", 0);
    setup(NULL);
    view.over = true;
    expect(CACHEW_WAIT_NOTHING, "", 0);
}

static void test_start(void **state)
{
    (void)state;
    view.begun = view.connected = false;
    expect(CACHEW_WAIT_DISPATCHER, "the dispatcher at d:7070 does not answer", SECOND);
    cw_waits_set(&away, CACHEW_WAIT_DISPATCHER, 2 * SECOND, "no connection");
    expect(CACHEW_WAIT_DISPATCHER, "no connection", 2 * SECOND);
    cw_waits_set(&told, CACHEW_WAIT_PREPARING, 3 * SECOND, "at /data/a");
    expect(CACHEW_WAIT_PREPARING, "at /data/a", 3 * SECOND);
}

static void test_dispatcher(void **state)
{
    (void)state;
    view.connected = false;
    cw_waits_set(&away, CACHEW_WAIT_DISPATCHER, 2 * SECOND, "no connection to d:7070 (refused)");
    expect(CACHEW_WAIT_DISPATCHER, "no connection to d:7070 (refused)", 2 * SECOND);
}

static void test_workers(void **state)
{
    (void)state;
    expect(CACHEW_WAIT_COMPUTING, "2 workers compute for the job, and item 17 of epoch 3",
           5 * SECOND);
    streams[1].up = false;
    streams[1].why = "no such host";
    view.later = 4;
    expect(CACHEW_WAIT_COMPUTING, "(4 later ones have); worker two:2 cannot be reached",
           5 * SECOND);
    streams[0].up = false; /* its first attempt has not ended */
    expect(CACHEW_WAIT_WORKER, "worker one:1 cannot be reached from this host (no answer yet)",
           5 * SECOND);
    view.streams_n = 0;
    expect(CACHEW_WAIT_NO_WORKER, "has no worker", 5 * SECOND);
}

static void test_what_the_dispatcher_says(void **state)
{
    (void)state;
    cw_waits_set(&told, CACHEW_WAIT_CONSUMER, 4 * SECOND, "consumer 1 of 2 is not there");
    expect(CACHEW_WAIT_CONSUMER, "consumer 1 of 2", 4 * SECOND);
    /* It does not know that this host cannot reach the worker that has the item. */
    cw_waits_set(&told, CACHEW_WAIT_COMPUTING, 4 * SECOND, "item 17 is at worker two:2");
    told.worker_id = 2;
    expect(CACHEW_WAIT_COMPUTING, "item 17 is at worker two:2", 4 * SECOND);
    streams[1].up = false;
    streams[1].why = "no such host";
    expect(CACHEW_WAIT_WORKER, "worker two:2, which has what comes next", 4 * SECOND);
}

static void test_trainer(void **state)
{
    (void)state;
    view.starving_ns = 0;
    view.idle_ns = 2 * SECOND;
    view.ready = 12;
    view.ready_bytes = 3400000;
    expect(CACHEW_WAIT_TRAINER, "12 batches (3.2 MiB) are ready, and the trainer", 2 * SECOND);
}

static void test_the_public_struct(void **state)
{
    (void)state;
    struct cachew_waiting waiting = CACHEW_WAITING_INIT;
    char text[CW_WAITS_TEXT_BYTES + 40];
    cw_waits_set(&waits, CACHEW_WAIT_COMPUTING, SECOND, "a worker");
    cw_waits_tell(&waits, 3 * SECOND, &waiting);
    assert_int_equal(waiting.since_ms, 2000);
    assert_string_equal(waiting.text, "a worker");
    cw_waits_print(&waits, 3 * SECOND, text);
    assert_string_equal(text, ": a worker (for 2.0 s)");
    /* An older program has a shorter struct. */
    memset(&waiting, 7, sizeof(waiting));
    waiting.struct_size = sizeof(size_t) + sizeof(int);
    cw_waits_tell(&waits, 3 * SECOND, &waiting);
    assert_int_equal(waiting.kind, CACHEW_WAIT_COMPUTING);
    assert_int_equal(waiting.text[0], 7);
    cw_waits_clear(&waits);
    cw_waits_print(&waits, 3 * SECOND, text);
    assert_string_equal(text, "");
}

static void test_short_reasons(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"h:1: failed to connect to all addresses; last error: UNKNOWN: ipv4:1.2.3.4:1: Failed to "
         "connect to remote host: Connection refused",
         "Connection refused"},
        {"DNS resolution failed for nohost:1: C-ares status is not ARES_SUCCESS qtype=AAAA "
         "name=nohost is_balancer=0: Domain name not found",
         "its host name cannot be resolved: Domain name not found"},
        {"h:1: Socket closed", "Socket closed"},
        {"it ended the stream", "it ended the stream"},
    };
    for (size_t i = 0; i < CW_ARRAY_LEN(cases); i++) {
        char text[100];
        cw_short_reason("h:1", cases[i][0], text, sizeof(text));
        assert_string_equal(text, cases[i][1]);
    }
}

#define TEST(name) cmocka_unit_test_setup(name, setup)
int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_nothing),           TEST(test_start),         TEST(test_dispatcher),
        TEST(test_workers),           TEST(test_trainer),       TEST(test_what_the_dispatcher_says),
        TEST(test_the_public_struct), TEST(test_short_reasons),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
