/* SPDX-License-Identifier: Apache-2.0 */
/* What of an epoch the trainer still has before it, and what is over for this consumer. */
#include "client/delivery/ledger_records.h"

/* Adds what has come of the epoch and the trainer has not consumed, in local numbers. */
static void add_pending(const struct cw_ledger *ledger, uint64_t epoch, struct cw_set *ret_local)
{
    cw_reorder_held(&ledger->reorder, epoch, ret_local);
    for (size_t i = 0; i < ledger->records_n; i++) {
        const struct cw_ledger_record *record = cw_ledger_record_at(ledger, i);
        if (record->epoch == epoch && record->lo < record->hi)
            cw_set_add(ret_local, record->lo, record->hi);
    }
}

bool cw_ledger_is_pending(const struct cw_ledger *ledger, uint64_t epoch, uint64_t item)
{
    struct cw_set pending = {0};
    add_pending(ledger, epoch, &pending);
    bool is = cw_set_has(&pending, item / ledger->reorder.conf.consumers);
    cw_set_fini(&pending);
    return is;
}

void cw_ledger_over(const struct cw_ledger *ledger, uint64_t epoch, struct cw_set *ret_local)
{
    struct cw_set pending = {0};
    const struct cw_set *got = cw_reorder_received(&ledger->reorder, epoch);
    if (epoch < ledger->reorder.epoch)
        cw_set_add(ret_local, 0, ledger->reorder.mine);
    else if (got)
        cw_set_add_all(ret_local, got);
    add_pending(ledger, epoch, &pending);
    cw_set_remove_all(ret_local, &pending);
    cw_set_fini(&pending);
}
