/* SPDX-License-Identifier: Apache-2.0 */
#include "client/model/trainer_measure.h"

#include <stdlib.h>

#include "base/compiler.h"

/* When the trainer is a whole ring ahead, it may overwrite a record while it is read. So this many
 * of the oldest records in the ring are not read. */
#define MARGIN 64

void cw_trainer_measure_asked(struct cw_trainer_measure *m, int64_t now_ns)
{
    if (!m->asking)
        m->asked_ns = now_ns;
    m->asking = true;
}

void cw_trainer_measure_given(struct cw_trainer_measure *m, int64_t now_ns)
{
    uint64_t n = atomic_load_explicit(&m->written, memory_order_relaxed);
    struct cw_trainer_step *record = &m->ring[n % CW_TRAINER_MEASURE_RING];
    /* A reader that is too slow by more than the margin could mix the step of one record with the
     * wait of another. */
    atomic_store_explicit(&record->step_ns, m->has_given ? m->asked_ns - m->given_ns : -1,
                          memory_order_relaxed);
    atomic_store_explicit(&record->wait_ns, now_ns - m->asked_ns, memory_order_relaxed);
    atomic_store_explicit(&m->written, n + 1, memory_order_release);
    m->given_ns = now_ns;
    m->has_given = true;
    m->asking = false;
}

void cw_trainer_measure_break(struct cw_trainer_measure *m)
{
    m->has_given = m->asking = false;
}

static int compare(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

void cw_trainer_measure_take(struct cw_trainer_measure *m, struct cw_trainer_measure_sum *ret)
{
    int64_t steps[CW_TRAINER_MEASURE_RING];
    size_t steps_n = 0;
    uint64_t written = atomic_load_explicit(&m->written, memory_order_acquire),
             n = written - m->taken;
    uint64_t kept = CW_MIN(n, (uint64_t)(CW_TRAINER_MEASURE_RING - MARGIN));
    *ret = (struct cw_trainer_measure_sum){.batches = n};
    m->taken = written;
    for (uint64_t i = written - kept; i < written; i++) {
        const struct cw_trainer_step *record = &m->ring[i % CW_TRAINER_MEASURE_RING];
        int64_t step = atomic_load_explicit(&record->step_ns, memory_order_relaxed);
        int64_t wait = atomic_load_explicit(&record->wait_ns, memory_order_relaxed);
        ret->wait_ns += wait;
        ret->ns += wait + CW_MAX(step, (int64_t)0);
        if (step >= 0)
            steps[steps_n++] = step;
    }
    if (kept > 0 && kept < n) {
        double all = (double)n / (double)kept;
        ret->ns = (int64_t)((double)ret->ns * all);
        ret->wait_ns = (int64_t)((double)ret->wait_ns * all);
    }
    if (steps_n == 0)
        return;
    qsort(steps, steps_n, sizeof(steps[0]), compare);
    ret->step_ns = CW_MAX(steps[steps_n / 2], (int64_t)1);
}
