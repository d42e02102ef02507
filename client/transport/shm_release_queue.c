/* SPDX-License-Identifier: Apache-2.0 */
#include "client/transport/shm_release_queue.h"

#include <stdatomic.h>
#include "base/mem.h"
#include "base/thread.h"

#define BULK 32 /* With this many slots a message is sent without waiting for more. */

struct cw_shm_release_queue {
    _Atomic int refs;
    struct cw_mutex mutex;
    cw_shm_release_wake_fn *wake; /* NULL once the connection is over. `mutex` guards it. */
    void *arg;                    /* The argument of the function wake. */
    uint64_t *slots; /* Slots that were released and not yet taken. `mutex` guards them. */
    size_t slots_n, slots_cap; /* The slots that wait. `mutex` guards these fields. */
    size_t enough; /* The number of waiting slots at which the loop is woken. `mutex` guards it. */
};

struct cw_shm_release_queue *cw_shm_release_queue_new(cw_shm_release_wake_fn *wake, void *arg)
{
    struct cw_shm_release_queue *queue = CW_NEW(struct cw_shm_release_queue);
    queue->refs = 1;
    cw_mutex_init(&queue->mutex);
    queue->wake = wake;
    queue->arg = arg;
    queue->enough = BULK;
    return queue;
}

struct cw_shm_release_queue *cw_shm_release_queue_ref(struct cw_shm_release_queue *queue)
{
    atomic_fetch_add_explicit(&queue->refs, 1, memory_order_relaxed);
    return queue;
}

void cw_shm_release_queue_unref(struct cw_shm_release_queue *queue)
{
    if (!queue || atomic_fetch_sub_explicit(&queue->refs, 1, memory_order_acq_rel) > 1)
        return;
    cw_mutex_fini(&queue->mutex);
    cw_mem_free(queue->slots);
    cw_mem_free(queue);
}

void cw_shm_release_queue_add(void *arg, uint64_t slot)
{
    struct cw_shm_release_queue *queue = arg;
    cw_mutex_lock(&queue->mutex);
    if (queue->wake) {
        CW_GROW(queue->slots, queue->slots_n, queue->slots_cap);
        queue->slots[queue->slots_n++] = slot;
        /* The lock is held, so that the end of the connection waits for this call. */
        if (queue->slots_n >= queue->enough)
            queue->wake(queue->arg);
    }
    cw_mutex_unlock(&queue->mutex);
    cw_shm_release_queue_unref(queue);
}

void cw_shm_release_queue_set_prompt(struct cw_shm_release_queue *queue)
{
    cw_mutex_lock(&queue->mutex);
    queue->enough = 1;
    cw_mutex_unlock(&queue->mutex);
}

size_t cw_shm_release_queue_take(struct cw_shm_release_queue *queue, bool all, uint64_t **ret_slots)
{
    size_t n = 0;
    cw_mutex_lock(&queue->mutex);
    if (queue->slots_n >= (all ? 1 : queue->enough)) {
        n = queue->slots_n;
        *ret_slots = queue->slots;
        queue->slots = NULL;
        queue->slots_n = queue->slots_cap = 0;
    }
    cw_mutex_unlock(&queue->mutex);
    return n;
}

void cw_shm_release_queue_close(struct cw_shm_release_queue *queue)
{
    if (!queue)
        return;
    cw_mutex_lock(&queue->mutex);
    queue->wake = NULL;
    cw_mutex_unlock(&queue->mutex);
    cw_shm_release_queue_unref(queue);
}
