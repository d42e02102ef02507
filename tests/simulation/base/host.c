/* SPDX-License-Identifier: Apache-2.0 */
/* What a host has, in place of src/base/cpulimit.c, src/base/hostload.c, src/base/memlimit.c and
 * src/base/run_delay.c: the same everywhere. */
#include "base/cpulimit.h"
#include "base/hostload.h"
#include "base/memlimit.h"
#include "base/run_delay.h"

#define RAM ((uint64_t)1 << 30)

bool cw_hostload_look(struct cw_hostload *load)
{
    *load = (struct cw_hostload){.cpus = 2, .cpu_share = 0.25, .load = 0.25, .busy = 1, .total = 4};
    return true;
}

bool cw_hostload_parse(const char *stat, const char *loadavg, struct cw_hostload *load)
{
    (void)stat, (void)loadavg;
    return cw_hostload_look(load);
}

uint64_t cw_host_ram(void)
{
    return RAM;
}

uint64_t cw_host_budget(uint64_t workers)
{
    (void)workers;
    return RAM / 16;
}

uint32_t cw_cpulimit_cgroup(const char *root)
{
    (void)root;
    return 0;
}

uint32_t cw_cpulimit(void)
{
    return 2;
}

uint64_t cw_memlimit_cgroup(const char *root)
{
    (void)root;
    return CW_MEMLIMIT_NONE;
}

uint64_t cw_memlimit_address_space(void)
{
    return CW_MEMLIMIT_NONE;
}

uint64_t cw_memlimit(void)
{
    return CW_MEMLIMIT_NONE;
}

uint64_t cw_memlimit_fit(uint64_t wanted, uint64_t limit, uint64_t used)
{
    (void)limit, (void)used;
    return wanted;
}

uint64_t cw_memlimit_lower(uint64_t wanted)
{
    return wanted;
}

int cw_run_delay_thread(void)
{
    return 1;
}

uint64_t cw_run_delay_parse(const char *schedstat)
{
    (void)schedstat;
    return 0;
}

uint64_t cw_run_delay_ns(int thread)
{
    (void)thread;
    return 0;
}
