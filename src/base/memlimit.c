/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the memory limit of this process in the files of cgroups, versions 1 and 2. */
#include "base/memlimit.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/cgroup.h"
#include "base/text_file.h"

#define PATH_BYTES 4096
#define MARGIN_LEAST ((uint64_t)32 << 20)
#define LEAST ((uint64_t)16 << 20)
/* version 1 of cgroups expresses "none" by a number near 2^63 */
#define UNLIMITED ((uint64_t)1 << 62)

static uint64_t read_limit(const char *path)
{
    char text[64], *end;
    if (!cw_text_file_read(path, text, sizeof(text)))
        return CW_MEMLIMIT_NONE;
    uint64_t bytes = strtoull(text, &end, 10);
    /* "max" is not a number, and a text with a number and more is not the kernel's */
    return end == text || (*end != '\0' && *end != '\n') || bytes == 0 || bytes >= UNLIMITED
               ? CW_MEMLIMIT_NONE
               : bytes;
}

static void visit(void *arg, int version, const char *folder)
{
    uint64_t *least = arg, limit;
    char path[PATH_BYTES];
    int n = snprintf(path, sizeof(path), "%s/%s", folder,
                     version == 2 ? "memory.max" : "memory.limit_in_bytes");
    limit = n > 0 && (size_t)n < sizeof(path) ? read_limit(path) : CW_MEMLIMIT_NONE;
    *least = CW_MIN(*least, limit);
}

uint64_t cw_memlimit_cgroup(const char *root)
{
    uint64_t least = CW_MEMLIMIT_NONE;
    cw_cgroup_visit(root, "memory", visit, &least);
    return least;
}

uint64_t cw_memlimit_address_space(void)
{
    struct rlimit limit;
    return getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY
               ? CW_MEMLIMIT_NONE
               : (uint64_t)limit.rlim_cur;
}

uint64_t cw_memlimit(void)
{
    uint64_t group = cw_memlimit_cgroup(""), space = cw_memlimit_address_space();
    return CW_MIN(group, space);
}

uint64_t cw_memlimit_fit(uint64_t wanted, uint64_t limit, uint64_t used)
{
    if (limit == CW_MEMLIMIT_NONE)
        return wanted;
    uint64_t margin = CW_MAX(limit / 4, MARGIN_LEAST);
    uint64_t room = limit > margin && limit - margin > used ? limit - margin - used : 0;
    return CW_MIN(wanted, CW_MAX(room, LEAST));
}

static uint64_t address_space_used(void)
{
    char text[128];
    long page = sysconf(_SC_PAGESIZE);
    return page > 0 && cw_text_file_read("/proc/self/statm", text, sizeof(text))
               ? strtoull(text, NULL, 10) * (uint64_t)page
               : 0;
}

uint64_t cw_memlimit_lower(uint64_t wanted)
{
    uint64_t group = cw_memlimit_fit(wanted, cw_memlimit_cgroup(""), 0);
    uint64_t space = cw_memlimit_fit(wanted, cw_memlimit_address_space(), address_space_used());
    return CW_MIN(group, space);
}
