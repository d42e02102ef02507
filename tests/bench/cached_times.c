/* SPDX-License-Identifier: Apache-2.0 */
#include "cached_times.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double median(double *values, size_t n)
{
    qsort(values, n, sizeof(*values), compare);
    return values[n / 2];
}

/* Of the least CPU times, which other load of the machine changes least. */
static double cpu_ratio(struct times *bare, struct times *ours)
{
    (void)median(bare->cpu, bare->n); /* sorts */
    (void)median(ours->cpu, ours->n);
    return bare->cpu[0] / ours->cpu[0];
}

/* The part of the bare loop's speed that is wanted; and, where the sums of frames are computed for the
 * first time, the part of what that loop reaches of itself when it computes them, too. */
#define WANTED 0.8
#define WANTED_OF_SUMS 0.9

static bool is_met(const struct measured *t, const char *store, double first, double again,
                   double sums)
{
    double least = WANTED;
    if (strcmp(store, "map") != 0 && strcmp(store, "gluster") != 0)
        return true;
    if (t->bare_sums.n > 0 && WANTED_OF_SUMS * sums < least)
        least = WANTED_OF_SUMS * sums;
    return first >= least && again >= WANTED;
}

bool measured_report(struct measured *t, size_t record_bytes, size_t records, const char *store,
                     bool random)
{
    double gb = (double)(records * record_bytes) * 1e-9;
    double f = median(t->ours_first.wall, t->ours_first.n),
           a = median(t->ours_again.wall, t->ours_again.n),
           bf = median(t->bare_first.wall, t->bare_first.n),
           ba = median(t->bare_again.wall, t->bare_again.n);
    printf("bench_cached: bytes=%zu order=%s store=%s first=%.2f/%.2f again=%.2f/%.2f GB/s "
           "(ours/bare) ratio first=%.0f%% again=%.0f%% cpu first=%.0f%% again=%.0f%%",
           record_bytes, random ? "random" : "sequential", store, gb / f, gb / bf, gb / a, gb / ba,
           100 * bf / f, 100 * ba / a, 100 * cpu_ratio(&t->bare_first, &t->ours_first),
           100 * cpu_ratio(&t->bare_again, &t->ours_again));
    const double sums = t->bare_sums.n > 0 ? cpu_ratio(&t->bare_again, &t->bare_sums) : 0;
    if (t->bare_sums.n > 0)
        printf(" sums=%.0f%%", 100 * sums);
    bool met = is_met(t, store, bf / f, ba / a, sums);
    printf("%s\n", met ? "" : " MISSED");
    return met;
}
