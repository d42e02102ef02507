/* SPDX-License-Identifier: Apache-2.0 */
/* Sparse pipelines: cuts rows into batches. For each item, workers send the rows that passed the
 * filters. They are counted (skip, take) and cut in the order of items, so the result is the same
 * as if a single thread ran the pipeline from end to end. With several coordinated consumers, each
 * goes through all rows and makes only its own batches. There is no network and no thread in it. */
#ifndef CW_CLIENT_DELIVERY_REBATCH_H
#define CW_CLIENT_DELIVERY_REBATCH_H

#include "base/interval.h"
#include "base/map.h"
#include "client/delivery/fill.h"
#include "client/model/position.h"
#include "plan/plan.h"

struct cw_rebatch_conf {
    struct cw_plan_join rules;
    /* What is delivered, which says which fields are ragged. It outlives the rebatcher. NULL: none is. */
    const struct cw_spec *out;
    /* How rows are filled up; NULL: they are not. It outlives the rebatcher, like `out`, which is then there. */
    const struct cw_pads *pads;
    uint64_t consumers, consumer;
};
/* Is called with a finished batch, which the callback takes, and the position behind it. The batch
 * has its epoch, and its number in `item`. */
typedef void cw_rebatch_emit_fn(void *arg, struct cw_batch *batch, const struct cw_pos *after);
struct cw_rebatch {
    struct cw_rebatch_conf conf;
    cw_rebatch_emit_fn *emit;
    void *arg;        /* The argument of emit, and of the allocator. */
    struct cw_pos at; /* The position of the next row that comes in. */
    uint64_t floor;   /* After a resume: batches below this number are not given out. */
    /* The rows of the batch that is being filled, whether or not it is this consumer's. */
    uint64_t fill;
    /* The rows of the batch that is being filled, if the batch is this consumer's. */
    struct cw_fill filling;
    struct cw_map skips; /* Epoch -> struct cw_set *: numbers of batches to skip. */
    /* Batches of this consumer that were skipped. The ledger resets the number. */
    uint64_t left_out;
    /* The bad elements that were left out of the batch that is being filled. Those of an item are
     * counted with the batch that is being filled when the item begins, so that one consumer of
     * several counts them, and once. `bad` describes the first of them; NULL if there are none. */
    uint64_t skipped;
    struct cw_bad_list *bad;
    /* Those behind the last batch of the epoch that was ended last. The ledger takes them. */
    uint64_t end_skipped, end_number;
    struct cw_bad_list *end_bad;
};
void cw_rebatch_init(struct cw_rebatch *rebatch, const struct cw_rebatch_conf *conf,
                     const struct cw_pos *from, uint64_t floor, cw_rebatch_emit_fn *emit,
                     cw_fill_alloc_fn *alloc, void *arg);
void cw_rebatch_fini(struct cw_rebatch *rebatch);
/* Takes the rows of the next item in order; NULL if the item will not come. The rows are borrowed
 * for the call. */
int cw_rebatch_item(struct cw_rebatch *rebatch, struct cw_item_rows *rows, struct cw_err *err);
/* As many items in a row will not come. */
void cw_rebatch_pass(struct cw_rebatch *rebatch, uint64_t items);
/* Returns whether the pipeline's `take` rows are reached, so that the rest of the epoch is not
 * needed. */
bool cw_rebatch_is_full(const struct cw_rebatch *rebatch);
/* The batches of the epoch are still cut and keep their numbers, but are not given out, unless they
 * were already. */
void cw_rebatch_skip(struct cw_rebatch *rebatch, uint64_t epoch, const struct cw_set *batches);
/* Ends the epoch: gives out the rows that are left as a batch, and begins the next epoch. */
int cw_rebatch_end(struct cw_rebatch *rebatch, struct cw_err *err);

#endif
