/* SPDX-License-Identifier: Apache-2.0 */
/* The reorder buffer: items of a job are put in as they arrive, from any worker and any number of
 * times, and are taken out once each, epoch after epoch, in order of their numbers (or, for
 * unordered jobs, in order of arrival). It knows what has come, what is still missing, and what
 * is next; it knows no network, no bytes and no threads.
 *
 * Inside, items are counted by local numbers, which leave out those of other consumers: local
 * number l is item l * consumers + consumer. */
#ifndef CW_CLIENT_DELIVERY_REORDER_BUFFER_H
#define CW_CLIENT_DELIVERY_REORDER_BUFFER_H

#include <stdbool.h>
#include "base/err.h"
#include "base/interval.h"
#include "base/map.h"

struct cw_reorder_conf {
    uint64_t items;  /* of an epoch, of all consumers together */
    uint64_t epochs; /* 0 = without end */
    uint64_t consumers, consumer;
    bool unordered;
};
struct cw_reorder_epoch;
struct cw_reorder_buffer {
    struct cw_reorder_conf conf;
    uint64_t mine;        /* how many items of an epoch belong to this consumer */
    uint64_t epoch;       /* the epoch that is given out now */
    uint64_t next;        /* ordered: the local number to give out next */
    uint64_t held;        /* entries put in and not yet taken */
    struct cw_map epochs; /* number -> struct cw_reorder_epoch *, owned */
};
enum cw_reorder_kind {
    CW_REORDER_NONE, /* the next item has not come, or all epochs are over */
    CW_REORDER_ITEM,
    CW_REORDER_GONE, /* this item will not come (ordered only) */
    CW_REORDER_END   /* the epoch is over */
};
struct cw_reorder_out {
    enum cw_reorder_kind kind;
    uint64_t epoch, item;
    void *entry; /* of an ITEM: the caller's */
};
typedef void cw_reorder_free_fn(void *arg, void *entry);

/* Starts at `item` of `epoch`. What lies below it, and what is in `consumed` (items of the whole
 * epoch; may be NULL), counts as given out. */
void cw_reorder_init(struct cw_reorder_buffer *order, const struct cw_reorder_conf *conf,
                     uint64_t epoch, uint64_t item, const struct cw_set *consumed);
/* Calls free_entry(arg, entry) for all that is held. */
void cw_reorder_fini(struct cw_reorder_buffer *order, cw_reorder_free_fn *free_entry, void *arg);
/* 1 = taken; 0 = the item is there, or was given out, already (the entry stays the caller's);
 * CORRUPT = the job has no such item. */
int cw_reorder_put(struct cw_reorder_buffer *order, uint64_t epoch, uint64_t item, void *entry,
                   struct cw_err *err);
/* Items [lo, hi) of the epoch will not come, unless they have. Returns how many of this
 * consumer's that leaves out. */
uint64_t cw_reorder_skip(struct cw_reorder_buffer *order, uint64_t epoch, uint64_t lo, uint64_t hi);
struct cw_reorder_out cw_reorder_take(struct cw_reorder_buffer *order);
/* Nothing more of the present epoch is wanted: frees what is held of it as cw_reorder_fini does.
 * The next take gives its END. */
void cw_reorder_cut(struct cw_reorder_buffer *order, cw_reorder_free_fn *free_entry, void *arg);
bool cw_reorder_is_over(const struct cw_reorder_buffer *order); /* all epochs were given out */
/* The first item that has not come, in local numbers counted over all epochs in a row. */
uint64_t cw_reorder_first_missing(const struct cw_reorder_buffer *order);
/* What has come of an epoch, in local numbers; NULL when nothing has. Borrowed. */
const struct cw_set *cw_reorder_received(const struct cw_reorder_buffer *order, uint64_t epoch);

/* The local number of the first item of this consumer that is at or above `item`. */
uint64_t cw_reorder_local(const struct cw_reorder_conf *conf, uint64_t item);
uint64_t cw_reorder_item(const struct cw_reorder_conf *conf, uint64_t local);

#endif
