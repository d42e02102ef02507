/* SPDX-License-Identifier: Apache-2.0 */
/* Host load from texts of /proc, good and bad ones. */
#include "base/hostload.h"
#include "support/cm.h"

#include "base/memlimit.h"

static const char first[] = "cpu  100 0 100 700 100 0 0 0 0 0\ncpu0 50 0 50 350 50 0 0 0 0 0\ncpu1 "
                            "50 0 50 350 50 0 0 0 0 0\nintr 1 2\nctxt 3\n";

static void parses(void **state)
{
    (void)state;
    struct cw_hostload load = {0};
    assert_true(cw_hostload_parse(first, "1.50 0.75 0.50 2/345 6789\n", &load));
    assert_int_equal(load.cpus, 2);
    assert_true(load.cpu_share == 0 && load.load == 0.75);
    /* 100 ticks more: 20 user, 5 irq, 25 idle, 50 waiting for a disk */
    assert_true(cw_hostload_parse("cpu  120 0 100 725 150 5 0 0 7 7\ncpu0 0\ncpu1 0\n",
                                  "0.00 0 0 1/2 3\n", &load));
    assert_true(load.cpu_share == 0.25 && load.load == 0);
    /* at once again: nothing new, the share stays */
    assert_true(cw_hostload_parse("cpu  120 0 100 725 150 5 0 0 7 7\ncpu0 0\ncpu1 0\n",
                                  "0.00 0 0 1/2 3\n", &load));
    assert_true(load.cpu_share == 0.25);
    /* all of it */
    assert_true(cw_hostload_parse("cpu  220 0 100 725 150 5 0 0\ncpu0 0\ncpu1 0\n", "2 0 0 1/2 3\n",
                                  &load));
    assert_true(load.cpu_share == 1 && load.load == 1);
    /* the kernel's count of waiting went back: nothing is made of that */
    assert_true(cw_hostload_parse("cpu  220 0 100 725 140 5 0 0\ncpu0 0\ncpu1 0\n", "2 0 0 1/2 3\n",
                                  &load));
    assert_true(load.cpu_share == 0);
    assert_true(cw_hostload_parse("cpu  220 0 100 735 140 5 0 0\ncpu0 0\ncpu1 0\n", "2 0 0 1/2 3\n",
                                  &load));
    assert_true(load.cpu_share == 0);
}

static void refuses(void **state)
{
    (void)state;
    static const char *const bad[][2] = {{"", "1 2 3"},
                                         {first, ""},
                                         {"cpu 1 2\ncpu0 1\n", "1"},
                                         {"cpu  1 2 3 4 5\n", "1"},
                                         {"intr 5\ncpu0 1\n", "1"},
                                         {"cpu x\ncpu0 1\n", "1"}};
    for (size_t i = 0; i < CW_ARRAY_LEN(bad); i++) {
        struct cw_hostload load = {.cpus = 5, .cpu_share = 0.5, .load = 1};
        assert_false(cw_hostload_parse(bad[i][0], bad[i][1], &load));
        assert_true(load.cpus == 0 && load.cpu_share == 0 && load.load == 0 && load.total == 0);
    }
}

static void looks(void **state)
{
    (void)state;
    struct cw_hostload load = {0};
    if (!cw_hostload_look(&load)) {
        assert_int_equal(load.cpus, 0);
        return;
    }
    assert_true(load.cpus > 0 && load.total >= load.busy);
    assert_true(cw_hostload_look(&load) && load.cpu_share >= 0 && load.cpu_share <= 1);
}

/* What is left for data under a limit. */
static void fits_under_limits(void **state)
{
    const uint64_t mib = 1 << 20;
    (void)state;
    assert_true(cw_memlimit_fit(1000 * mib, CW_MEMLIMIT_NONE, 5000 * mib) == 1000 * mib);
    assert_true(cw_memlimit_fit(1000 * mib, 4000 * mib, 0) == 1000 * mib);
    assert_true(cw_memlimit_fit(1000 * mib, 1000 * mib, 0) == 750 * mib);
    assert_true(cw_memlimit_fit(1000 * mib, 1000 * mib, 300 * mib) == 450 * mib);
    assert_true(cw_memlimit_fit(1000 * mib, 100 * mib, 0) == 68 * mib);
    for (uint64_t limit = 0; limit < 48 * mib; limit += mib)
        assert_true(cw_memlimit_fit(1000 * mib, limit, limit / 2) == 16 * mib &&
                    cw_memlimit_fit(3 * mib, limit, limit / 2) == 3 * mib);
}

static void shares_memory(void **state)
{
    (void)state;
    uint64_t ram = cw_host_ram(), least = (uint64_t)64 << 20;
    assert_true(cw_host_budget(1) == cw_host_budget(2) && cw_host_budget(0) == cw_host_budget(1));
    for (uint64_t n = 1; n < 100000; n *= 10)
        assert_true(cw_host_budget(n) >= least &&
                    (cw_host_budget(n) == least || n * cw_host_budget(n) <= ram / 2));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(parses), cmocka_unit_test(refuses),
                                       cmocka_unit_test(looks), cmocka_unit_test(fits_under_limits),
                                       cmocka_unit_test(shares_memory)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
