/* SPDX-License-Identifier: Apache-2.0 */
/* The ledger of a job. Outputs of workers go in as they arrive, in any order and any number of
 * times. Entries of the trainer's queue come out, and each item comes out once. For each entry the
 * ledger has a record: which items the entry completes, and whose credit it holds. A record is
 * settled in two steps. When the trainer has got the entry, its credit is returned; when the
 * trainer has come back for the next one, its items count as consumed. client/model/client_job.h
 * explains how the trainer's thread tells the loop of both. Loop thread. */
#ifndef CW_CLIENT_DELIVERY_LEDGER_H
#define CW_CLIENT_DELIVERY_LEDGER_H

#include "base/limits.h"
#include "client/delivery/rebatch.h"
#include "client/delivery/reorder_buffer.h"
#include "client/model/client_job.h"
#include "client/transport/received.h"

struct cw_ledger_record;

/* A bad element with the batch that it was left out of, and its place among those of that batch. */
struct cw_bad_place {
    uint64_t epoch, batch, place;
    struct cw_bad_list *list; /* one reference */
};
/* What the dispatcher is told of bad elements: how many, and the first of them. */
struct cw_bad_told {
    uint64_t n;
    struct cw_bad_place first[CW_BAD_FIRST_MAX];
    size_t first_n;
};
struct cw_ledger {
    struct cachew_job *job; /* The ledger borrows it; NULL before cw_ledger_init. */
    struct cw_reorder_buffer reorder;
    struct cw_rebatch rebatch;        /* Only sparse jobs use it to cut rows into batches. */
    struct cw_ledger_record *records; /* A ring, in the order of rising serial numbers. */
    /* The first records_given records from records_first on were given out and are not consumed;
     * records_n is the number of all. */
    size_t records_first, records_given, records_n, records_cap;
    uint64_t serial; /* The serial number of the last entry that was pushed; the first is 1. */
    /* Sparse jobs: all items of the present epoch below this number are in records. */
    uint64_t done;
    uint64_t lost;      /* The number of items that were skipped since the last entry. */
    uint64_t base;      /* Coordinated jobs: the first batch of the first step of this epoch. */
    uint64_t ends_open; /* The ends of epochs that were pushed and are not consumed. */
    /* The bytes of memory of outputs that have come and are not given out; in sparse jobs, of those
     * that are not yet cut into batches. */
    uint64_t buffered;
    uint64_t rebatched; /* Sparse jobs: the bytes of finished batches that are not given out. */
    /* Entries that the present call of cw_ledger_drain has made. */
    struct cachew_batch *out_head, *out_tail;
    /* Sparse jobs: the error of cutting rows into batches. After it no batch is given to the
     * trainer. */
    struct cw_err err;
    /* The items that were received and consumed since the last acknowledgement: sets of local
     * numbers (client/delivery/reorder_buffer.h), by epoch. */
    struct cw_map received, consumed;
    /* All consumed items of epochs that have not ended: sets of local numbers, by epoch. */
    struct cw_map all_consumed;
    struct cw_pos pos;      /* The position behind what is consumed (ordered jobs). */
    uint64_t consumed_n;    /* The entries that were consumed since the session last set it to 0. */
    struct cw_bad_told bad; /* The bad elements that were left out of what is consumed. */
};
/* Starts at the position `from`. `consumed`: items of epoch from->epoch that were consumed before.
 * `rules` is for sparse jobs. */
void cw_ledger_init(struct cw_ledger *ledger, struct cachew_job *job,
                    const struct cw_plan_join *rules, const struct cw_pos *from,
                    const struct cw_set *consumed);
void cw_ledger_fini(struct cw_ledger *ledger); /* A ledger that is all zero is accepted. */
/* Takes an output unless its item has come already. Returns 1 if it was taken, 0 if it is a
 * duplicate, and CORRUPT if the job has no such item. In the last two cases the output still
 * belongs to the caller. */
int cw_ledger_put(struct cw_ledger *ledger, struct cw_received *received, struct cw_err *err);
/* The items will not come. `lost`: no consumer gets them; otherwise another consumer did. */
void cw_ledger_skip(struct cw_ledger *ledger, uint64_t epoch, const struct cw_set *items,
                    bool lost);
/* Adds what is over of an epoch for this consumer, in local numbers: all that has come or will not,
 * except what the trainer has not consumed. */
void cw_ledger_over(const struct cw_ledger *ledger, uint64_t epoch, struct cw_set *ret_local);
/* Sparse jobs: the batches of the epoch are not given out when they are cut. Returns LIMIT if the
 * dispatcher has named too many epochs. */
int cw_ledger_skip_batches(struct cw_ledger *ledger, uint64_t epoch, const struct cw_set *batches,
                           struct cw_err *err);
/* Pushes everything that is next in order to the trainer's queue. */
int cw_ledger_drain(struct cw_ledger *ledger, struct cw_err *err);
/* Returns the bytes that were received and not given out, in whatever form. */
uint64_t cw_ledger_bytes(const struct cw_ledger *ledger);
/* Settles the records of the entries that the trainer has got, and consumed, since the last
 * call. */
void cw_ledger_settle(struct cw_ledger *ledger);

#endif
