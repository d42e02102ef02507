/* SPDX-License-Identifier: Apache-2.0 */
/* Limits of memory and CPUs in trees of files as both versions of cgroups show them, good and bad
 * ones. */
#include "base/cgroup.h"
#include "support/cm.h"

#include <errno.h>
#include <ftw.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/compiler.h"
#include "base/cpulimit.h"
#include "base/hostload.h"
#include "base/memlimit.h"

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

static void make_tree(char *root, const char *cgroup, const char *const files[][2], size_t n)
{
    assert_non_null(mkdtemp(root));
    put(root, "/proc/self/cgroup", cgroup);
    for (size_t i = 0; i < n && files[i][0]; i++)
        put(root, files[i][0], files[i][1]);
}

static void remove_tree(const char *root)
{
    assert_int_equal(nftw(root, remove_entry, 16, FTW_PHYS | FTW_DEPTH), 0);
}

/* The smallest limit on the way to the root, of both versions of cgroups. */
static void limits_memory(void **state)
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
        {"0::/\n", {{"/sys/fs/cgroup/memory.max", "12 apples\n"}}, CW_MEMLIMIT_NONE},
        {"0::/\n", {{"/sys/fs/cgroup/memory.max", "0x100\n"}}, CW_MEMLIMIT_NONE},
        {"0::/a\n",
         {{"/sys/fs/cgroup/a/memory.max", "-5\n"}, {"/sys/fs/cgroup/memory.max", "700"}},
         700},
        {"broken\n\n:\n4:memory\n",
         {{"/sys/fs/cgroup/memory/memory.limit_in_bytes", "5000\n"}},
         CW_MEMLIMIT_NONE},
    };
    (void)state;
    for (size_t i = 0; i < CW_ARRAY_LEN(cases); i++) {
        char root[] = "/tmp/cachew-test-XXXXXX";
        make_tree(root, cases[i].cgroup, cases[i].files, CW_ARRAY_LEN(cases[i].files));
        if (cw_memlimit_cgroup(root) != cases[i].limit)
            fail_msg("of %s it is %llu", cases[i].cgroup,
                     (unsigned long long)cw_memlimit_cgroup(root));
        remove_tree(root);
    }
    assert_true(cw_memlimit_cgroup("/nowhere") == CW_MEMLIMIT_NONE);
    assert_true(cw_memlimit() <= cw_memlimit_address_space() && cw_host_ram() <= cw_memlimit());
}

/* The smallest quota on the way to the root, rounded up. */
static void limits_cpus(void **state)
{
    static const struct {
        const char *cgroup, *files[4][2];
        uint32_t limit;
    } cases[] = {
        {"", {{0}}, 0},
        {"0::/\n", {{0}}, 0},
        {"0::/\n", {{"/sys/fs/cgroup/cpu.max", "max 100000\n"}}, 0},
        {"0::/\n", {{"/sys/fs/cgroup/cpu.max", "400000 100000\n"}}, 4},
        {"0::/\n", {{"/sys/fs/cgroup/cpu.max", "400001 100000\n"}}, 5},
        {"0::/\n", {{"/sys/fs/cgroup/cpu.max", "1000 100000"}}, 1},
        {"0::/\n", {{"/sys/fs/cgroup/cpu.max", "50000 20000\n"}}, 3},
        {"0::/a/b\n",
         {{"/sys/fs/cgroup/a/b/cpu.max", "max 100000\n"},
          {"/sys/fs/cgroup/a/cpu.max", "300000 100000\n"},
          {"/sys/fs/cgroup/cpu.max", "500000 100000\n"}},
         3},
        {"0::/a/b\n",
         {{"/sys/fs/cgroup/a/b/cpu.max", "900000 100000\n"},
          {"/sys/fs/cgroup/cpu.max", "200000 100000\n"}},
         2},
        {"0::/only/the/host/knows\n", {{"/sys/fs/cgroup/cpu.max", "700000 100000\n"}}, 7},
        {"3:cpu,cpuacct:/x/y\n1:name=systemd:/\n",
         {{"/sys/fs/cgroup/cpu/x/y/cpu.cfs_quota_us", "-1\n"},
          {"/sys/fs/cgroup/cpu/x/y/cpu.cfs_period_us", "100000\n"},
          {"/sys/fs/cgroup/cpu/x/cpu.cfs_quota_us", "250000\n"},
          {"/sys/fs/cgroup/cpu/x/cpu.cfs_period_us", "100000\n"}},
         3},
        {"3:cpuacct,cpu:/x\n0::/y\n",
         {{"/sys/fs/cgroup/cpu/x/cpu.cfs_quota_us", "600000\n"},
          {"/sys/fs/cgroup/cpu/x/cpu.cfs_period_us", "100000\n"},
          {"/sys/fs/cgroup/y/cpu.max", "500000 100000\n"}},
         5},
        {"3:cpuset,cpuacct:/x\n",
         {{"/sys/fs/cgroup/cpu/x/cpu.cfs_quota_us", "600000\n"},
          {"/sys/fs/cgroup/cpu/x/cpu.cfs_period_us", "100000\n"}},
         0},
        {"3:cpu:/\n", {{"/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "600000\n"}}, 0},
        {"3:cpu:/\n", {{"/sys/fs/cgroup/cpu/cpu.cfs_period_us", "600000\n"}}, 0},
        /* what the kernel does not write */
        {"0::/\n", {{"/sys/fs/cgroup/cpu.max", ""}}, 0},
        {"0::/\n", {{"/sys/fs/cgroup/cpu.max", "\n"}}, 0},
        {"0::/\n", {{"/sys/fs/cgroup/cpu.max", "200000"}}, 0},
        {"0::/\n", {{"/sys/fs/cgroup/cpu.max", "200000 0\n"}}, 0},
        {"0::/\n", {{"/sys/fs/cgroup/cpu.max", "0 100000\n"}}, 0},
        {"0::/\n", {{"/sys/fs/cgroup/cpu.max", "-200000 100000\n"}}, 0},
        {"0::/\n", {{"/sys/fs/cgroup/cpu.max", "200000x 100000\n"}}, 0},
        {"0::/\n", {{"/sys/fs/cgroup/cpu.max", "99999999999999999999999 1\n"}}, 0},
        {"broken\n\n:\n3:cpu\n", {{"/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "600000\n"}}, 0},
    };
    (void)state;
    for (size_t i = 0; i < CW_ARRAY_LEN(cases); i++) {
        char root[] = "/tmp/cachew-test-XXXXXX";
        make_tree(root, cases[i].cgroup, cases[i].files, CW_ARRAY_LEN(cases[i].files));
        if (cw_cpulimit_cgroup(root) != cases[i].limit)
            fail_msg("case %zu, of %s: it is %u", i, cases[i].cgroup, cw_cpulimit_cgroup(root));
        remove_tree(root);
    }
    assert_int_equal(cw_cpulimit_cgroup("/nowhere"), 0);
}

/* What this process may use: not more than it may run on, not more than the quota. */
static void limits_this_process(void **state)
{
    cpu_set_t all, one;
    uint32_t quota = cw_cpulimit_cgroup("");
    (void)state;
    assert_int_equal(sched_getaffinity(0, sizeof(all), &all), 0);
    assert_true(cw_cpulimit() >= 1 && cw_cpulimit() <= (uint32_t)CPU_COUNT(&all));
    assert_true(quota == 0 || cw_cpulimit() <= quota);
    CPU_ZERO(&one);
    for (size_t cpu = 0; CPU_COUNT(&one) == 0; cpu++)
        if (CPU_ISSET(cpu, &all))
            CPU_SET(cpu, &one);
    assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
    assert_int_equal(cw_cpulimit(), 1);
    assert_int_equal(sched_setaffinity(0, sizeof(all), &all), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(limits_memory),
                                       cmocka_unit_test(limits_cpus),
                                       cmocka_unit_test(limits_this_process)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
