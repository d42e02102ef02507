/* SPDX-License-Identifier: Apache-2.0 */
/* How busy the host is with all its processes, from /proc/stat and /proc/loadavg, and how much
 * memory it has. Where these files cannot be read, all values are 0. */
#ifndef CW_BASE_HOSTLOAD_H
#define CW_BASE_HOSTLOAD_H

#include <stdbool.h>

#include "base/compiler.h"

struct cw_hostload {
    uint32_t cpus;        /* number of CPUs of the host; 0: nothing is known */
    double cpu_share;     /* CPU use between the last two calls, 0 to 1; 0 after the first call */
    double load;          /* load average of the last minute, per CPU */
    uint64_t busy, total; /* ticks at the last call */
};
/* Measures again. Returns false, and zeroes *load, if nothing can be read. */
bool cw_hostload_look(struct cw_hostload *load);
/* Does the same with the texts of the two files, for tests. */
bool cw_hostload_parse(const char *stat, const char *loadavg, struct cw_hostload *load);
/* Returns the host's bytes of memory, or the limit of this process if that is less (memlimit.h); 0:
 * not known. */
uint64_t cw_host_ram(void);
/* The default budget, in bytes, of one of `workers` workers on this host: a quarter of the
 * memory and at most 8 GiB, half of the memory for all workers together, and at least 64 MiB. */
uint64_t cw_host_budget(uint64_t workers);

#endif
