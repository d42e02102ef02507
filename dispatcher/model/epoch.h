/* SPDX-License-Identifier: Apache-2.0 */
/* The items of one epoch of a job as sets of numbers: what was consumed, received, leased. No
 * I/O, no clock: lease.c, client_session.c and the unit tests drive it.
 *
 *   consumed: the trainer came back from it · received: it reached the client (consumed items
 *   count too) · leased: given to a worker
 *   and not received · free: neither received nor leased */
#ifndef CW_DISPATCHER_MODEL_EPOCH_H
#define CW_DISPATCHER_MODEL_EPOCH_H

#include <stdbool.h>
#include "base/interval.h"

/* as ConsumerMode of job.proto */
enum cw_mode { CW_MODE_SINGLE = 0, CW_MODE_COORDINATED = 1, CW_MODE_SHARED = 2 };

/* Whose an item is. SINGLE: consumer 0's. COORDINATED: of item mod n; with to_all (sparse)
 * everyone gets every item. SHARED: of the consumer it was leased for. */
struct cw_layout {
    enum cw_mode mode;
    uint32_t consumers;
    bool to_all;
};
struct cw_epoch_part {
    struct cw_set received, consumed; /* to_all: of this consumer */
    /* shared: leased for it at some time, and not consumed: nobody else may get them while it
     * lives */
    struct cw_set owned;
};
struct cw_epoch {
    uint64_t number;
    uint64_t items;
    struct cw_layout layout;
    struct cw_set consumed, received, leased, skipped;
    struct cw_set skipped_unsent; /* of the skipped: clients were not sent them yet */
    uint64_t none_free_below;     /* nothing below it is free, so nobody looks there */
    struct cw_epoch_part *parts;  /* to_all and shared: one per consumer, else NULL */
    bool dirty;                   /* consumed changed since it was stored */
};

void cw_epoch_init(struct cw_epoch *epoch, uint64_t number, uint64_t items,
                   const struct cw_layout *layout);
void cw_epoch_fini(struct cw_epoch *epoch);
bool cw_epoch_is_done(const struct cw_epoch *epoch); /* everything is consumed */
uint64_t cw_epoch_lowest_unconsumed(const struct cw_epoch *epoch);

/* The items of [lo, hi) that are the consumer's, in ret_own. In a fragmented layout only those
 * from the lowest unconsumed one on, and at most 2^20 of them: nobody can be further. */
void cw_epoch_items_of(const struct cw_epoch *epoch, uint32_t consumer, uint64_t lo, uint64_t hi,
                       struct cw_set *ret_own);
/* The consumer has received these; ret_new: those that nobody else waits for and that were not
 * received before. They leave `leased`. */
void cw_epoch_receive(struct cw_epoch *epoch, uint32_t consumer, uint64_t lo, uint64_t hi,
                      struct cw_set *ret_new);
/* Also receives them. Returns how many items became consumed by all they belong to. */
uint64_t cw_epoch_consume(struct cw_epoch *epoch, uint32_t consumer, uint64_t lo, uint64_t hi,
                          struct cw_set *ret_new);
/* A new process stands in for the consumer: what the old one had received and not consumed is to
 * be sent again. */
void cw_epoch_forget_received(struct cw_epoch *epoch, uint32_t consumer);
/* The consumer is at `item` now, whatever it was before (resume): its items below are consumed,
 * those from there on are not, but for `beyond`. */
void cw_epoch_reset(struct cw_epoch *epoch, uint32_t consumer, uint64_t item,
                    const struct cw_set *beyond);
/* Left out for everybody: consumed from now on. ret_new: those that were not consumed before. */
void cw_epoch_skip(struct cw_epoch *epoch, uint64_t lo, uint64_t hi, struct cw_set *ret_new);

/* The consumer's lowest item that it has not consumed; epoch->items when there is none. */
uint64_t cw_epoch_next_of(const struct cw_epoch *epoch, uint32_t consumer);

/* The lowest item that has not reached it (sparse: everyone gets every item); epoch->items when
 * there is none. */
uint64_t cw_epoch_first_unreceived(const struct cw_epoch *epoch, uint32_t consumer);

/* Leased no more: free, unless received. */
void cw_epoch_free(struct cw_epoch *epoch, uint64_t lo, uint64_t hi);
/* The lowest run of free items in [from, limit), at most max of them; false when there is none. */
bool cw_epoch_free_run(struct cw_epoch *epoch, uint64_t from, uint64_t limit, uint64_t max,
                       struct cw_interval *ret_run);

/* a := a intersected with b. */
void cw_set_intersect(struct cw_set *a, const struct cw_set *b);

#endif
