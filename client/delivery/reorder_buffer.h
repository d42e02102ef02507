/* SPDX-License-Identifier: Apache-2.0 */
/* The reorder buffer. Items of a job are put in as they arrive, from any worker and any number of
 * times. Each is taken out once, epoch after epoch, in the order of their numbers (or, in unordered
 * jobs, of their arrival). The buffer knows which items have come, which are missing, and which is
 * next. There is no network, no bytes and no threads in it.
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
    uint64_t items;  /* The number of items of an epoch, of all consumers together. */
    uint64_t epochs; /* The number is 0 if the job has no last epoch. */
    uint64_t consumers, consumer;
    bool unordered;
};
struct cw_reorder_epoch;
struct cw_reorder_buffer {
    struct cw_reorder_conf conf;
    uint64_t mine;        /* How many items of an epoch belong to this consumer. */
    uint64_t epoch;       /* The number of the epoch that is given out now. */
    uint64_t next;        /* Ordered jobs: the local number that is given out next. */
    uint64_t held;        /* The entries that were put in and not yet taken. */
    struct cw_map epochs; /* Number -> struct cw_reorder_epoch *, which the buffer owns. */
};
enum cw_reorder_kind {
    CW_REORDER_NONE, /* The next item has not come, or all epochs are over. */
    CW_REORDER_ITEM,
    CW_REORDER_GONE, /* Items will not come (ordered jobs only). */
    CW_REORDER_END   /* The epoch is over. */
};
struct cw_reorder_out {
    enum cw_reorder_kind kind;
    uint64_t epoch, item;
    void *entry; /* With ITEM: the entry, which the caller takes. */
    uint64_t n;  /* With GONE: how many items of this consumer in a row will not come. */
};
typedef void cw_reorder_free_fn(void *arg, void *entry);

/* Starts at `item` of `epoch`. Items below it, and those in `consumed` (items of the whole epoch;
 * may be NULL), count as given out. */
void cw_reorder_init(struct cw_reorder_buffer *order, const struct cw_reorder_conf *conf,
                     uint64_t epoch, uint64_t item, const struct cw_set *consumed);
/* Calls free_entry(arg, entry) for everything that is held. */
void cw_reorder_fini(struct cw_reorder_buffer *order, cw_reorder_free_fn *free_entry, void *arg);
/* Puts in an entry. Returns 1 if it was taken, 0 if the item has come or was given out already, and
 * CORRUPT if the job has no such item. In the last two cases the entry still belongs to the
 * caller. */
int cw_reorder_put(struct cw_reorder_buffer *order, uint64_t epoch, uint64_t item, void *entry,
                   struct cw_err *err);
/* Adds the local numbers of all entries of the epoch that were put in and not yet taken. */
void cw_reorder_held(const struct cw_reorder_buffer *order, uint64_t epoch,
                     struct cw_set *ret_local);
/* The items of the epoch will not come, unless they have. Returns how many items of this consumer are
 * skipped by that. */
uint64_t cw_reorder_skip(struct cw_reorder_buffer *order, uint64_t epoch,
                         const struct cw_set *items);
/* Sets ret_local to those of the items that belong to this consumer, in local numbers. */
void cw_reorder_local_set(const struct cw_reorder_buffer *order, const struct cw_set *items,
                          struct cw_set *ret_local);
struct cw_reorder_out cw_reorder_take(struct cw_reorder_buffer *order);
/* Ends the present epoch, of which nothing more is wanted: frees its entries as cw_reorder_fini
 * does. The next take returns CW_REORDER_END for it. */
void cw_reorder_end_epoch(struct cw_reorder_buffer *order, cw_reorder_free_fn *free_entry,
                          void *arg);
/* Returns whether all epochs were given out. */
bool cw_reorder_is_over(const struct cw_reorder_buffer *order);
/* Returns whether items of the epoch may still come. */
bool cw_reorder_is_open(const struct cw_reorder_buffer *order, uint64_t epoch);
/* Returns the first item that has not come, in local numbers counted over all epochs in a row. */
uint64_t cw_reorder_first_missing(const struct cw_reorder_buffer *order);
/* Returns what has come of an epoch, in local numbers; NULL if nothing has. The caller borrows
 * it. */
const struct cw_set *cw_reorder_received(const struct cw_reorder_buffer *order, uint64_t epoch);

/* Returns the local number of the first item of this consumer at or above `item`. */
uint64_t cw_reorder_local(const struct cw_reorder_conf *conf, uint64_t item);
uint64_t cw_reorder_item(const struct cw_reorder_conf *conf, uint64_t local);

#endif
