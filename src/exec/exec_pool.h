/* SPDX-License-Identifier: Apache-2.0 */
/* The thread pool as exec.c and exec_scratch.c see it. */
#ifndef CW_EXEC_EXEC_POOL_H
#define CW_EXEC_EXEC_POOL_H

#include <stdatomic.h>

#include "base/arena.h"
#include "base/thread.h"
#include "exec/exec.h"
#include "exec/fair_queue.h"
#include "exec/throttle.h"

/* Bytes of arena memory that a thread keeps between elements: a few decoded photographs, or one that was made several
 * times as large. What is beyond is mapped anew for each element, and its pages cleared. */
#define CW_EXEC_KEEP_BYTES ((size_t)32 << 20)

struct cw_exec {
    struct cw_mutex mutex;
    struct cw_cond cond;
    struct cw_fair_queue queue;  /* guarded by lock: the queues of plans */
    struct cw_exec_task *all;    /* guarded by lock: list of the tasks that are not done */
    bool stopping;               /* guarded by lock */
    struct cw_throttle throttle; /* guarded by lock */
    size_t threads_n;
    struct cw_thread *threads;
    int *ids;           /* guarded by lock: of the threads that have begun (base/run_delay.h) */
    size_t ids_n;       /* guarded by lock */
    size_t idle_n;      /* guarded by lock: threads that wait for work now */
    size_t paused_n;    /* guarded by lock: those that pause for the CPU limit */
    int64_t counted_ns; /* guarded by lock: `time` is right up to then */
    struct cw_exec_thread_time time; /* guarded by lock */
    size_t keep;                     /* guarded by lock: bytes of its arena that a thread keeps */
    unsigned sheds;                  /* guarded by lock: how often memory was short */
    _Atomic size_t kept;             /* bytes of all arenas */
};
/* The scratch memory of a thread. */
struct cw_exec_scratch {
    struct cw_arena *arena;
    size_t counted; /* bytes of it in exec->kept */
    unsigned sheds; /* of exec, when it was last given back */
};

/* Counts what the thread has, which computes nothing now, and gives back what it must. Called with the lock held. */
void cw_exec_tidy(struct cw_exec *exec, struct cw_exec_scratch *scratch);

#endif
