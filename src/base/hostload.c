/* SPDX-License-Identifier: Apache-2.0 */
/* Parses /proc/stat and /proc/loadavg, and computes the load of the host from two readings. */
#include "base/hostload.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/memlimit.h"
#include "base/text_file.h"

#define FIELDS 8 /* user nice system idle iowait irq softirq steal; guests are contained in user */
#define IDLE 3
#define IOWAIT 4
#define BUDGET_MIN ((uint64_t)64 << 20)
#define BUDGET_MAX ((uint64_t)8 << 30)

/* Reads the line of all CPUs together: ticks since the start of the host. */
static bool read_ticks(const char *stat, uint64_t *ret_busy, uint64_t *ret_total)
{
    if (strncmp(stat, "cpu ", 4) != 0)
        return false;
    const char *at = stat + 4;
    uint64_t idle = 0, total = 0;
    for (size_t i = 0; i < FIELDS; i++) {
        char *end;
        uint64_t ticks = strtoull(at, &end, 10);
        if (end == at)
            return i > IDLE; /* an old kernel has fewer fields */
        at = end;
        total += ticks;
        idle += i == IDLE || i == IOWAIT ? ticks : 0;
        *ret_total = total;
        *ret_busy = total - idle;
    }
    return true;
}

static uint32_t count_cpus(const char *stat)
{
    uint32_t n = 0;
    for (const char *at = strstr(stat, "\ncpu"); at; at = strstr(at + 1, "\ncpu"))
        n += at[4] >= '0' && at[4] <= '9';
    return n;
}

bool cw_hostload_parse(const char *stat, const char *loadavg, struct cw_hostload *load)
{
    uint64_t busy = 0, total = 0;
    char *end;
    double minute = strtod(loadavg, &end);
    uint32_t cpus = count_cpus(stat);
    if (end == loadavg || cpus == 0 || !read_ticks(stat, &busy, &total)) {
        *load = (struct cw_hostload){0};
        return false;
    }
    uint64_t passed = total - load->total;
    bool is_valid =
        load->total > 0 && total > load->total && busy >= load->busy && busy - load->busy <= passed;
    /* The share is 0 after the first call, and if the ticks decreased, which iowait may do. */
    if (is_valid)
        load->cpu_share = (double)(busy - load->busy) / (double)passed;
    else if (total != load->total)
        load->cpu_share = 0;
    load->cpus = cpus;
    load->load = minute > 0 ? minute / (double)cpus : 0;
    load->busy = busy;
    load->total = total;
    return true;
}

bool cw_hostload_look(struct cw_hostload *load)
{
    const size_t cap = 64 * 1024; /* the file has a line of at most 100 bytes for each CPU */
    cw_autofree char *stat = cw_mem_new(cap);
    char loadavg[128];
    bool ok = cw_text_file_read("/proc/stat", stat, cap) &&
              cw_text_file_read("/proc/loadavg", loadavg, sizeof(loadavg));
    if (ok)
        ok = cw_hostload_parse(stat, loadavg, load);
    else
        *load = (struct cw_hostload){0};
    return ok;
}

uint64_t cw_host_ram(void)
{
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    uint64_t ram = pages > 0 && page > 0 ? (uint64_t)pages * (uint64_t)page : 0,
             limit = cw_memlimit();
    return ram > 0 || limit != CW_MEMLIMIT_NONE ? CW_MIN(ram > 0 ? ram : limit, limit) : 0;
}

uint64_t cw_host_budget(uint64_t workers)
{
    uint64_t ram = cw_host_ram(), most = CW_MIN(ram / 4, ram / 2 / CW_MAX(workers, (uint64_t)1));
    return CW_MAX(BUDGET_MIN, CW_MIN(most, BUDGET_MAX));
}
