/* SPDX-License-Identifier: Apache-2.0 */
#include "client/transport/shm_release_queue.h"

#include <stdatomic.h>
#include "base/mem.h"
#include "base/thread.h"
#include "client/model/job.h"

#define BULK 32

struct cw_slots {
    _Atomic int refs;
    struct cw_mutex mutex;
    struct cachew_job *job; /* lock: mutex; NULL = the connection is over */
    uint64_t *back;         /* lock: mutex */
    size_t back_n, back_cap;
    size_t enough; /* lock: mutex; so many are worth a message */
};

struct cw_slots *cw_slots_new(struct cachew_job *job)
{
    struct cw_slots *slots = CW_NEW(struct cw_slots);
    slots->refs = 1;
    cw_mutex_init(&slots->mutex);
    slots->job = job;
    slots->enough = BULK;
    return slots;
}

struct cw_slots *cw_slots_ref(struct cw_slots *slots)
{
    atomic_fetch_add_explicit(&slots->refs, 1, memory_order_relaxed);
    return slots;
}

void cw_slots_unref(struct cw_slots *slots)
{
    if (!slots || atomic_fetch_sub_explicit(&slots->refs, 1, memory_order_acq_rel) > 1)
        return;
    cw_mutex_fini(&slots->mutex);
    cw_mem_free(slots->back);
    cw_mem_free(slots);
}

void cw_slots_released(void *arg, uint64_t slot)
{
    struct cw_slots *slots = arg;
    cw_mutex_lock(&slots->mutex);
    if (slots->job) {
        CW_GROW(slots->back, slots->back_n, slots->back_cap);
        slots->back[slots->back_n++] = slot;
        if (slots->back_n >= slots->enough)
            cw_job_kick(slots->job); /* only posts; the job outlives its connections */
    }
    cw_mutex_unlock(&slots->mutex);
    cw_slots_unref(slots);
}

void cw_slots_set_prompt(struct cw_slots *slots)
{
    cw_mutex_lock(&slots->mutex);
    slots->enough = 1;
    cw_mutex_unlock(&slots->mutex);
}

size_t cw_slots_take(struct cw_slots *slots, bool all, uint64_t **ret_back)
{
    size_t n = 0;
    cw_mutex_lock(&slots->mutex);
    if (slots->back_n >= (all ? 1 : slots->enough)) {
        n = slots->back_n;
        *ret_back = slots->back;
        slots->back = NULL;
        slots->back_n = slots->back_cap = 0;
    }
    cw_mutex_unlock(&slots->mutex);
    return n;
}

void cw_slots_close(struct cw_slots *slots)
{
    if (!slots)
        return;
    cw_mutex_lock(&slots->mutex);
    slots->job = NULL;
    cw_mutex_unlock(&slots->mutex);
    cw_slots_unref(slots);
}
