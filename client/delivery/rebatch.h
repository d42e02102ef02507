/* SPDX-License-Identifier: Apache-2.0 */
/* Sparse pipelines: cuts rows into batches. Workers send, for each item, the rows that survived
 * in it. In item order they are counted (skip, take) and cut, so that the result is what a single
 * thread would give that ran the pipeline from end to end. Of several coordinated consumers each
 * walks all rows and makes only its own batches. It knows no network and no threads. */
#ifndef CW_CLIENT_DELIVERY_REBATCH_H
#define CW_CLIENT_DELIVERY_REBATCH_H

#include "base/interval.h"
#include "base/map.h"
#include "client/delivery/fill.h"
#include "client/model/position.h"
#include "plan/plan.h"

struct cw_rebatch_conf {
    struct cw_plan_join rules;
    uint64_t consumers, consumer;
};
/* A finished batch, which is the callee's, and the position behind it. The batch has its epoch,
 * and its number in `item`. */
typedef void cw_rebatch_emit_fn(void *arg, struct cw_batch *batch, const struct cw_pos *after);
struct cw_rebatch {
    struct cw_rebatch_conf conf;
    cw_rebatch_emit_fn *emit;
    void *arg;              /* of emit, and of the allocator */
    struct cw_pos at;       /* the next row that comes in */
    uint64_t floor;         /* after a resume: batches below this number are not given out */
    uint64_t fill;          /* rows of the batch being filled, this consumer's or not */
    struct cw_fill filling; /* its rows, if the batch is this consumer's */
    struct cw_map skips;    /* epoch -> struct cw_set *: numbers of batches to leave out */
    uint64_t left_out;      /* batches of this consumer that were left out; the ledger resets it */
    uint64_t skipped;       /* bad elements since the last batch */
};
void cw_rebatch_init(struct cw_rebatch *join, const struct cw_rebatch_conf *conf,
                     const struct cw_pos *from, uint64_t floor, cw_rebatch_emit_fn *emit,
                     cw_fill_alloc_fn *alloc, void *arg);
void cw_rebatch_fini(struct cw_rebatch *join);
/* The rows of the next item in order; NULL = the item will not come. Borrowed for the call. */
int cw_rebatch_item(struct cw_rebatch *join, struct cw_item_rows *rows, struct cw_err *err);
/* The `take` rows of the pipeline are reached: the rest of the epoch is not needed. */
bool cw_rebatch_is_full(const struct cw_rebatch *join);
/* Batches [lo, hi) of the epoch are still cut and keep their numbers, but are not given out,
 * unless they were already. */
void cw_rebatch_skip(struct cw_rebatch *join, uint64_t epoch, uint64_t lo, uint64_t hi);
/* The epoch is over: gives out the rest, and begins the next epoch. */
int cw_rebatch_end(struct cw_rebatch *join, struct cw_err *err);

#endif
