/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the memory limit of this process in the files of cgroups, versions 1 and 2. */
#include "base/memlimit.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/mem.h"
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
    /* "max" is not a number */
    return end == text || bytes == 0 || bytes >= UNLIMITED ? CW_MEMLIMIT_NONE : bytes;
}

/* Returns the smallest limit of a group and of those above it. In a container the path of the group
 * may be one that only the host knows: then the folders do not exist, and what is mounted at the
 * top is the container's own group. */
static uint64_t walk(const char *root, const char *mount, const char *group, const char *file)
{
    char path[PATH_BYTES], at[PATH_BYTES];
    uint64_t least = CW_MEMLIMIT_NONE;
    snprintf(at, sizeof(at), "%s", strcmp(group, "/") == 0 ? "" : group);
    for (;;) {
        int n = snprintf(path, sizeof(path), "%s%s%s/%s", root, mount, at, file);
        uint64_t limit = n > 0 && (size_t)n < sizeof(path) ? read_limit(path) : CW_MEMLIMIT_NONE;
        least = CW_MIN(least, limit);
        char *slash = strrchr(at, '/');
        if (!slash)
            return least;
        *slash = '\0';
    }
}

/* Whether `memory` is among the names, which are separated by commas. */
static bool has_memory(const char *controllers)
{
    static const char name[] = "memory";
    const size_t len = sizeof(name) - 1;
    for (const char *at = controllers; (at = strstr(at, name)); at += len)
        if ((at == controllers || at[-1] == ',') && (at[len] == '\0' || at[len] == ','))
            return true;
    return false;
}

/* Returns the limit for one line of /proc/self/cgroup: hierarchy, controllers, path. */
static uint64_t of_line(const char *root, char *line)
{
    char *controllers = strchr(line, ':'),
         *group = controllers ? strchr(controllers + 1, ':') : NULL;
    if (!group)
        return CW_MEMLIMIT_NONE;
    *controllers++ = '\0';
    *group++ = '\0';
    if (*controllers == '\0')
        return walk(root, "/sys/fs/cgroup", group, "memory.max");
    return has_memory(controllers)
               ? walk(root, "/sys/fs/cgroup/memory", group, "memory.limit_in_bytes")
               : CW_MEMLIMIT_NONE;
}

uint64_t cw_memlimit_cgroup(const char *root)
{
    const size_t cap = 64 * 1024;
    cw_autofree char *text = cw_mem_new(cap);
    char path[PATH_BYTES], *rest = NULL;
    uint64_t least = CW_MEMLIMIT_NONE;
    snprintf(path, sizeof(path), "%s/proc/self/cgroup", root);
    if (!cw_text_file_read(path, text, cap))
        return least;
    for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        uint64_t limit = of_line(root, line);
        least = CW_MIN(least, limit);
    }
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
