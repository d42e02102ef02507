/* SPDX-License-Identifier: Apache-2.0 */
/* Loads things by file, and drops them again.
 *
 * Who uses a thing raises the count of its slot first and then looks whether the thing is there. Who
 * drops it turns a count of 0 into GONE, with the slot's lock held, so later users see a count below
 * zero, and wait for the lock. */
#include "ops/source/loaded.h"

#include <limits.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "base/mem.h"
#include "base/thread.h"

/* Number of locks: threads that load different files rarely wait for each other. */
#define LOCKS_N 32
#define GONE (INT_MIN / 2)

struct slot {
    _Atomic(void *) thing; /* NULL until it is loaded */
    _Atomic int users;
    _Atomic bool was_used; /* since the hand passed it */
    size_t bytes;          /* written with the slot's lock held */
};
struct cw_loaded {
    struct cw_loaded *prev, *next; /* of all in the process; guarded by `all.mutex` */
    void (*free_it)(void *thing);
    size_t (*bytes)(const void *thing);
    size_t n;
    struct slot *slots;
    struct cw_mutex locks[LOCKS_N]; /* lock i % LOCKS_N is held while file i is loaded or dropped */
};

/* The things of the process. The hand goes round them, and drops what was not used since it came by
 * before. */
static struct {
    struct cw_mutex mutex;
    struct cw_loaded *first;
    struct cw_loaded *hand_at; /* NULL: at the first */
    size_t hand;
    _Atomic size_t slots_n;
    _Atomic size_t bytes, max;
    _Atomic int64_t held; /* bytes that sources hold besides */
    _Atomic size_t part_max;
} all = {.mutex = CW_MUTEX_INIT, .max = SIZE_MAX, .part_max = SIZE_MAX};

struct cw_loaded *cw_loaded_new(size_t files, void (*free_it)(void *thing),
                                size_t (*bytes)(const void *thing))
{
    struct cw_loaded *l = CW_NEW(struct cw_loaded);
    l->free_it = free_it;
    l->bytes = bytes;
    l->n = files;
    l->slots = CW_NEW_ARRAY(struct slot, files);
    for (size_t i = 0; i < LOCKS_N; i++)
        cw_mutex_init(&l->locks[i]);
    if (!bytes)
        return l;
    cw_mutex_lock(&all.mutex);
    l->next = all.first;
    if (l->next)
        l->next->prev = l;
    all.first = l;
    atomic_fetch_add(&all.slots_n, l->n);
    cw_mutex_unlock(&all.mutex);
    return l;
}

static void leave_all(struct cw_loaded *l)
{
    cw_mutex_lock(&all.mutex);
    if (all.hand_at == l) {
        all.hand_at = l->next;
        all.hand = 0;
    }
    if (l->prev)
        l->prev->next = l->next;
    else
        all.first = l->next;
    if (l->next)
        l->next->prev = l->prev;
    atomic_fetch_sub(&all.slots_n, l->n);
    cw_mutex_unlock(&all.mutex);
}

void cw_loaded_free(struct cw_loaded *l)
{
    if (!l)
        return;
    if (l->bytes)
        leave_all(l);
    for (size_t i = 0; i < l->n; i++) {
        void *thing = atomic_load(&l->slots[i].thing);
        if (thing)
            l->free_it(thing);
        atomic_fetch_sub(&all.bytes, l->slots[i].bytes);
    }
    for (size_t i = 0; i < LOCKS_N; i++)
        cw_mutex_fini(&l->locks[i]);
    cw_mem_free(l->slots);
    cw_mem_free(l);
}

/* ---- dropping ---- */

/* Drops the thing of a slot, unless it is in use, or being loaded. */
static void drop(struct cw_loaded *l, size_t i)
{
    struct slot *slot = &l->slots[i];
    struct cw_mutex *lock = &l->locks[i % LOCKS_N];
    int none = 0;
    if (!cw_mutex_try_lock(lock))
        return;
    if (slot->bytes > 0 && atomic_compare_exchange_strong(&slot->users, &none, GONE)) {
        l->free_it(atomic_exchange(&slot->thing, NULL));
        atomic_fetch_sub(&all.bytes, slot->bytes);
        slot->bytes = 0;
        atomic_fetch_sub(&slot->users, GONE);
    }
    cw_mutex_unlock(lock);
}

/* Moves the hand to the next slot. Returns false if there is none. */
static bool next_slot(void)
{
    if (!all.hand_at) {
        all.hand_at = all.first;
        all.hand = 0;
    }
    while (all.hand_at && all.hand == all.hand_at->n) {
        all.hand_at = all.hand_at->next;
        all.hand = 0;
    }
    return all.hand_at != NULL;
}

void cw_loaded_trim(size_t bytes)
{
    cw_mutex_lock(&all.mutex);
    for (size_t left = 2 * all.slots_n + 2; left > 0 && atomic_load(&all.bytes) > bytes; left--) {
        if (!next_slot())
            continue;
        struct slot *slot = &all.hand_at->slots[all.hand];
        if (atomic_load_explicit(&slot->thing, memory_order_relaxed) &&
            !atomic_exchange_explicit(&slot->was_used, false, memory_order_relaxed))
            drop(all.hand_at, all.hand);
        all.hand++;
    }
    cw_mutex_unlock(&all.mutex);
}

void cw_loaded_set_max(size_t bytes)
{
    atomic_store(&all.max, bytes);
    cw_loaded_trim(bytes);
}

size_t cw_loaded_bytes(void)
{
    return atomic_load_explicit(&all.bytes, memory_order_relaxed) +
           (size_t)CW_MAX(atomic_load_explicit(&all.held, memory_order_relaxed), INT64_C(0));
}

void cw_loaded_hold(int64_t bytes)
{
    atomic_fetch_add_explicit(&all.held, bytes, memory_order_relaxed);
}

void cw_loaded_set_part_max(size_t bytes)
{
    atomic_store(&all.part_max, bytes);
}

size_t cw_loaded_part_max(void)
{
    return atomic_load(&all.part_max);
}

/* ---- loading ---- */

static int load_it(struct cw_loaded *l, size_t i,
                   int (*load)(void *arg, size_t i, void **ret_thing, struct cw_err *err),
                   void *arg, void **ret_thing, struct cw_err *err)
{
    struct slot *slot = &l->slots[i];
    int rc = 0;
    cw_mutex_lock(&l->locks[i % LOCKS_N]);
    atomic_fetch_add(&slot->users, 1); /* nobody drops it now */
    void *thing = atomic_load(&slot->thing);
    if (!thing)
        rc = load(arg, i, &thing, err);
    if (rc == 0 && !atomic_load(&slot->thing)) {
        slot->bytes = l->bytes ? l->bytes(thing) : 0;
        atomic_fetch_add(&all.bytes, slot->bytes);
        atomic_store_explicit(&slot->thing, thing, memory_order_release);
    }
    if (rc < 0)
        atomic_fetch_sub(&slot->users, 1);
    cw_mutex_unlock(&l->locks[i % LOCKS_N]);
    const size_t max = atomic_load_explicit(&all.max, memory_order_relaxed);
    if (atomic_load_explicit(&all.bytes, memory_order_relaxed) > max)
        cw_loaded_trim(max);
    *ret_thing = thing;
    return rc;
}

int cw_loaded_get(struct cw_loaded *l, size_t i,
                  int (*load)(void *arg, size_t i, void **ret_thing, struct cw_err *err), void *arg,
                  const void **ret_thing, struct cw_err *err)
{
    struct slot *slot = &l->slots[i];
    void *thing = NULL;
    int rc = 0;
    if (atomic_fetch_add(&slot->users, 1) >= 0)
        thing = atomic_load_explicit(&slot->thing, memory_order_acquire);
    if (!thing) {
        atomic_fetch_sub(&slot->users, 1);
        rc = load_it(l, i, load, arg, &thing, err);
    }
    if (rc == 0 && !atomic_load_explicit(&slot->was_used, memory_order_relaxed))
        atomic_store_explicit(&slot->was_used, true, memory_order_relaxed);
    *ret_thing = thing;
    return rc;
}

void cw_loaded_put(struct cw_loaded *l, size_t i)
{
    atomic_fetch_sub_explicit(&l->slots[i].users, 1, memory_order_release);
}
