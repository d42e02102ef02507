/* SPDX-License-Identifier: Apache-2.0 */
/* Scaling policies in random worlds (worlds.h): how often they end where they should, and how they
 * get there. docs/experiments.md has the table of what is printed here. With the argument "fresh"
 * the worlds are others each time, or those from the number that follows; then as many, and as many
 * places, as the two next numbers say. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/compiler.h"
#include "support/cm.h"
#include "worlds.h"

#define WORLDS 600 /* the fixed list: worlds 0, 1, ... */
#define PLACES 400
#define FRESH_WORLDS 2500 /* with the argument "fresh": worlds that nobody has run before */
#define FRESH_PLACES 2500
#define BAR 0.995
#define FRESH_FAR_OFF 1 /* so many may be far off, or wasteful, of each 2500 worlds */
#define FAR_OFF 0.1
#define SLOWER_PLACED 0.9
#define QUICK_RIGHT 95
#define QUICK_AT_ONCE 95

static uint64_t first; /* number of the first world */
static uint64_t worlds_n = WORLDS, places_n = PLACES;
static bool is_fresh;

static const char *const names[] = {
    [WORLD_SOURCE] = "source", [WORLD_CPU] = "cpu",         [WORLD_STORE] = "store",
    [WORLD_QUOTA] = "quota",   [WORLD_NETWORK] = "network", [WORLD_TRAINER] = "trainer",
    [WORLD_SLOWER] = "slower"};

static const char *const changes[] = {[WORLD_SAME] = "",
                                      [WORLD_OTHER_TRAINER] = " after another pace of the trainer",
                                      [WORLD_OTHER_WORKERS] = " after another pace of the workers",
                                      [WORLD_LOWER] = " after a lower ceiling",
                                      [WORLD_OTHER_ROOM] = " after less room for local workers",
                                      [WORLD_OTHER_FLEET] = " after a smaller fleet"};

struct score {
    unsigned most;                   /* decisions; 0: 4 */
    unsigned n, right, in_time, few; /* in_time: within 30 windows; few: in no more decisions */
    unsigned wasteful;               /* ends with more than twice the workers that are right */
    unsigned far_off;                /* an epoch takes longer than the best by FAR_OFF, or more */
    double decisions, windows, slowest;
};

static bool is_wasteful(const struct world_result *r)
{
    return r->workers > 2 * (r->knee + 1);
}

static void count(struct score *score, const struct world_result *r)
{
    score->n++;
    score->right += r->right;
    score->in_time += r->settled <= 30;
    score->few += r->decisions <= (score->most > 0 ? score->most : 4);
    score->far_off += r->slower >= FAR_OFF;
    score->wasteful += is_wasteful(r);
    score->decisions += r->decisions;
    score->windows += r->settled;
    score->slowest = fmax(score->slowest, r->slower);
}

static double share(unsigned of, unsigned n)
{
    return n > 0 ? (double)of / n : 0;
}

/* One by one, since there should be none. */
static void tell_far_off(const struct world *w, int half, const struct world_result *r)
{
    if (r->slower >= FAR_OFF || is_wasteful(r))
        printf("  world %" PRIu64 " (%s, half %d) ends with %.0f workers, %.0f are right: an epoch "
               "is slower by %.1f %%\n",
               w->seed, names[w->cause], half + 1, r->workers, r->knee, 100 * r->slower);
}

static struct score run_worlds(const char *policy, struct score causes[WORLD_CAUSES])
{
    struct score all = {0};
    for (uint64_t i = 0; i < worlds_n; i++) {
        struct world world;
        struct world_result half[2];
        world_draw(&world, first + i);
        world_run(&world, policy, half);
        for (int h = 0; h < (world.change == WORLD_SAME ? 1 : 2); h++) {
            count(&all, &half[h]);
            count(&causes[world.cause], &half[h]);
            tell_far_off(&world, h, &half[h]);
        }
    }
    printf("%s: right %.1f %%, within 30 windows %.1f %%, at most 4 decisions %.1f %%, mean %.2f "
           "decisions in %.1f windows, slowest %.1f %%, twice as many as needed: %u\n",
           policy, 100 * share(all.right, all.n), 100 * share(all.in_time, all.n),
           100 * share(all.few, all.n), all.decisions / all.n, all.windows / all.n,
           100 * all.slowest, all.wasteful);
    for (size_t c = 0; c < WORLD_CAUSES; c++)
        printf("  %-8s right %.2f %% of %u, within 30 windows %.2f %%, slowest %.1f %%\n", names[c],
               100 * share(causes[c].right, causes[c].n), causes[c].n,
               100 * share(causes[c].in_time, causes[c].n), 100 * causes[c].slowest);
    return all;
}

/* The bar of the project is that so many are right. On the fixed list it must be reached. Of worlds
 * that nobody has run before as many may be wrong as chance allows where the bar is just reached, once
 * in a thousand runs. */
static void assert_bar(unsigned wrong, unsigned n)
{
    double most = (1 - BAR) * n;
    if (is_fresh)
        most += 3 * sqrt(most) + 1;
    if (wrong > most)
        fail_msg("%u of %u are wrong, %.0f may be", wrong, n, floor(most));
}

/* None of the fixed list. */
static void assert_few_far_off(unsigned far_off, uint64_t n)
{
    uint64_t most = is_fresh ? FRESH_FAR_OFF * ((n + FRESH_WORLDS - 1) / FRESH_WORLDS) : 0;
    assert_true(far_off <= most);
}

/* In at most 4 decisions and 30 windows, none slower than 10 %, whatever the cause is. */
static void test_auto(void **state)
{
    (void)state;
    struct score causes[WORLD_CAUSES] = {{0}}, all = run_worlds("auto", causes);
    assert_bar(all.n - all.few, all.n);
    assert_bar(all.n - all.in_time, all.n);
    assert_bar(all.n - all.right, all.n);
    for (size_t c = 0; c < WORLD_CAUSES; c++)
        if (is_fresh)
            assert_bar(causes[c].n - causes[c].right, causes[c].n);
        else
            assert_true(causes[c].n - causes[c].right <= 1);
    assert_few_far_off(all.far_off, worlds_n);
    assert_few_far_off(all.wasteful, worlds_n);
}

/* Worlds in which a stumble of the machine, a trial at the last moment, or what workers gave before
 * they became 3 % faster once led far off; and two with so many workers at the start that a window
 * takes a minute. */
static void test_auto_is_not_led_off(void **state)
{
    (void)state;
    static const uint64_t seeds[] = {20681, 21996,    22234,    22493,
                                     22696, 20016842, 20021933, 20030360};
    for (size_t i = 0; i < CW_ARRAY_LEN(seeds); i++) {
        struct world world;
        struct world_result half[2];
        world_draw(&world, seeds[i]);
        world_run(&world, "auto", half);
        for (int h = 0; h < 2; h++) {
            assert_true(half[h].slower < 0.1);
            assert_true(half[h].workers <= half[h].knee + 2);
        }
    }
}

/* Places that once led off: a trainer that got nothing while a number was tried (160), a ceiling just below
 * what it would take (553, 1518), a number that gave next to nothing, local workers that make its steps a
 * little longer, and a host whose room was lost while it rested, which did so (952, 1056, 3947). */
static void test_place_auto_is_not_led_off(void **state)
{
    (void)state;
    static const uint64_t seeds[] = {51000160, 51000553, 51001518, 51000977,
                                     51000999, 51000952, 51001056, 51003947};
    for (size_t i = 0; i < CW_ARRAY_LEN(seeds); i++) {
        struct world world;
        struct world_result half[2];
        world_draw(&world, seeds[i]);
        world_add_host(&world);
        world_place(&world, "auto", half);
        for (int h = 0; h < 2; h++)
            if (!half[h].right)
                fail_msg("place %" PRIu64 ", half %d: %.3f of the least cost, %.1f %% slower",
                         seeds[i], h + 1, half[h].knee, 100 * half[h].slower);
    }
}

static void print_places(const char *when, const struct score *s)
{
    printf("place:auto%s: right %.1f %% of %u, within 30 windows %.1f %%, at most 6 decisions "
           "%.1f %%, mean %.2f decisions in %.1f windows, slowest %.1f %%\n",
           when, 100 * share(s->right, s->n), s->n, 100 * share(s->in_time, s->n),
           100 * share(s->few, s->n), s->decisions / s->n, s->windows / s->n, 100 * s->slowest);
}

static void assert_placed(const struct score *s)
{
    assert_bar(s->n - s->right, s->n);
    assert_bar(s->n - s->few, s->n);
    assert_bar(s->n - s->in_time, s->n);
    assert_few_far_off(s->far_off, places_n);
}

/* Where more workers give less in the end, some places are not among the cheapest; none is far off, and
 * none is looked for any longer (one of the fixed list, in which there are too few of them for the bar). */
static void assert_placed_slower(const struct score *s)
{
    assert_true(s->n > 0 && share(s->right, s->n) >= SLOWER_PLACED);
    assert_bar(s->n - s->few, s->n);
    if (is_fresh)
        assert_bar(s->n - s->in_time, s->n);
    else
        assert_true(s->n - s->in_time <= 1);
    assert_few_far_off(s->far_off, places_n);
}

/* In at most 6 decisions and 30 windows, none slower than 10 %, from the start and after a change. */
static void test_place_auto(void **state)
{
    (void)state;
    struct score all = {.most = 6}, after = all, both = all, slower = all, any = all,
                 changed[WORLD_CHANGES];
    if (places_n == 0)
        skip();
    for (size_t c = 0; c < WORLD_CHANGES; c++)
        changed[c] = (struct score){.most = 6};
    for (uint64_t i = 0; i < places_n; i++) {
        struct world world;
        struct world_result half[2];
        world_draw(&world, first + i);
        world_add_host(&world);
        world_place(&world, "auto", half);
        count(&any, &half[0]);
        if (world.change != WORLD_SAME)
            count(&any, &half[1]);
        if (world.cause == WORLD_SLOWER) {
            count(&slower, &half[0]);
            if (world.change != WORLD_SAME)
                count(&slower, &half[1]);
            continue;
        }
        count(&all, &half[0]);
        count(&both, &half[0]);
        if (world.change == WORLD_SAME)
            continue;
        count(&after, &half[1]);
        count(&both, &half[1]);
        count(&changed[world.change], &half[1]);
    }
    print_places("", &all);
    print_places(" after a change", &after);
    print_places(", slower with too many", &slower);
    for (size_t c = WORLD_SAME + 1; c < WORLD_CHANGES; c++) {
        print_places(changes[c], &changed[c]);
        assert_true(is_fresh || changed[c].n - changed[c].right <= 1);
    }
    assert_placed(&both);
    assert_placed_slower(&slower);
    assert_bar(any.n - any.in_time, any.n);
    if (is_fresh) {
        assert_placed(&all);
        assert_placed(&after);
    }
}

/* The quick start: 400 ms of sleep for a batch on a worker, a trainer that takes 200 ms, 8 workers;
 * each a little longer than said, since a machine is busy. Two are right, and nothing else is ever
 * tried. */
static void test_quick_start(void **state)
{
    (void)state;
    static const double at_s[] = {0};
    static const struct cw_share_tenant tenant = {1, 0};
    unsigned right = 0, at_once = 0;
    for (uint64_t seed = 0; seed < 100; seed++) {
        const double worker_s[] = {0.4 + 0.0001 * (double)seed}, step_s[] = {0.202};
        const struct cw_sim_job_spec job = {.name = "quick start",
                                            .batches = 1e9,
                                            .step_s = {at_s, step_s, 1},
                                            .worker_s = {at_s, worker_s, 1},
                                            .odd_every = 20,
                                            .odd_s = 1,
                                            .odd_waits = seed % 2 == 0,
                                            .weight = 1,
                                            .least = 1,
                                            .remote = 1};
        struct cw_sim_scenario s = {.jobs = &job,
                                    .jobs_n = 1,
                                    .tenants = &tenant,
                                    .tenants_n = 1,
                                    .workers = 8,
                                    .start_s = 1,
                                    .window_batches = 10,
                                    .window_least_s = 2,
                                    .noise = 0.05,
                                    .seed = seed,
                                    .until_s = 200};
        struct cw_sim_result result;
        assert_int_equal(cw_autoscale_find("auto", &s.policy, &s.argument, NULL), 0);
        assert_int_equal(cw_simulate(&s, &result, NULL), 0);
        right += result.jobs[0].remote == 2;
        at_once += result.jobs[0].decisions == 1;
        cw_sim_result_fini(&result);
    }
    printf("quick start: %u of 100 end at 2, %u in one decision\n", right, at_once);
    assert_true(right >= QUICK_RIGHT);
    assert_true(at_once >= QUICK_AT_ONCE);
}

static uint64_t number(int argc, char **argv, int at, uint64_t otherwise)
{
    return argc > at ? strtoull(argv[at], NULL, 10) : otherwise;
}

static void choose_worlds(int argc, char **argv)
{
    is_fresh = argc > 1 && strcmp(argv[1], "fresh") == 0;
    if (!is_fresh)
        return;
    first = number(argc, argv, 2, 1000000 + (uint64_t)time(NULL) % 1000000000);
    worlds_n = number(argc, argv, 3, FRESH_WORLDS);
    places_n = number(argc, argv, 4, FRESH_PLACES);
}

int main(int argc, char **argv)
{
    choose_worlds(argc, argv);
    printf("worlds from %" PRIu64 " on\n", first);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_auto), cmocka_unit_test(test_auto_is_not_led_off),
        cmocka_unit_test(test_place_auto), cmocka_unit_test(test_place_auto_is_not_led_off),
        cmocka_unit_test(test_quick_start)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
