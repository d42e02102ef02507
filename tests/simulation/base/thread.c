/* SPDX-License-Identifier: Apache-2.0 */
/* base/thread.h on fibres: in place of src/base/thread.c. Whom a mutex or a condition wakes, and
 * whether others run first, the seed decides; a wait may also end for no reason, as it may with
 * pthreads. */
#include "base/thread.h"

#include <string.h>

#include "base/mem.h"
#include "sim.h"

/* Those who wait are kept on their own stacks. */
struct waiter {
    struct waiter *prev, *next;
    struct sim_fibre *fibre;
};
/* What lies where pthreads would have theirs. All zero is a free mutex, and a condition for which
 * nobody waits. */
struct mutex {
    struct sim_fibre *owner;
    struct waiter *first;
};
struct cond {
    struct waiter *first;
};
struct thread {
    struct sim_fibre *fibre;
    cw_thread_fn *fn;
    void *arg;
    bool has_ended, is_detached;
    struct sim_fibre *joins;
    void *counts; /* of the actor's memory, until it is joined or detached: else it is a leak */
};
_Static_assert(sizeof(struct mutex) <= sizeof(pthread_mutex_t), "no room");
_Static_assert(sizeof(struct cond) <= sizeof(pthread_cond_t), "no room");
_Static_assert(sizeof(pthread_t) == sizeof(struct thread *), "no room");

static void add_waiter(struct waiter **first, struct waiter *waiter)
{
    waiter->fibre = sim_fibre_self();
    waiter->prev = NULL;
    waiter->next = *first;
    if (*first)
        (*first)->prev = waiter;
    *first = waiter;
}

static void remove_waiter(struct waiter **first, struct waiter *waiter)
{
    if (!waiter->fibre)
        return; /* whoever woke it took it out */
    if (waiter->prev)
        waiter->prev->next = waiter->next;
    else
        *first = waiter->next;
    if (waiter->next)
        waiter->next->prev = waiter->prev;
    waiter->fibre = NULL;
}

/* Any of them. */
static void wake_one(struct waiter **first)
{
    uint64_t n = 0;

    for (const struct waiter *at = *first; at; at = at->next)
        n++;
    if (n == 0)
        return;
    struct waiter *waiter = *first;
    for (uint64_t i = sim_below(n); i > 0; i--)
        waiter = waiter->next;
    struct sim_fibre *fibre = waiter->fibre;
    remove_waiter(first, waiter);
    sim_wake(fibre);
}

static struct mutex *mutex_of(struct cw_mutex *mutex)
{
    return (struct mutex *)(void *)&mutex->m;
}

static struct cond *cond_of(struct cw_cond *cond)
{
    return (struct cond *)(void *)&cond->c;
}

static void run(void *arg)
{
    struct thread *thread = arg;

    thread->fn(thread->arg);
    thread->has_ended = true;
    if (thread->joins)
        sim_wake(thread->joins);
    if (thread->is_detached)
        sim_world_free(thread);
}

/* The system knows of a thread until it ends, also of one that nobody joins. */
void cw_thread_start(struct cw_thread *thread, const char *name, cw_thread_fn *fn, void *arg)
{
    struct thread *own = sim_world_alloc(sizeof(*own));

    own->counts = CW_NEW(char);
    own->fn = fn;
    own->arg = arg;
    own->fibre = sim_fibre_start(name, run, own);
    memcpy(&thread->id, &own, sizeof(own));
    thread->started = true;
    sim_yield();
}

static struct thread *thread_of(const struct cw_thread *thread)
{
    struct thread *own;

    memcpy(&own, &thread->id, sizeof(own));
    return own;
}

void cw_thread_join(struct cw_thread *thread)
{
    if (!thread->started)
        return;
    struct thread *own = thread_of(thread);
    own->joins = sim_fibre_self();
    while (!own->has_ended)
        sim_block(SIM_NEVER);
    cw_mem_free(own->counts);
    sim_world_free(own);
    thread->started = false;
}

void cw_thread_detach(struct cw_thread *thread)
{
    if (!thread->started)
        return;
    struct thread *own = thread_of(thread);
    own->is_detached = true;
    cw_mem_free(own->counts);
    if (own->has_ended)
        sim_world_free(own);
    thread->started = false;
}

void cw_mutex_init(struct cw_mutex *mutex)
{
    memset(mutex, 0, sizeof(*mutex));
}

void cw_mutex_fini(struct cw_mutex *mutex)
{
    if (mutex_of(mutex)->owner || mutex_of(mutex)->first)
        sim_fail("a mutex is destroyed that is held or waited for");
}

void cw_mutex_lock(struct cw_mutex *mutex)
{
    struct mutex *m = mutex_of(mutex);
    struct waiter waiter;

    sim_yield();
    if (m->owner && m->owner == sim_fibre_self())
        sim_fail("a mutex is locked twice by one thread");
    while (m->owner) {
        add_waiter(&m->first, &waiter);
        sim_block(SIM_NEVER);
        remove_waiter(&m->first, &waiter);
    }
    m->owner = sim_fibre_self();
}

bool cw_mutex_try_lock(struct cw_mutex *mutex)
{
    struct mutex *m = mutex_of(mutex);

    sim_yield();
    if (m->owner)
        return false;
    m->owner = sim_fibre_self();
    return true;
}

void cw_mutex_unlock(struct cw_mutex *mutex)
{
    struct mutex *m = mutex_of(mutex);

    if (m->owner != sim_fibre_self())
        sim_fail("a mutex is unlocked by a thread that does not hold it");
    m->owner = NULL;
    wake_one(&m->first);
    sim_yield();
}

void cw_cond_init(struct cw_cond *cond)
{
    memset(cond, 0, sizeof(*cond));
}

void cw_cond_fini(struct cw_cond *cond)
{
    if (cond_of(cond)->first)
        sim_fail("a condition is destroyed that is waited for");
}

bool cw_cond_wait_until(struct cw_cond *cond, struct cw_mutex *mutex, int64_t deadline_ns)
{
    struct cond *c = cond_of(cond);
    struct waiter waiter;
    /* For no reason, soon. */
    bool for_nothing = sim_one_in(200);
    int64_t nothing_ns = sim_now_ns() + sim_between(0, 1000000);
    int64_t until_ns = for_nothing && nothing_ns < deadline_ns ? nothing_ns : deadline_ns;

    add_waiter(&c->first, &waiter);
    cw_mutex_unlock(mutex);
    bool woken = sim_block(until_ns);
    remove_waiter(&c->first, &waiter);
    cw_mutex_lock(mutex);
    return woken || until_ns != deadline_ns;
}

void cw_cond_wait(struct cw_cond *cond, struct cw_mutex *mutex)
{
    (void)cw_cond_wait_until(cond, mutex, SIM_NEVER);
}

void cw_cond_signal(struct cw_cond *cond)
{
    wake_one(&cond_of(cond)->first);
    sim_yield();
}

void cw_cond_broadcast(struct cw_cond *cond)
{
    while (cond_of(cond)->first)
        wake_one(&cond_of(cond)->first);
    sim_yield();
}
