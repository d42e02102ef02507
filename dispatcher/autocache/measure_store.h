/* SPDX-License-Identifier: Apache-2.0 */
/* Measures once how fast the store is read: it writes a small file, reads pieces of several sizes,
 * and removes it. It uses a thread and a connection of its own. Nothing waits for it; without its
 * result policies assume a speed. */
#ifndef CW_DISPATCHER_AUTOCACHE_MEASURE_STORE_H
#define CW_DISPATCHER_AUTOCACHE_MEASURE_STORE_H

#include "policies/policy.h"

#define CW_BENCHMARK_POINTS 4

struct cw_store_benchmark;
struct cw_store_benchmark_result {
    struct cw_autocache_point points[CW_BENCHMARK_POINTS];
    size_t points_n;     /* The number is 0 if the store could not be measured. */
    double read_bytes_s; /* The bytes that several reads at once give in a second. */
    struct cw_err err;
};
struct cw_store_benchmark *cw_store_benchmark_start(const char *url) CW_MUST_CHECK;
/* Returns NULL while it is not done. It accepts NULL. */
const struct cw_store_benchmark_result *
cw_store_benchmark_result(const struct cw_store_benchmark *probe);
/* Ends the benchmark, whatever its thread waits for, and frees it. NULL is accepted. */
void cw_store_benchmark_free(struct cw_store_benchmark *probe);

#endif
