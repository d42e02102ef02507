/* SPDX-License-Identifier: Apache-2.0 */
/* From outputs as they arrive to entries of the job's queue, and the book that is kept of them:
 * which items an entry finishes, and whose credit it holds. The book is settled when the trainer
 * has been given an entry (credit) and has come back from it (consumed). Loop thread. */
#ifndef CW_CLIENT_LEDGER_H
#define CW_CLIENT_LEDGER_H

#include "client/model/job.h"
#include "client/delivery/rebatch.h"
#include "client/delivery/reorder_buffer.h"
#include "client/transport/received.h"

struct cw_deliver;
struct cw_record;
struct cw_deliver {
    struct cachew_job *job;
    struct cw_order order;
    struct cw_join join;    /* sparse only */
    struct cw_record *book; /* ring of records, by rising serial */
    /* [first, first + given) are given out, not yet consumed */
    size_t book_first, book_given, book_n, book_cap;
    uint64_t serial;    /* of the last entry pushed */
    uint64_t done;      /* sparse: items below it are in the book */
    uint64_t lost;      /* items left out since the last entry */
    uint64_t base;      /* coordinated: the first batch of the first step of this epoch */
    uint64_t ends_open; /* ends of epochs pushed and not consumed */
    /* bytes of workers' outputs received and not given out; sparse: not walked */
    uint64_t buffered;
    uint64_t joined;                          /* sparse: bytes of finished batches not given out */
    struct cachew_batch *out_head, *out_tail; /* made in this drain */
    struct cw_err err;                        /* of the join: nothing is handed on any more */
    /* epoch -> struct cw_set *: local numbers not yet acknowledged */
    struct cw_map received, consumed;
    struct cw_map all_consumed; /* epoch -> struct cw_set *: of the present epochs */
    struct cw_pos pos;          /* consumed up to here (ordered) */
    uint64_t consumed_n; /* entries consumed since the counter was last reset by its reader */
};
void cw_deliver_init(struct cw_deliver *deliver, struct cachew_job *job,
                     const struct cw_plan_join *rules, const struct cw_pos *from,
                     const struct cw_set *consumed);
void cw_deliver_fini(struct cw_deliver *deliver);
/* Takes what was received unless it is there already: 1, 0 (it stays the caller's), or CORRUPT. */
int cw_deliver_put(struct cw_deliver *deliver, struct cw_received *received, struct cw_err *err);
void cw_deliver_skip(struct cw_deliver *deliver, uint64_t epoch, uint64_t lo, uint64_t hi,
                     bool lost);
/* Sparse: these batches are passed over when they are cut. */
void cw_deliver_skip_batches(struct cw_deliver *deliver, uint64_t epoch, uint64_t lo, uint64_t hi);
/* Hands on what is next in order. */
int cw_deliver_drain(struct cw_deliver *deliver, struct cw_err *err);
/* Bytes received and not given out, in whatever form. */
uint64_t cw_deliver_bytes(const struct cw_deliver *deliver);
/* Settles what the trainer was given and has consumed since the last time. */
void cw_deliver_settle(struct cw_deliver *deliver);

/* Sets of local numbers by epoch. */
struct cw_set *cw_sets_get(struct cw_map *sets, uint64_t epoch);
void cw_sets_clear(struct cw_map *sets);

#endif
