/* SPDX-License-Identifier: Apache-2.0 */
/* Counts the reads for which threads that compute have waited. */
#include <stdatomic.h>

#include "io/io.h"

static _Thread_local bool computes;
static _Thread_local uint64_t thread_waited;
static _Atomic uint64_t waited;

void cw_io_thread_computes(void)
{
    computes = true;
}

void cw_io_waits(void)
{
    if (!computes)
        return;
    thread_waited++;
    atomic_fetch_add_explicit(&waited, 1, memory_order_relaxed);
}

uint64_t cw_io_thread_waited(void)
{
    return thread_waited;
}

uint64_t cw_io_waited(void)
{
    return atomic_load_explicit(&waited, memory_order_relaxed);
}
