/* SPDX-License-Identifier: Apache-2.0 */
/* For bench_cached.c: the times of its rounds, and the line that is made of them. */
#ifndef CW_TESTS_CACHED_TIMES_H
#define CW_TESTS_CACHED_TIMES_H

#include <stdbool.h>
#include <stddef.h>

#define ROUNDS_MAX 15

struct times {
    double wall[2 * ROUNDS_MAX], cpu[2 * ROUNDS_MAX]; /* seconds */
    size_t n;
};
struct measured {
    struct times ours_first, ours_again, bare_first, bare_again, bare_sums;
};
/* Prints the line, and whether it misses a goal of docs/performance.md, which is for `map` and
 * `gluster`. Returns whether it does not. The times are sorted for it. */
bool measured_report(struct measured *measured, size_t record_bytes, size_t records,
                     const char *store, bool random);

#endif
