/* SPDX-License-Identifier: Apache-2.0 */
/* How fast the store is, tried out once by reading alone: a small file is put there, pieces of
 * several sizes are read, and it is removed. On a thread of its own with its own connection;
 * nothing waits for it, and without it policies assume. */
#ifndef CW_DISPATCHER_AUTOCACHE_STORE_BENCHMARK_H
#define CW_DISPATCHER_AUTOCACHE_STORE_BENCHMARK_H

#include "policies/policy.h"

#define CW_BENCHMARK_POINTS 4

struct cw_store_benchmark;
struct cw_store_benchmark_result {
    struct cw_autocache_point points[CW_BENCHMARK_POINTS];
    size_t points_n;     /* 0 = it could not be tried */
    double read_bytes_s; /* several reads at once */
    struct cw_err err;
};
struct cw_store_benchmark *cw_store_benchmark_start(const char *url) CW_MUST_CHECK;
/* NULL: it is not done; accepts NULL */
const struct cw_store_benchmark_result *
cw_store_benchmark_result(const struct cw_store_benchmark *probe);
void cw_store_benchmark_free(struct cw_store_benchmark *probe); /* waits for it; accepts NULL */

#endif
