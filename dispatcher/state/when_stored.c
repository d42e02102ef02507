/* SPDX-License-Identifier: Apache-2.0 */
/* Lists the callers that wait until everything that was written so far is stored. */
#include "dispatcher/state/state.h"

struct cw_stored_waiter {
    struct cw_stored_waiter *next;
    uint64_t seq;
    cw_stored_fn *fn;
    void *arg;
};

void cw_when_stored(struct cw_dispatcher *d, cw_stored_fn *fn, void *arg)
{
    if (d->stopping) { /* The dispatcher stops, so nobody would answer later. */
        struct cw_err err = {0};
        cw_err_set(&err, CW_E_UNAVAILABLE, "the dispatcher is stopping");
        fn(arg, &err);
        return;
    }
    uint64_t seq = cw_state_seq(d->state);
    if (cw_state_is_stored(d->state, seq)) {
        fn(arg, NULL);
        return;
    }
    struct cw_stored_waiter *waiter = CW_NEW(struct cw_stored_waiter);
    *waiter = (struct cw_stored_waiter){.seq = seq, .fn = fn, .arg = arg};
    *(d->waiters ? d->waiters_end : &d->waiters) = waiter;
    d->waiters_end = &waiter->next;
}

void cw_stored_waiters_answer(struct cw_dispatcher *d, const struct cw_err *err)
{
    while (d->waiters && (err || cw_state_is_stored(d->state, d->waiters->seq))) {
        struct cw_stored_waiter *waiter = d->waiters;
        d->waiters = waiter->next;
        waiter->fn(waiter->arg, err);
        cw_mem_free(waiter);
    }
}
