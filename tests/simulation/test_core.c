/* SPDX-License-Identifier: Apache-2.0 */
/* The simulation's core by itself: time, order, death, memory. */
#include "support/cm.h"

#include <stdlib.h>
#include <string.h>

#include "sim.h"

#define MS INT64_C(1000000)
#define NEVER_MS 3600000

static char trace[4096];

static void begin(uint64_t seed)
{
    struct sim_config config = {.seed = seed};

    trace[0] = '\0';
    sim_world_begin(&config);
}

static void add(const char *text)
{
    size_t n = strlen(trace);

    assert_true(n + strlen(text) + 2 < sizeof(trace));
    memcpy(trace + n, text, strlen(text) + 1);
}

static void say(void *arg)
{
    add(arg);
}

static enum sim_end run_all(void)
{
    return sim_world_run(NULL, NULL, sim_now_ns() + NEVER_MS * MS);
}

static void events_run_in_order_of_time(void **state)
{
    char a[] = "a", b[] = "b", c[] = "c", d[] = "d";

    (void)state;
    begin(1);
    int64_t now = sim_now_ns();
    sim_at(NULL, now + 3 * MS, say, c);
    sim_at(NULL, now + 1 * MS, say, a);
    sim_at(NULL, now + 3 * MS, say, d); /* of one time: as they were asked for */
    sim_at(NULL, now + 2 * MS, say, b);
    assert_int_equal(run_all(), SIM_END_IDLE);
    assert_string_equal(trace, "abcd");
    assert_true(sim_now_ns() >= now + 3 * MS && sim_now_ns() < now + 4 * MS);
    sim_world_end();
}

static void walk(void *arg)
{
    for (int i = 0; i < 20; i++) {
        add(arg);
        sim_sleep_ns(sim_between(0, 5 * MS));
    }
}

static void two_walk(uint64_t seed)
{
    char a[] = "a", b[] = "b";

    begin(seed);
    sim_spawn("h", "one", walk, a);
    sim_spawn("h", "two", walk, b);
    assert_int_equal(run_all(), SIM_END_IDLE);
    assert_int_equal(strlen(trace), 40);
    sim_world_end();
}

static void the_seed_decides_the_order(void **state)
{
    char first[sizeof(trace)];

    (void)state;
    two_walk(7);
    memcpy(first, trace, sizeof(first));
    two_walk(7);
    assert_string_equal(trace, first);
    two_walk(8);
    assert_string_not_equal(trace, first);
}

static int deaths;
static void on_death(void *arg)
{
    assert_null(sim_self());
    assert_false(sim_is_alive(*(struct sim_actor **)arg));
    deaths++;
}

static struct sim_actor *victim;
static void hold_memory(void *arg)
{
    (void)arg;
    for (;;) {
        char *p = malloc(100000);
        assert_non_null(p);
        memset(p, 1, 100000);
        sim_sleep_ns(10 * MS);
    }
}

static void kill_it(void *arg)
{
    (void)arg;
    sim_kill(victim);
    sim_kill(victim); /* nothing more */
}

static void a_kill_takes_fibres_events_and_memory(void **state)
{
    char x[] = "x";

    (void)state;
    begin(3);
    deaths = 0;
    int64_t now = sim_now_ns();
    victim = sim_spawn("h", "victim", hold_memory, NULL);
    uint64_t id = sim_actor_id(victim);
    sim_on_death(victim, on_death, &victim);
    sim_at(NULL, now + 1000 * MS, kill_it, NULL);
    sim_at(victim, now + 1001 * MS, say, x);
    assert_int_equal(run_all(), SIM_END_IDLE);
    assert_int_equal(deaths, 1);
    assert_string_equal(trace, "");
    assert_int_equal(sim_status(victim), -1);
    assert_int_equal(sim_actor_id(victim), id);
    sim_world_end();
}

static void leaves(void *arg)
{
    (void)arg;
    sim_exit(3);
}
static void kills_itself(void *arg)
{
    (void)arg;
    sim_kill(sim_self());
    add("never");
}
static void returns(void *arg)
{
    (void)arg;
}

static void actors_end_by_themselves(void **state)
{
    (void)state;
    begin(4);
    struct sim_actor *a = sim_spawn("h", "a", leaves, NULL);
    struct sim_actor *b = sim_spawn("h", "b", kills_itself, NULL);
    struct sim_actor *c = sim_spawn("h", "c", returns, NULL);
    assert_int_equal(run_all(), SIM_END_IDLE);
    assert_int_equal(sim_status(a), 3);
    assert_int_equal(sim_status(b), -1);
    assert_int_equal(sim_status(c), 0);
    assert_false(sim_is_alive(a) || sim_is_alive(b) || sim_is_alive(c));
    assert_string_equal(trace, "");
    sim_world_end();
}

static void stop_it(void *arg)
{
    (void)arg;
    sim_stop(victim);
}
static void cont_it(void *arg)
{
    add("|");
    (void)arg;
    sim_cont(victim);
}

static void the_stopped_do_nothing_until_they_go_on(void **state)
{
    char a[] = "a", b[] = "b", x[] = "x";

    (void)state;
    begin(5);
    int64_t now = sim_now_ns();
    victim = sim_spawn("h", "victim", hold_memory, NULL);
    sim_at(victim, now + 10 * MS, say, a);
    sim_at(NULL, now + 20 * MS, stop_it, NULL);
    sim_at(victim, now + 30 * MS, say, x);
    sim_at(NULL, now + 5000 * MS, cont_it, NULL);
    sim_at(victim, now + 6000 * MS, say, b);
    sim_at(NULL, now + 7000 * MS, kill_it, NULL);
    assert_int_equal(run_all(), SIM_END_IDLE);
    assert_string_equal(trace, "a|xb");
    sim_world_end();
}

static void wait_for_a_wake(void *arg)
{
    (void)arg;
    int64_t now = sim_now_ns();
    assert_false(sim_block(now + 5 * MS));
    assert_true(sim_now_ns() >= now + 5 * MS);
    sim_wake(sim_fibre_self()); /* is not lost */
    assert_true(sim_block(SIM_NEVER));
    add("woken");
}

static void waits_end_by_wake_or_time(void **state)
{
    (void)state;
    begin(6);
    sim_spawn("h", "a", wait_for_a_wake, NULL);
    assert_int_equal(run_all(), SIM_END_IDLE);
    assert_string_equal(trace, "woken");
    sim_world_end();
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(events_run_in_order_of_time),
    cmocka_unit_test(the_seed_decides_the_order),
    cmocka_unit_test(a_kill_takes_fibres_events_and_memory),
    cmocka_unit_test(actors_end_by_themselves),
    cmocka_unit_test(the_stopped_do_nothing_until_they_go_on),
    cmocka_unit_test(waits_end_by_wake_or_time),
};
CW_TESTS_MAIN(tests)
