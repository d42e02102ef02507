/* SPDX-License-Identifier: Apache-2.0 */
/* How busy the host is, by all that runs on it: from /proc/stat and /proc/loadavg. Where those
 * cannot be read, nothing is known. And what memory it has. */
#ifndef CW_BASE_HOSTLOAD_H
#define CW_BASE_HOSTLOAD_H

#include <stdbool.h>

#include "base/compiler.h"

struct cw_hostload {
    uint32_t cpus;        /* of the host; 0 = nothing is known */
    double cpu_share;     /* used between the last two looks, 0 to 1; 0 after the first */
    double load;          /* processes that run or want to, of the last minute, per CPU */
    uint64_t busy, total; /* ticks at the last look */
};
/* Looks again. False, and all zero, where nothing can be read. */
bool cw_hostload_look(struct cw_hostload *load);
/* The same from the texts of the two files. */
bool cw_hostload_parse(const char *stat, const char *loadavg, struct cw_hostload *load);
/* Bytes of memory, or of the limit of this process where that is less (memlimit.h); 0 = not
 * known. */
uint64_t cw_host_ram(void);
/* What one of `workers` on this host may hold that is not told: a quarter of the memory, at most
 * 8 GiB; all of them half of it; at least 64 MiB. */
uint64_t cw_host_budget(uint64_t workers);

#endif
