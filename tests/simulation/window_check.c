/* SPDX-License-Identifier: Apache-2.0 */
/* Nothing is sent to a trainer that is beyond the window for which its job has asked: in a
 * trainer's program. The linker leads the library's call of cw_ledger_put here. */
#include "client/delivery/ledger.h"
#include "trainer.h"

int __real_cw_ledger_put(struct cw_ledger *ledger, struct cw_received *received,
                         struct cw_err *err);
int __wrap_cw_ledger_put(struct cw_ledger *ledger, struct cw_received *received,
                         struct cw_err *err);

/* The window begins at the lowest item that nobody has consumed. That is not above what follows the
 * last batch that this consumer was given, in any of its lives, or the others' part of its step. */
static void check(const struct sim_trainer *t, const struct cw_ledger *ledger,
                  const struct cw_received *received)
{
    uint64_t items = ledger->reorder.conf.items, consumers = (uint64_t)t->consumers;
    uint64_t item = received->batch->epoch * items + received->batch->item;
    uint64_t window = t->window > consumers ? t->window : consumers;
    uint64_t end = t->last_epoch * items + t->last_batch + 1 + consumers + window;

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
    return __real_cw_ledger_put(ledger, received, err);
}
