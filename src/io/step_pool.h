/* SPDX-License-Identifier: Apache-2.0 */
/* Threads that do the steps of requests which make a thread wait. They begin as there is work, up to a
 * limit, and run until the process ends: a step may be stuck in the kernel or in a library. */
#ifndef CW_IO_STEP_POOL_H
#define CW_IO_STEP_POOL_H

#include <stddef.h>

#include "base/thread.h"

#define CW_STEP_THREADS_MAX 64

/* A step lies inside of its request, and is the pool's from cw_step_pool_add on until `run` is called. */
struct cw_pool_step {
    struct cw_pool_step *next; /* in the queue */
    void (*run)(struct cw_pool_step *step);
};
/* A pool is static: {.name, .limit, .mutex = CW_MUTEX_INIT}. */
struct cw_step_pool {
    const char *name;      /* of its threads */
    size_t limit;          /* how many threads there may be, at most CW_STEP_THREADS_MAX */
    struct cw_mutex mutex; /* guards all that follows */
    struct cw_cond cond;
    struct cw_pool_step *first, *last;
    size_t threads, idle;
    struct cw_thread thread[CW_STEP_THREADS_MAX];
};

/* Has a thread call `run`, after the steps that came before. By any thread. */
void cw_step_pool_add(struct cw_step_pool *pool, struct cw_pool_step *step,
                      void (*run)(struct cw_pool_step *step));

#endif
