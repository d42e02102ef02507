/* SPDX-License-Identifier: Apache-2.0 */
/* Host load from texts of /proc, good and bad ones. */
#include "base/hostload.h"
#include "support/cm.h"

#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

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

static void put(const char *root, const char *path, const char *text)
{
    char full[512];
    snprintf(full, sizeof(full), "%s%s", root, path);
    for (char *at = full + strlen(root) + 1; (at = strchr(at, '/')); at++) {
        *at = '\0';
        assert_true(mkdir(full, 0700) == 0 || errno == EEXIST);
        *at = '/';
    }
    FILE *f = fopen(full, "w");
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *at)
{
    (void)st;
    (void)type;
    (void)at;
    return remove(path);
}

/* The smallest limit on the way to the root, of both versions of cgroups. */
static void limits_of_cgroups(void **state)
{
    static const struct {
        const char *cgroup, *files[4][2];
        uint64_t limit;
    } cases[] = {
        {"", {{0}}, CW_MEMLIMIT_NONE},
        {"0::/\n", {{0}}, CW_MEMLIMIT_NONE},
        {"0::/\n", {{"/sys/fs/cgroup/memory.max", "max\n"}}, CW_MEMLIMIT_NONE},
        {"0::/\n", {{"/sys/fs/cgroup/memory.max", "536870912\n"}}, 536870912},
        {"0::/a/b\n",
         {{"/sys/fs/cgroup/a/b/memory.max", "max\n"},
          {"/sys/fs/cgroup/a/memory.max", "300\n"},
          {"/sys/fs/cgroup/memory.max", "400\n"}},
         300},
        {"0::/a/b\n",
         {{"/sys/fs/cgroup/a/b/memory.max", "200\n"}, {"/sys/fs/cgroup/a/memory.max", "300\n"}},
         200},
        {"0::/only/the/host/knows\n", {{"/sys/fs/cgroup/memory.max", "700\n"}}, 700},
        {"0::/../outside\n", {{"/sys/fs/cgroup/memory.max", "700\n"}}, 700},
        {"5:cpu,cpuacct:/x\n4:memory:/a/b\n1:name=systemd:/\n",
         {{"/sys/fs/cgroup/memory/a/b/memory.limit_in_bytes", "9223372036854771712\n"},
          {"/sys/fs/cgroup/memory/a/memory.limit_in_bytes", "5000\n"}},
         5000},
        {"4:hugetlb,memory:/a\n0::/b\n",
         {{"/sys/fs/cgroup/memory/a/memory.limit_in_bytes", "5000\n"},
          {"/sys/fs/cgroup/b/memory.max", "4000\n"}},
         4000},
        {"4:memory_of_other_kind:/a\n",
         {{"/sys/fs/cgroup/memory/a/memory.limit_in_bytes", "5000\n"}},
         CW_MEMLIMIT_NONE},
        {"broken\n\n:\n4:memory\n",
         {{"/sys/fs/cgroup/memory/memory.limit_in_bytes", "5000\n"}},
         CW_MEMLIMIT_NONE},
    };
    (void)state;
    for (size_t i = 0; i < CW_ARRAY_LEN(cases); i++) {
        char root[] = "/tmp/cachew-test-XXXXXX";
        assert_non_null(mkdtemp(root));
        put(root, "/proc/self/cgroup", cases[i].cgroup);
        for (size_t k = 0; k < CW_ARRAY_LEN(cases[i].files) && cases[i].files[k][0]; k++)
            put(root, cases[i].files[k][0], cases[i].files[k][1]);
        if (cw_memlimit_cgroup(root) != cases[i].limit)
            fail_msg("of %s it is %llu", cases[i].cgroup,
                     (unsigned long long)cw_memlimit_cgroup(root));
        assert_int_equal(nftw(root, remove_entry, 16, FTW_PHYS | FTW_DEPTH), 0);
    }
    assert_true(cw_memlimit_cgroup("/nowhere") == CW_MEMLIMIT_NONE);
    assert_true(cw_memlimit() <= cw_memlimit_address_space() && cw_host_ram() <= cw_memlimit());
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
    const struct CMUnitTest tests[] = {cmocka_unit_test(parses),
                                       cmocka_unit_test(refuses),
                                       cmocka_unit_test(looks),
                                       cmocka_unit_test(limits_of_cgroups),
                                       cmocka_unit_test(fits_under_limits),
                                       cmocka_unit_test(shares_memory)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
