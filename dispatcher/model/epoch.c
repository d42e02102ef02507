/* SPDX-License-Identifier: Apache-2.0 */
#include "dispatcher/model/model.h"

#include "base/mem.h"

void cw_epoch_init(struct cw_epoch *epoch, uint64_t number, uint64_t items,
                   const struct cw_layout *layout)
{
    *epoch = (struct cw_epoch){.number = number, .items = items, .layout = *layout};
    if (layout->to_all || layout->mode == CW_MODE_SHARED)
        epoch->parts = CW_NEW_ARRAY(struct cw_epoch_part, layout->consumers);
}

void cw_epoch_fini(struct cw_epoch *epoch)
{
    cw_set_fini(&epoch->consumed);
    cw_set_fini(&epoch->received);
    cw_set_fini(&epoch->leased);
    cw_set_fini(&epoch->skipped);
    cw_set_fini(&epoch->skipped_unsent);
    for (uint32_t i = 0; epoch->parts && i < epoch->layout.consumers; i++) {
        cw_set_fini(&epoch->parts[i].received);
        cw_set_fini(&epoch->parts[i].consumed);
        cw_set_fini(&epoch->parts[i].owned);
    }
    cw_mem_free(epoch->parts);
    epoch->parts = NULL;
}

uint64_t cw_epoch_lowest_unconsumed(const struct cw_epoch *epoch)
{
    return CW_MIN(cw_set_first_absent(&epoch->consumed, 0), epoch->items);
}

bool cw_epoch_is_done(const struct cw_epoch *epoch)
{
    return cw_epoch_lowest_unconsumed(epoch) == epoch->items;
}

bool cw_epoch_is_dealt(const struct cw_epoch *epoch)
{
    return epoch->layout.mode == CW_MODE_COORDINATED && !epoch->layout.to_all &&
           epoch->layout.consumers > 1;
}

/* How many items one call of own_dealt still looks at, and how many it still finds. */
struct dealt_left {
    uint64_t steps, items;
};

/* Appends the items of the consumer in [lo, hi), one by one since they alternate with those of others,
 * but for those in `except` (may be NULL). What ret_own has is below lo. */
static void own_dealt(const struct cw_epoch *epoch, uint32_t consumer, uint64_t lo, uint64_t hi,
                      const struct cw_set *except, struct dealt_left *left, struct cw_set *ret_own)
{
    uint64_t n = epoch->layout.consumers;
    lo = CW_MAX(lo, cw_epoch_lowest_unconsumed(epoch));
    uint64_t first = lo - lo % n + consumer;
    if (first < lo)
        first += n;
    size_t at = except ? cw_set_find(except, first) : 0;
    for (uint64_t item = first; item < hi && left->steps > 0 && left->items > 0; item += n) {
        left->steps--;
        while (except && at < except->n && except->v[at].hi <= item)
            at++;
        if (except && at < except->n && except->v[at].lo <= item)
            continue;
        cw_set_push(ret_own, item, item + 1);
        left->items--;
    }
}

void cw_epoch_items_of(const struct cw_epoch *epoch, uint32_t consumer, uint64_t lo, uint64_t hi,
                       struct cw_set *ret_own)
{
    struct cw_set range = {0};
    struct dealt_left left = {CW_DEALT_STEPS_MAX, UINT64_MAX};
    hi = CW_MIN(hi, epoch->items);
    if (lo >= hi || consumer >= epoch->layout.consumers)
        return;
    if (cw_epoch_is_dealt(epoch))
        own_dealt(epoch, consumer, lo, hi, NULL, &left, &range);
    else
        cw_set_add(&range, lo, hi);
    if (epoch->layout.mode == CW_MODE_SHARED)
        cw_set_intersect(&range, &epoch->parts[consumer].owned);
    cw_set_add_all(ret_own, &range);
    cw_set_fini(&range);
}

/* Sets ret_own to the items among those said that belong to the consumer. If they alternate with
 * those of others, items in `except` may be left out. */
static void own_of(const struct cw_epoch *epoch, uint32_t consumer, const struct cw_set *said,
                   const struct cw_set *except, struct cw_set *ret_own)
{
    struct dealt_left left = {CW_DEALT_STEPS_MAX, CW_DEALT_NEW_MAX};
    if (consumer >= epoch->layout.consumers)
        return;
    if (cw_epoch_is_dealt(epoch)) {
        for (size_t i = 0; i < said->n && left.steps > 0; i++)
            own_dealt(epoch, consumer, said->v[i].lo, CW_MIN(said->v[i].hi, epoch->items), except,
                      &left, ret_own);
        return;
    }
    cw_set_copy(ret_own, said);
    cw_set_remove(ret_own, epoch->items, UINT64_MAX);
    if (epoch->layout.mode == CW_MODE_SHARED)
        cw_set_intersect(ret_own, &epoch->parts[consumer].owned);
}

/* Leaves in `own` the items that every consumer has received (or consumed). */
static void keep_common(const struct cw_epoch *epoch, struct cw_set *own, bool consumed)
{
    for (uint32_t i = 0; i < epoch->layout.consumers; i++)
        cw_set_intersect(own, consumed ? &epoch->parts[i].consumed : &epoch->parts[i].received);
}

void cw_epoch_receive(struct cw_epoch *epoch, uint32_t consumer, const struct cw_set *said,
                      struct cw_set *ret_new)
{
    struct cw_set own = {0};
    own_of(epoch, consumer, said, &epoch->received, &own);
    if (epoch->layout.to_all && own.n > 0) {
        cw_set_add_all(&epoch->parts[consumer].received, &own);
        keep_common(epoch, &own, false);
    }
    cw_set_remove_all(&own, &epoch->received);
    cw_set_add_all(&epoch->received, &own);
    cw_set_remove_all(&epoch->leased, &own);
    cw_set_add_all(ret_new, &own);
    cw_set_fini(&own);
}

uint64_t cw_epoch_consume(struct cw_epoch *epoch, uint32_t consumer, const struct cw_set *said,
                          struct cw_set *ret_new)
{
    cw_epoch_receive(epoch, consumer, said, ret_new);
    struct cw_set own = {0};
    own_of(epoch, consumer, said, &epoch->consumed, &own);
    if (own.n > 0)
        epoch->dirty = true;
    if (epoch->layout.to_all) {
        cw_set_add_all(&epoch->parts[consumer].consumed, &own);
        keep_common(epoch, &own, true);
    } else if (epoch->layout.mode == CW_MODE_SHARED) {
        cw_set_remove_all(&epoch->parts[consumer].owned, &own);
    }
    cw_set_remove_all(&own, &epoch->consumed);
    uint64_t n = cw_set_count(&own);
    cw_set_add_all(&epoch->consumed, &own);
    cw_set_fini(&own);
    return n;
}

/* Sets ret_own to what the consumer has received and not consumed. Of items that are dealt out it looks at
 * these alone, wherever in the epoch they are. */
static void received_only(const struct cw_epoch *epoch, uint32_t consumer, struct cw_set *ret_own)
{
    struct dealt_left left = {UINT64_MAX, UINT64_MAX};
    struct cw_set open = {0};
    /* (What is consumed was received.) */
    if (cw_set_count(&epoch->received) == cw_set_count(&epoch->consumed))
        return;
    cw_set_copy(&open, &epoch->received);
    cw_set_remove_all(&open, &epoch->consumed);
    if (!cw_epoch_is_dealt(epoch)) {
        *ret_own = open;
        if (epoch->layout.mode == CW_MODE_SHARED)
            cw_set_intersect(ret_own, &epoch->parts[consumer].owned);
        return;
    }
    for (size_t i = 0; i < open.n; i++)
        own_dealt(epoch, consumer, open.v[i].lo, CW_MIN(open.v[i].hi, epoch->items), NULL, &left,
                  ret_own);
    cw_set_fini(&open);
}

bool cw_epoch_forget_received(struct cw_epoch *epoch, uint32_t consumer)
{
    struct cw_set own = {0};
    bool changed = epoch->layout.to_all;
    epoch->none_free_below = 0;
    if (epoch->layout.to_all) {
        struct cw_epoch_part *part = &epoch->parts[consumer];
        cw_set_copy(&part->received, &part->consumed);
        cw_set_intersect(&epoch->received, &part->consumed);
        cw_set_add_all(&epoch->received, &epoch->skipped);
    } else {
        received_only(epoch, consumer, &own);
        cw_set_remove_all(&epoch->received, &own);
        changed = own.n > 0;
        if (epoch->layout.mode == CW_MODE_SHARED) {
            changed = changed || epoch->parts[consumer].owned.n > 0;
            cw_set_clear(&epoch->parts[consumer].owned);
        }
    }
    cw_set_fini(&own);
    return changed;
}

/* Sets the position of one of several coordinated consumers. Items are taken back one by one, since
 * they alternate with those of others, but only below the highest received item. */
static void reset_dealt(struct cw_epoch *epoch, uint32_t consumer, uint64_t item,
                        const struct cw_set *beyond)
{
    uint64_t n = epoch->layout.consumers, prefix = cw_epoch_lowest_unconsumed(epoch);
    if (item > prefix) {
        struct cw_set own = {0};
        cw_epoch_items_of(epoch, consumer, prefix, item, &own);
        cw_set_add_all(&epoch->consumed, &own);
        cw_set_add_all(&epoch->received, &own);
        cw_set_fini(&own);
    }
    uint64_t top = epoch->received.n > 0 ? epoch->received.v[epoch->received.n - 1].hi : 0;
    struct cw_set back = {0};
    for (uint64_t i = item - item % n + consumer; i < top; i += n)
        if (i >= item)
            cw_set_add(&back, i, i + 1);
    cw_set_remove_all(&back, &epoch->skipped);
    cw_set_remove_all(&epoch->consumed, &back);
    cw_set_remove_all(&epoch->received, &back);
    cw_set_fini(&back);
    struct cw_set ahead = {0};
    if (beyond)
        own_of(epoch, consumer, beyond, &epoch->consumed, &ahead);
    cw_set_add_all(&epoch->consumed, &ahead);
    cw_set_add_all(&epoch->received, &ahead);
    cw_set_fini(&ahead);
}

void cw_epoch_start_at(struct cw_epoch *epoch, uint64_t item)
{
    cw_set_add(&epoch->consumed, 0, CW_MIN(item, epoch->items));
    cw_set_add(&epoch->received, 0, CW_MIN(item, epoch->items));
}

void cw_epoch_reset(struct cw_epoch *epoch, uint32_t consumer, uint64_t item,
                    const struct cw_set *beyond)
{
    item = CW_MIN(item, epoch->items);
    epoch->dirty = true;
    epoch->none_free_below = 0;
    if (cw_epoch_is_dealt(epoch)) {
        reset_dealt(epoch, consumer, item, beyond);
        return;
    }
    struct cw_set have = {0};
    if (item > 0)
        cw_set_add(&have, 0, item);
    if (beyond)
        cw_set_add_all(&have, beyond);
    cw_set_remove(&have, epoch->items, UINT64_MAX);
    cw_set_add_all(&have, &epoch->skipped);
    if (epoch->layout.to_all) {
        struct cw_epoch_part *part = &epoch->parts[consumer];
        cw_set_copy(&part->received, &have);
        cw_set_copy(&part->consumed, &have);
        keep_common(epoch, &have, true);
        cw_set_copy(&epoch->consumed, &have);
        cw_set_copy(&epoch->received, &part->received);
        keep_common(epoch, &epoch->received, false);
    } else {
        cw_set_copy(&epoch->consumed, &have);
        cw_set_copy(&epoch->received, &have);
    }
    cw_set_fini(&have);
}

void cw_epoch_skip(struct cw_epoch *epoch, const struct cw_set *items, struct cw_set *ret_new)
{
    struct cw_set fresh = {0};
    cw_set_copy(&fresh, items);
    cw_set_remove(&fresh, epoch->items, UINT64_MAX);
    if (fresh.n == 0) {
        cw_set_fini(&fresh);
        return;
    }
    cw_set_remove_all(&fresh, &epoch->consumed);
    cw_set_add_all(&epoch->skipped, &fresh);
    cw_set_add_all(&epoch->consumed, &fresh);
    cw_set_add_all(&epoch->received, &fresh);
    cw_set_remove_all(&epoch->leased, &fresh);
    for (uint32_t i = 0; epoch->parts && i < epoch->layout.consumers; i++) {
        cw_set_add_all(&epoch->parts[i].received, &fresh);
        cw_set_add_all(&epoch->parts[i].consumed, &fresh);
        cw_set_remove_all(&epoch->parts[i].owned, &fresh);
    }
    epoch->dirty = true;
    cw_set_add_all(ret_new, &fresh);
    cw_set_fini(&fresh);
}

uint64_t cw_epoch_next_of(const struct cw_epoch *epoch, uint32_t consumer)
{
    if (epoch->layout.to_all)
        return CW_MIN(cw_set_first_absent(&epoch->parts[consumer].consumed, 0), epoch->items);
    uint64_t item = cw_epoch_lowest_unconsumed(epoch);
    if (!cw_epoch_is_dealt(epoch))
        return item;
    uint64_t n = epoch->layout.consumers, at = item - item % n + consumer;
    at = at < item ? at + n : at;
    for (size_t i = cw_set_find(&epoch->consumed, at); at < epoch->items; at += n) {
        while (i < epoch->consumed.n && epoch->consumed.v[i].hi <= at)
            i++;
        if (i == epoch->consumed.n || epoch->consumed.v[i].lo > at)
            return at;
    }
    return epoch->items;
}

uint64_t cw_epoch_first_unreceived(const struct cw_epoch *epoch, uint32_t consumer)
{
    const struct cw_set *received =
        epoch->layout.to_all ? &epoch->parts[consumer].received : &epoch->received;
    return CW_MIN(cw_set_first_absent(received, 0), epoch->items);
}

uint64_t cw_epoch_may_hedge(const struct cw_epoch *epoch)
{
    uint64_t most = 1 + (epoch->given_n - epoch->hedged_n) / CW_HEDGE_SHARE;
    return most - CW_MIN(most, epoch->hedged_n);
}

void cw_epoch_free(struct cw_epoch *epoch, const struct cw_set *items)
{
    if (items->n == 0)
        return;
    cw_set_remove_all(&epoch->leased, items);
    epoch->none_free_below = CW_MIN(epoch->none_free_below, items->v[0].lo);
}

/* The sets of a job with a large fleet have thousands of intervals and are searched at each
 * message. So the place where a search ended is kept (none_free_below), and the next one begins
 * there. */
bool cw_epoch_free_run(struct cw_epoch *epoch, uint64_t from, uint64_t limit, uint64_t max,
                       struct cw_interval *ret_run)
{
    limit = CW_MIN(limit, epoch->items);
    uint64_t lo = CW_MAX(from, epoch->none_free_below);
    for (;;) {
        uint64_t next =
            cw_set_first_absent(&epoch->leased, cw_set_first_absent(&epoch->received, lo));
        if (next == lo)
            break;
        lo = next;
    }
    if (from <= epoch->none_free_below)
        epoch->none_free_below = lo;
    if (lo >= limit || max == 0)
        return false;
    uint64_t hi = limit - lo > max ? lo + max : limit, next;
    if (cw_set_first_present(&epoch->received, lo, &next))
        hi = CW_MIN(hi, next);
    if (cw_set_first_present(&epoch->leased, lo, &next))
        hi = CW_MIN(hi, next);
    *ret_run = (struct cw_interval){lo, hi};
    return true;
}
