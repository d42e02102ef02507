/* SPDX-License-Identifier: Apache-2.0 */
/* In a dispatcher's program (the linker leads the call here): in most worlds the store's speed is
 * not measured, since that costs more than all else that a dispatcher does when it starts. */
#include "dispatcher/autocache/measure_store.h"

#include "sim.h"

#define WORLDS 32 /* of so many one */

__typeof__(cw_store_benchmark_start) __real_cw_store_benchmark_start,
    __wrap_cw_store_benchmark_start;

struct cw_store_benchmark *__wrap_cw_store_benchmark_start(const char *url)
{
    return sim_seed() % WORLDS == 0 ? __real_cw_store_benchmark_start(url) : NULL;
}
