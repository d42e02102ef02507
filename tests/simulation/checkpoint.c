/* SPDX-License-Identifier: Apache-2.0 */
/* Checkpoints of trainers, in world memory: a killed trainer's successor goes on from the last, and
 * those of a job that are killed together go back to one step. */
#include "trainer.h"

#include <string.h>

#include "cachew/client.h"

#define STEPS_OF_EPOCH 1000000 /* more than any epoch has */

static void *grown(void *from, size_t n, size_t cap, size_t size)
{
    void *at = sim_world_alloc(cap * size);

    if (n > 0)
        memcpy(at, from, n * size);
    sim_world_free(from);
    return at;
}

/* The one behind the last of these elements. */
static uint64_t step_after(const struct sim_trainer *t, size_t given_n)
{
    uint64_t n = t->consumers > 1 ? (uint64_t)t->consumers : 1;

    if (given_n == 0)
        return 0;
    const struct sim_element *last = &t->given.at[given_n - 1];
    return last->epoch * STEPS_OF_EPOCH + last->batch / n + 1;
}

struct sim_checkpoint *sim_checkpoint_add(struct sim_trainer *t, size_t given_n)
{
    if (t->saved_n == t->saved_cap) {
        t->saved_cap = t->saved_cap ? 2 * t->saved_cap : 8;
        t->saved = grown(t->saved, t->saved_n, t->saved_cap, sizeof(*t->saved));
    }
    struct sim_checkpoint *saved = &t->saved[t->saved_n++];
    saved->given_n = given_n;
    saved->step = step_after(t, given_n);
    return saved;
}

const struct sim_checkpoint *sim_checkpoint_last(const struct sim_trainer *t)
{
    return t->saved_n > 0 ? &t->saved[t->saved_n - 1] : NULL;
}

size_t sim_checkpoint_given(const struct sim_trainer *t)
{
    const struct sim_checkpoint *last = sim_checkpoint_last(t);

    return last ? last->given_n : 0;
}

void sim_checkpoint_return(struct sim_trainer *t)
{
    t->lost_before += t->lost_items;
    t->lost_items = 0;
    if (t->mode == CACHEW_SHARED)
        t->given_before = t->given.n;
    else
        t->given.n = sim_checkpoint_given(t);
}

void sim_checkpoint_join(struct sim_trainer *const *trainers, size_t n)
{
    uint64_t step = UINT64_MAX;

    for (size_t i = 0; i < n; i++) {
        const struct sim_checkpoint *last = sim_checkpoint_last(trainers[i]);
        if (!last || last->step < step)
            step = last ? last->step : 0;
    }
    for (size_t i = 0; i < n; i++) {
        struct sim_trainer *t = trainers[i];
        while (t->saved_n > 1 && t->saved[t->saved_n - 1].step > step)
            t->saved_n--;
        if (t->has_ended)
            ++*t->left;
        t->has_ended = false;
    }
}
