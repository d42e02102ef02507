/* SPDX-License-Identifier: Apache-2.0 */
/* Nothing is sent to a trainer that is beyond the window for which its job has asked: in a
 * trainer's program. The linker leads the library's call of cw_ledger_put here. */
#include "client/delivery/ledger.h"
#include "trainer.h"
#include "trainer_bounds.h"

__typeof__(cw_ledger_put) __real_cw_ledger_put, __wrap_cw_ledger_put;

/* The number of the consumer's next item, counted from the first item of the job, when it was given
 * the last one of the step: the same step of the next turn, or its first item of the next epoch. */
static uint64_t next_item(const struct sim_trainer *t, uint64_t items)
{
    uint64_t next = t->last_batch + (uint64_t)t->consumers;

    return next < items ? t->last_epoch * items + next
                        : (t->last_epoch + 1) * items + (uint64_t)t->consumer;
}

/* The window begins at the lowest item that nobody has consumed. That is not above the next item of
 * this consumer, in any of its lives. */
static void check(const struct sim_trainer *t, const struct cw_ledger *ledger,
                  const struct cw_received *received)
{
    uint64_t items = ledger->reorder.conf.items, consumers = (uint64_t)t->consumers;
    uint64_t item = received->batch->epoch * items + received->batch->item;
    uint64_t window = t->window > consumers ? t->window : consumers;
    uint64_t end = next_item(t, items) + 1 + window;

    if (item >= end)
        sim_fail("%s was sent item %llu of epoch %llu: its window of %llu ends before it",
                 sim_name(sim_self()), (unsigned long long)received->batch->item,
                 (unsigned long long)received->batch->epoch, (unsigned long long)window);
}

int __wrap_cw_ledger_put(struct cw_ledger *ledger, struct cw_received *received, struct cw_err *err)
{
    const struct sim_trainer *t = sim_trainer_self; /* NULL: a stranger */

    if (t && t->window > 0 && !ledger->job->sparse && !t->at_most_once &&
        ledger->job->mode != CW_MODE_SHARED)
        check(t, ledger, received);
    sim_check_trainer_bounds(ledger, received->charge.cost);
    return __real_cw_ledger_put(ledger, received, err);
}
