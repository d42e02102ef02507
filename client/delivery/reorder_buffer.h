/* SPDX-License-Identifier: Apache-2.0 */
/* What has come, what is still missing, and what is next: items of a job are put in as they
 * arrive, from any worker, any number of times, and taken out once each, epoch after epoch, in
 * order (or, unordered, as they came). Knows no network, no bytes and no threads.
 *
 * Inside, items are counted among those that belong to this consumer: local number l is item l *
 * consumers + consumer. */
#ifndef CW_CLIENT_REORDER_BUFFER_H
#define CW_CLIENT_REORDER_BUFFER_H

#include <stdbool.h>
#include "base/err.h"
#include "base/interval.h"
#include "base/map.h"

struct cw_order_conf {
    uint64_t items;  /* of an epoch, of all consumers */
    uint64_t epochs; /* 0 = without end */
    uint64_t consumers, consumer;
    bool unordered;
};
struct cw_order_epoch;
struct cw_order {
    struct cw_order_conf conf;
    uint64_t mine;        /* items of an epoch that belong to this consumer */
    uint64_t epoch;       /* that is given out now */
    uint64_t next;        /* ordered: the local number to give out next */
    uint64_t held;        /* entries put in and not yet taken */
    struct cw_map epochs; /* number -> struct cw_order_epoch */
};
enum cw_order_kind {
    CW_ORDER_NONE, /* the next one has not come, or all epochs are over */
    CW_ORDER_ITEM,
    CW_ORDER_GONE, /* this item will not come (ordered only) */
    CW_ORDER_END   /* the epoch is over */
};
struct cw_order_out {
    enum cw_order_kind kind;
    uint64_t epoch, item;
    void *entry;
};
typedef void cw_order_free_fn(void *arg, void *entry);

/* Starts at `item` of `epoch`: what lies below, and what is in `consumed` (may be NULL; items of
 * the whole epoch), is done. */
void cw_order_init(struct cw_order *order, const struct cw_order_conf *conf, uint64_t epoch,
                   uint64_t item, const struct cw_set *consumed);
void cw_order_fini(struct cw_order *order, cw_order_free_fn *free_entry, void *arg);
/* 1 = taken; 0 = it is there already (the entry stays the caller's); CORRUPT = the job has no
 * such item. */
int cw_order_put(struct cw_order *order, uint64_t epoch, uint64_t item, void *entry,
                 struct cw_err *err);
/* Items [lo, hi) of the epoch will not come. Returns how many of this consumer's that leaves
 * out. */
uint64_t cw_order_skip(struct cw_order *order, uint64_t epoch, uint64_t lo, uint64_t hi);
struct cw_order_out cw_order_take(struct cw_order *order);
/* Nothing more of the present epoch is wanted: calls free_entry for what is held of it. The next
 * take gives its END. */
void cw_order_cut(struct cw_order *order, cw_order_free_fn *free_entry, void *arg);
bool cw_order_is_over(const struct cw_order *order);
/* The first that has not come, counted in local numbers over all epochs in a row. */
uint64_t cw_order_come(const struct cw_order *order);
/* What has come of an epoch, in local numbers, or NULL when nothing has. */
const struct cw_set *cw_order_received(const struct cw_order *order, uint64_t epoch);

/* of the first of ours at or above it */
uint64_t cw_order_local(const struct cw_order_conf *conf, uint64_t item);
uint64_t cw_order_item(const struct cw_order_conf *conf, uint64_t local);

#endif
