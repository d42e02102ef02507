/* SPDX-License-Identifier: Apache-2.0 */
/* What the computing threads of workers did with their time, or what they waited for. Workers count
 * it in ns for each job, the dispatcher adds it up, and policies are shown the shares of it. */
#ifndef CW_BASE_THREAD_USE_H
#define CW_BASE_THREAD_USE_H

/* THREAD_USE(field, words): the words complete "the threads were ...". */
#define CW_THREAD_USES(THREAD_USE)                                                                 \
    THREAD_USE(computing, "computing")                                                             \
    THREAD_USE(cpu, "ready, without a CPU that is free")                                           \
    THREAD_USE(limit, "paused by the worker's CPU limit")                                          \
    THREAD_USE(source, "waiting for the source")                                                   \
    THREAD_USE(store, "waiting for the cache's store")                                             \
    THREAD_USE(inside, "waiting inside other operators")                                           \
    THREAD_USE(network, "waiting for the network to take outputs")                                 \
    THREAD_USE(trainer, "waiting for the trainer to take outputs")                                 \
    THREAD_USE(lease, "waiting for a lease")

#define CW_THREAD_USE_FIELD(field, words) double field;
struct cw_thread_use {
    CW_THREAD_USES(CW_THREAD_USE_FIELD)
};
#define CW_THREAD_USE_ONE(field, words) +1
#define CW_THREAD_USES_N (0 CW_THREAD_USES(CW_THREAD_USE_ONE))

#endif
