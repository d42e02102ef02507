/* SPDX-License-Identifier: Apache-2.0 */
/* A list of the sources that hold something, and two sums of bytes. */
#include "ops/source/held.h"

#include <stdatomic.h>

#include "base/thread.h"
#include "ops/source/loaded.h"

static struct {
    struct cw_mutex mutex;
    struct cw_held *first;  /* guarded by mutex */
    _Atomic int64_t cheap;  /* bytes, without what is costly to make again */
    _Atomic int64_t costly; /* bytes of that */
    _Atomic int64_t max;
    _Atomic uint64_t stamp;
} all = {.mutex = CW_MUTEX_INIT, .max = INT64_MAX};

void cw_held_join(struct cw_held *held)
{
    cw_mutex_lock(&all.mutex);
    held->prev = NULL;
    held->next = all.first;
    if (held->next)
        held->next->prev = held;
    all.first = held;
    held->is_in = true;
    cw_mutex_unlock(&all.mutex);
}

void cw_held_leave(struct cw_held *held)
{
    cw_mutex_lock(&all.mutex);
    if (held->is_in) {
        if (held->prev)
            held->prev->next = held->next;
        else
            all.first = held->next;
        if (held->next)
            held->next->prev = held->prev;
        held->is_in = false;
    }
    cw_mutex_unlock(&all.mutex);
}

void cw_held_add(const struct cw_held *held, int64_t bytes)
{
    atomic_fetch_add_explicit(held->is_costly ? &all.costly : &all.cheap, bytes,
                              memory_order_relaxed);
    cw_loaded_hold(bytes);
}

size_t cw_held_bytes(void)
{
    return (size_t)(atomic_load_explicit(&all.cheap, memory_order_relaxed) +
                    atomic_load_explicit(&all.costly, memory_order_relaxed));
}

uint64_t cw_held_stamp(void)
{
    return atomic_fetch_add_explicit(&all.stamp, 1, memory_order_relaxed) + 1;
}

/* ---- with the mutex held ---- */

/* Gives back what was not used for longest. Returns false if there was nothing: what another thread began to use
 * meanwhile is no reason to leave the rest. */
static bool drop_one(bool costly_too)
{
    struct cw_held *from = NULL;
    uint64_t least = UINT64_MAX;
    for (struct cw_held *held = all.first; held; held = held->next) {
        const uint64_t oldest =
            held->is_costly && !costly_too ? UINT64_MAX : held->oldest(held->arg);
        if (oldest < least) {
            least = oldest;
            from = held;
        }
    }
    if (from)
        (void)from->drop_oldest(from->arg);
    return from != NULL;
}

static void let_all_go(void)
{
    for (struct cw_held *held = all.first; held; held = held->next)
        if (held->let_go)
            held->let_go(held->arg);
}

/* ---- without it ---- */

bool cw_held_is_over(void)
{
    return atomic_load_explicit(&all.cheap, memory_order_relaxed) >
           atomic_load_explicit(&all.max, memory_order_relaxed);
}

/* What threads keep at hand is taken from them if the rest does not suffice. */
void cw_held_keep_max(void)
{
    if (!cw_held_is_over())
        return;
    cw_mutex_lock(&all.mutex);
    while (cw_held_is_over() && drop_one(false))
        ;
    if (cw_held_is_over())
        let_all_go();
    while (cw_held_is_over() && drop_one(false))
        ;
    cw_mutex_unlock(&all.mutex);
}

void cw_held_set_max(size_t bytes)
{
    atomic_store(&all.max, (int64_t)(bytes < INT64_MAX ? bytes : INT64_MAX));
    cw_held_keep_max();
}

void cw_held_drop_all(void)
{
    cw_mutex_lock(&all.mutex);
    let_all_go();
    while (drop_one(true))
        ;
    cw_mutex_unlock(&all.mutex);
}
