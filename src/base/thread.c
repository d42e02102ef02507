/* SPDX-License-Identifier: Apache-2.0 */
/* Threads, mutexes and conditions on top of pthreads. */
#include "base/thread.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/mem.h"

#define NAME_BYTES 16 /* the kernel's limit, including the NUL */

struct start {
    cw_thread_fn *fn;
    void *arg;
    char name[NAME_BYTES];
};

static void check(int rc, const char *what)
{
    char text[128];

    if (CW_LIKELY(rc == 0))
        return;
    fprintf(stderr, "level=error mod=thread msg=\"cannot %s: %s\"\n", what,
            strerror_r(rc, text, sizeof(text)));
    abort();
}

static void *run(void *arg)
{
    struct start start = *(struct start *)arg;

    cw_mem_free(arg);
    pthread_setname_np(pthread_self(), start.name);
    start.fn(start.arg);
    return NULL;
}

/* Makes the set of all signals but those that a fault of the thread itself raises. */
static void asynchronous_signals(sigset_t *set)
{
    static const int faults[] = {SIGSEGV, SIGBUS,  SIGFPE, SIGILL,
                                 SIGTRAP, SIGABRT, SIGSYS, SIGPROF};

    sigfillset(set);
    for (size_t i = 0; i < CW_ARRAY_LEN(faults); i++)
        sigdelset(set, faults[i]);
}

void cw_thread_start(struct cw_thread *thread, const char *name, cw_thread_fn *fn, void *arg)
{
    struct start *start = CW_NEW(struct start);
    sigset_t block, before;

    start->fn = fn;
    start->arg = arg;
    snprintf(start->name, sizeof(start->name), "%s", name);
    asynchronous_signals(&block);
    check(pthread_sigmask(SIG_BLOCK, &block, &before), "block signals");
    check(pthread_create(&thread->id, NULL, run, start), "start a thread");
    check(pthread_sigmask(SIG_SETMASK, &before, NULL), "restore signals");
    thread->started = true;
}

void cw_thread_join(struct cw_thread *thread)
{
    if (!thread->started)
        return;
    check(pthread_join(thread->id, NULL), "join a thread");
    thread->started = false;
}

void cw_thread_detach(struct cw_thread *thread)
{
    if (!thread->started)
        return;
    check(pthread_detach(thread->id), "detach a thread");
    thread->started = false;
}

void cw_mutex_init(struct cw_mutex *mutex)
{
    check(pthread_mutex_init(&mutex->m, NULL), "make a mutex");
}

void cw_mutex_fini(struct cw_mutex *mutex)
{
    check(pthread_mutex_destroy(&mutex->m), "destroy a mutex");
}

void cw_mutex_lock(struct cw_mutex *mutex)
{
    check(pthread_mutex_lock(&mutex->m), "lock a mutex");
}

bool cw_mutex_try_lock(struct cw_mutex *mutex)
{
    int rc = pthread_mutex_trylock(&mutex->m);
    if (rc != EBUSY)
        check(rc, "lock a mutex");
    return rc == 0;
}

void cw_mutex_unlock(struct cw_mutex *mutex)
{
    check(pthread_mutex_unlock(&mutex->m), "unlock a mutex");
}

void cw_cond_init(struct cw_cond *cond)
{
    pthread_condattr_t attr;

    check(pthread_condattr_init(&attr), "make a condition");
    check(pthread_condattr_setclock(&attr, CLOCK_MONOTONIC), "set a condition's clock");
    check(pthread_cond_init(&cond->c, &attr), "make a condition");
    pthread_condattr_destroy(&attr);
}

void cw_cond_fini(struct cw_cond *cond)
{
    check(pthread_cond_destroy(&cond->c), "destroy a condition");
}

void cw_cond_wait(struct cw_cond *cond, struct cw_mutex *mutex)
{
    check(pthread_cond_wait(&cond->c, &mutex->m), "wait for a condition");
}

bool cw_cond_wait_until(struct cw_cond *cond, struct cw_mutex *mutex, int64_t deadline_ns)
{
    int64_t at = deadline_ns > 0 ? deadline_ns : 0;
    struct timespec ts = {.tv_sec = (time_t)(at / 1000000000), .tv_nsec = (long)(at % 1000000000)};
    int rc = pthread_cond_timedwait(&cond->c, &mutex->m, &ts);

    if (rc == ETIMEDOUT)
        return false;
    check(rc, "wait for a condition");
    return true;
}

void cw_cond_signal(struct cw_cond *cond)
{
    check(pthread_cond_signal(&cond->c), "signal a condition");
}

void cw_cond_broadcast(struct cw_cond *cond)
{
    check(pthread_cond_broadcast(&cond->c), "signal a condition");
}
