/* SPDX-License-Identifier: Apache-2.0 */
/* The ledger of a job. Outputs of workers go in as they arrive, in any order and any number of
 * times; entries of the trainer's queue come out, each item once. For each entry the ledger has a
 * record: which items the entry finishes, and whose credit it holds. A record is settled in two
 * steps: when the trainer has been given the entry, its credit is returned; when the trainer has
 * come back for the next one, its items count as consumed. client/model/client_job.h explains how the
 * trainer's thread tells the loop of both. Loop thread. */
#ifndef CW_CLIENT_DELIVERY_LEDGER_H
#define CW_CLIENT_DELIVERY_LEDGER_H

#include "client/delivery/rebatch.h"
#include "client/delivery/reorder_buffer.h"
#include "client/model/client_job.h"
#include "client/transport/received.h"

struct cw_ledger_record;
struct cw_ledger {
    struct cachew_job *job; /* borrowed; NULL before cw_ledger_init */
    struct cw_reorder_buffer reorder;
    struct cw_rebatch rebatch;        /* sparse only */
    struct cw_ledger_record *records; /* a ring, by rising serial */
    /* [first, first + given) are given out and not yet consumed; `given` <= `n` */
    size_t records_first, records_given, records_n, records_cap;
    uint64_t serial;    /* number of the last entry pushed; the first is 1 */
    uint64_t done;      /* sparse: items of this epoch below it are in records */
    uint64_t lost;      /* items left out since the last entry */
    uint64_t base;      /* coordinated: the first batch of the first step of this epoch */
    uint64_t ends_open; /* ends of epochs that are pushed and not consumed */
    /* Bytes of memory of workers' outputs that have come and are not given out; sparse: that are
     * not yet cut into batches. */
    uint64_t buffered;
    uint64_t rebatched; /* sparse: bytes of finished batches that are not given out */
    struct cachew_batch *out_head, *out_tail; /* entries made by the cw_ledger_drain under way */
    struct cw_err err; /* sparse: cutting failed; nothing is pushed any more */
    /* Sets of local numbers (client/delivery/reorder_buffer.h), by epoch: received, and consumed,
     * since the last acknowledgement. */
    struct cw_map received, consumed;
    struct cw_map all_consumed; /* the same, all that is consumed of epochs that have not ended */
    struct cw_pos pos;          /* the position behind what is consumed (ordered jobs) */
    uint64_t consumed_n;        /* entries consumed since the session last set it to 0 */
};
/* `consumed`: items of epoch from->epoch that were consumed before. `rules` is for sparse jobs. */
void cw_ledger_init(struct cw_ledger *ledger, struct cachew_job *job,
                    const struct cw_plan_join *rules, const struct cw_pos *from,
                    const struct cw_set *consumed);
void cw_ledger_fini(struct cw_ledger *ledger); /* also of a ledger that is all zero */
/* Takes an output unless its item has come already. 1 = taken; 0 = a duplicate, which stays the
 * caller's; CORRUPT (the caller's as well) = the job has no such item. */
int cw_ledger_put(struct cw_ledger *ledger, struct cw_received *received, struct cw_err *err);
/* Items [lo, hi) will not come. `lost`: nobody gets them; else another consumer did. */
void cw_ledger_skip(struct cw_ledger *ledger, uint64_t epoch, uint64_t lo, uint64_t hi, bool lost);
/* Sparse: batches [lo, hi) of the epoch are not given out when they are cut. */
void cw_ledger_skip_batches(struct cw_ledger *ledger, uint64_t epoch, uint64_t lo, uint64_t hi);
/* Pushes to the trainer's queue all that is next in order. */
int cw_ledger_drain(struct cw_ledger *ledger, struct cw_err *err);
/* Bytes received and not given out, in whatever form. */
uint64_t cw_ledger_bytes(const struct cw_ledger *ledger);
/* Settles the records of what the trainer was given, and has consumed, since the last call. */
void cw_ledger_settle(struct cw_ledger *ledger);

#endif
