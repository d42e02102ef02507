/* SPDX-License-Identifier: Apache-2.0 */
/* Threads, mutexes and conditions; no other file uses pthread_*. All calls succeed or end the
 * process with a message, since they fail only for lack of resources or by a mistake in the
 * program. */
#ifndef CW_BASE_THREAD_H
#define CW_BASE_THREAD_H

#include <pthread.h>
#include <stdbool.h>
#include "base/compiler.h"

struct cw_thread {
    pthread_t id;
    bool started;
};
typedef void cw_thread_fn(void *arg);
/* Starts a thread. name: at most 15 characters, shown by ps -L. Signals are blocked in the new
 * thread. */
void cw_thread_start(struct cw_thread *thread, const char *name, cw_thread_fn *fn, void *arg);
void cw_thread_join(struct cw_thread *thread); /* accepts a thread that was never started */
/* Says that the thread will not be joined, since it may hang in a call that never returns. */
void cw_thread_detach(struct cw_thread *thread);

struct cw_mutex {
    pthread_mutex_t m;
};
#define CW_MUTEX_INIT                                                                              \
    {                                                                                              \
        PTHREAD_MUTEX_INITIALIZER                                                                  \
    } /* initialises static mutexes */
struct cw_cond {
    pthread_cond_t c;
};
void cw_mutex_init(struct cw_mutex *mutex);
void cw_mutex_fini(struct cw_mutex *mutex);
void cw_mutex_lock(struct cw_mutex *mutex);
bool cw_mutex_try_lock(struct cw_mutex *mutex); /* false: it is locked, maybe by this thread */
void cw_mutex_unlock(struct cw_mutex *mutex);
void cw_cond_init(struct cw_cond *cond); /* deadlines are on CLOCK_MONOTONIC */
void cw_cond_fini(struct cw_cond *cond);
void cw_cond_wait(struct cw_cond *cond, struct cw_mutex *mutex);
/* Returns false at the deadline (cw_clock_ns). */
bool cw_cond_wait_until(struct cw_cond *cond, struct cw_mutex *mutex, int64_t deadline_ns);
void cw_cond_signal(struct cw_cond *cond);
void cw_cond_broadcast(struct cw_cond *cond);

#endif
