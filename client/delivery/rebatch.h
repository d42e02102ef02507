/* SPDX-License-Identifier: Apache-2.0 */
/* Sparse pipelines: the rows that survived in each item, in item order, counted (skip, take) and
 * cut into batches, so that the result is what one thread would give that ran the pipeline from
 * end to end. Of several coordinated consumers each walks all rows and makes only its own
 * batches. Knows no network and no threads. */
#ifndef CW_CLIENT_REBATCH_H
#define CW_CLIENT_REBATCH_H

#include "base/interval.h"
#include "base/map.h"
#include "client/delivery/fill.h"
#include "client/model/position.h"
#include "plan/plan.h"

struct cw_join_conf {
    struct cw_plan_join rules;
    uint64_t consumers, consumer;
};
/* A finished batch (the callee's ref; epoch and item set, item = the batch's number) and where
 * one stands behind it. */
typedef void cw_join_emit_fn(void *arg, struct cw_batch *batch, const struct cw_pos *after);
struct cw_join {
    struct cw_join_conf conf;
    cw_join_emit_fn *emit;
    void *arg;
    struct cw_pos at;       /* the next row that comes in */
    uint64_t floor;         /* batches below this number are not given out (a resume) */
    uint64_t fill;          /* rows that the batch being filled has, ours or not */
    struct cw_fill filling; /* ours: their bytes */
    struct cw_map skips;    /* epoch -> struct cw_set *: numbers of batches that are passed over */
    uint64_t left_out;      /* of ours, since the reader last took it */
    uint64_t skipped;       /* bad elements since the last batch */
};
void cw_join_init(struct cw_join *join, const struct cw_join_conf *conf, const struct cw_pos *from,
                  uint64_t floor, cw_join_emit_fn *emit, cw_fill_alloc_fn *alloc, void *arg);
void cw_join_fini(struct cw_join *join);
/* The next item in order (borrowed, and not needed any more afterwards); NULL = it will not
 * come. */
int cw_join_item(struct cw_join *join, struct cw_rows *rows, struct cw_err *err);
/* `take` rows have been reached: the rest of the epoch is of no use. */
bool cw_join_is_full(const struct cw_join *join);
/* Batches [lo, hi) of the epoch are cut, keep their numbers, and are not given out, unless they
 * were already. */
void cw_join_skip(struct cw_join *join, uint64_t epoch, uint64_t lo, uint64_t hi);
/* The epoch is over: gives out what is left, begins the next. */
int cw_join_end(struct cw_join *join, struct cw_err *err);

#endif
