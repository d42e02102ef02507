/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the CPU quota in the files of cgroups. A text that is not what the kernel writes is no
 * limit. */
#include "base/cpulimit.h"

#include <ctype.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cgroup.h"
#include "base/compiler.h"
#include "base/text_file.h"

#define PATH_BYTES 4096

/* Reads a positive number and what separates it from the next one. Other texts, as "max" and "-1",
 * are none. */
static bool take_number(const char **text, uint64_t *ret_number)
{
    char *end;
    if (!isdigit((unsigned char)**text))
        return false;
    *ret_number = strtoull(*text, &end, 10);
    if (*end != '\0' && *end != ' ' && *end != '\n')
        return false;
    *text = *end ? end + 1 : end;
    return *ret_number > 0;
}

static bool read_file(const char *folder, const char *name, char *text, size_t cap)
{
    char path[PATH_BYTES];
    int n = snprintf(path, sizeof(path), "%s/%s", folder, name);
    return n > 0 && (size_t)n < sizeof(path) && cw_text_file_read(path, text, cap);
}

/* Version 2 has one file, "QUOTA PERIOD"; version 1 has two files. Both are in microseconds. */
static bool read_quota(int version, const char *folder, uint64_t *ret_quota, uint64_t *ret_period)
{
    char text[64], period[64];
    const char *at = text, *then = period;
    if (version == 2)
        return read_file(folder, "cpu.max", text, sizeof(text)) && take_number(&at, ret_quota) &&
               take_number(&at, ret_period);
    return read_file(folder, "cpu.cfs_quota_us", text, sizeof(text)) &&
           read_file(folder, "cpu.cfs_period_us", period, sizeof(period)) &&
           take_number(&at, ret_quota) && take_number(&then, ret_period);
}

static void visit(void *arg, int version, const char *folder)
{
    uint32_t *least = arg;
    uint64_t quota, period;
    if (!read_quota(version, folder, &quota, &period))
        return;
    uint64_t cpus = quota / period + (quota % period > 0);
    if (cpus <= UINT32_MAX && (*least == 0 || cpus < *least))
        *least = (uint32_t)cpus;
}

uint32_t cw_cpulimit_cgroup(const char *root)
{
    uint32_t least = 0;
    cw_cgroup_visit(root, "cpu", visit, &least);
    return least;
}

uint32_t cw_cpulimit(void)
{
    cpu_set_t set;
    uint32_t cpus = 1, quota = cw_cpulimit_cgroup("");
    if (sched_getaffinity(0, sizeof(set), &set) == 0)
        cpus = (uint32_t)CW_MAX(CPU_COUNT(&set), 1);
    return quota > 0 ? CW_MIN(cpus, quota) : cpus;
}
