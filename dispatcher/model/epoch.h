/* SPDX-License-Identifier: Apache-2.0 */
/* The items of one epoch of a job, as sets of numbers. Nothing here does I/O or reads a clock.
 *
 *   consumed   the trainer is done with the item
 *   received   the item has reached the client; each consumed item counts as received, too
 *   leased     the item was given to a worker and is not received yet
 *   free       the item is neither received nor leased */
#ifndef CW_DISPATCHER_MODEL_EPOCH_H
#define CW_DISPATCHER_MODEL_EPOCH_H

#include <stdbool.h>
#include "base/interval.h"
#include "base/limits.h"

#define CW_HEDGE_SHARE 20

/* The values are those of ConsumerMode in job.proto. */
enum cw_mode { CW_MODE_SINGLE = 0, CW_MODE_COORDINATED = 1, CW_MODE_SHARED = 2 };

/* The layout says which consumer an item belongs to. SINGLE: all items belong to consumer 0.
 * COORDINATED: item i belongs to consumer i modulo n; but with to_all (sparse jobs) every consumer
 * gets every item. SHARED: an item belongs to the consumer for which it was leased. */
struct cw_layout {
    enum cw_mode mode;
    uint32_t consumers;
    bool to_all;
};
struct cw_epoch_part {
    /* Jobs with to_all: the items that this consumer has received and consumed. */
    struct cw_set received, consumed;
    /* Shared jobs: the items that were leased for this consumer and that it has not consumed. No
     * other consumer may get them while it lives. */
    struct cw_set owned;
};
struct cw_epoch {
    uint64_t number;
    uint64_t items;
    struct cw_layout layout;
    struct cw_set consumed, received, leased, skipped;
    /* The skipped items that clients were not told of yet. */
    struct cw_set skipped_unsent;
    uint64_t none_free_below; /* No item below this number is free, so a search may begin here. */
    /* Items below this number were leased before, lowest first; above it may be some that a slow worker
     * was leased early (lease/late_items.c). */
    uint64_t front;
    /* Jobs with to_all and shared jobs have one entry per consumer; NULL for other jobs. */
    struct cw_epoch_part *parts;
    /* How many items were leased, each time counted, and how many of these leases are hedges. */
    uint64_t given_n, hedged_n;
    bool dirty; /* The consumed set has changed since it was written to state.db. */
};

void cw_epoch_init(struct cw_epoch *epoch, uint64_t number, uint64_t items,
                   const struct cw_layout *layout);
void cw_epoch_fini(struct cw_epoch *epoch);
/* Whether the items of a consumer alternate with those of others. */
bool cw_epoch_is_dealt(const struct cw_epoch *epoch);
/* Returns whether all items of the epoch are consumed. */
bool cw_epoch_is_done(const struct cw_epoch *epoch);
uint64_t cw_epoch_lowest_unconsumed(const struct cw_epoch *epoch);

/* If the items of a consumer alternate with those of others (coordinated), a call looks at no more
 * than this many of them, since no window reaches further (CW_WINDOW_MAX)... */
#define CW_DEALT_STEPS_MAX (CW_WINDOW_MAX / 2)
/* ... and takes no more than this many that are new from one message. The next message, or the next
 * session, brings the rest. */
#define CW_DEALT_NEW_MAX (1u << 17)

/* Adds to ret_own the items of [lo, hi) that belong to the consumer. If its items alternate with
 * those of others (coordinated), only items from the lowest unconsumed one on are added, and at
 * most CW_DEALT_STEPS_MAX of them. */
void cw_epoch_items_of(const struct cw_epoch *epoch, uint32_t consumer, uint64_t lo, uint64_t hi,
                       struct cw_set *ret_own);
/* Records that the consumer has received those of the items `said` that belong to it. Those that were
 * not received before, and that no other consumer still waits for, are added to ret_new and leave
 * the set `leased`. */
void cw_epoch_receive(struct cw_epoch *epoch, uint32_t consumer, const struct cw_set *said,
                      struct cw_set *ret_new);
/* Records that the consumer has consumed those of the items `said` that belong to it, which also
 * counts as receiving them. Returns how many items are now consumed by every consumer they belong
 * to. */
uint64_t cw_epoch_consume(struct cw_epoch *epoch, uint32_t consumer, const struct cw_set *said,
                          struct cw_set *ret_new);
/* Another process takes over the consumer slot: items that the old process had received and not
 * consumed are no longer received, so that they are sent again. Returns whether there were any. */
bool cw_epoch_forget_received(struct cw_epoch *epoch, uint32_t consumer);
/* All consumers begin at `item` or above it: the lower ones count as consumed. */
void cw_epoch_start_at(struct cw_epoch *epoch, uint64_t item);
/* Sets the consumer's position to `item` (it resumes from a token): its lower items are consumed;
 * the others are not, except for those of its own in `beyond`. */
void cw_epoch_reset(struct cw_epoch *epoch, uint32_t consumer, uint64_t item,
                    const struct cw_set *beyond);
/* Skips the items for all consumers: they count as consumed from now on. Those that were not consumed
 * before are added to ret_new. */
void cw_epoch_skip(struct cw_epoch *epoch, const struct cw_set *items, struct cw_set *ret_new);

/* Returns the lowest item of the consumer that it has not consumed; epoch->items if there is
 * none. */
uint64_t cw_epoch_next_of(const struct cw_epoch *epoch, uint32_t consumer);

/* Returns the lowest item of a sparse job's epoch that the consumer has not received; epoch->items
 * if there is none. */
uint64_t cw_epoch_first_unreceived(const struct cw_epoch *epoch, uint32_t consumer);

/* Returns how many more items of the epoch may be hedged: hedges are one in CW_HEDGE_SHARE of the
 * items that were leased, and one. */
uint64_t cw_epoch_may_hedge(const struct cw_epoch *epoch);
/* Ends the lease of the items: those that are not received are free again. */
void cw_epoch_free(struct cw_epoch *epoch, const struct cw_set *items);
/* Finds the lowest run of free items in [from, limit), at most max items long. Returns false if
 * there is none. */
bool cw_epoch_free_run(struct cw_epoch *epoch, uint64_t from, uint64_t limit, uint64_t max,
                       struct cw_interval *ret_run);

#endif
