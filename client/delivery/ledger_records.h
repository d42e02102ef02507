/* SPDX-License-Identifier: Apache-2.0 */
/* The records of a ledger, for its own files. */
#ifndef CW_CLIENT_DELIVERY_LEDGER_RECORDS_H
#define CW_CLIENT_DELIVERY_LEDGER_RECORDS_H

#include "client/delivery/ledger.h"

struct cw_ledger_record {
    uint64_t serial; /* The serial number of the entry with which the record is settled. */
    /* The local numbers of the items that the entry completes; there may be none. */
    uint64_t epoch, lo, hi;
    struct cw_pos after;     /* The position behind the entry, if has_pos is set. */
    bool has_pos, end;       /* end: the entry is the end of the epoch. */
    struct cw_charge charge; /* The charge is returned when the entry is given out. */
    /* Sparse jobs: the bytes of the batch, which is a copy in the client's own memory. */
    uint64_t bytes;
    /* The bad elements that were left out of the entry, and the number of its batch. `bad` holds one
     * reference. */
    uint64_t skipped, number;
    struct cw_bad_list *bad;
};

static inline struct cw_ledger_record *cw_ledger_record_at(const struct cw_ledger *ledger, size_t i)
{
    return &ledger->records[(ledger->records_first + i) & (ledger->records_cap - 1)];
}

/* Returns whether the trainer has not consumed the item, of which an output has come. */
bool cw_ledger_is_pending(const struct cw_ledger *ledger, uint64_t epoch, uint64_t item);

#endif
