/* SPDX-License-Identifier: Apache-2.0 */
#include "client/delivery/ack_sets.h"

#include "base/mem.h"
#include "client/delivery/epoch_sets.h"
#include "wire/wire.h"

/* Converts local numbers to items. A run of this consumer's items is sent as one interval, which
 * also covers the items of other consumers between them. The dispatcher uses only this consumer's
 * (job.proto). */
static void to_items(const struct cw_reorder_conf *conf, const struct cw_set *local,
                     struct cw_set *ret_items)
{
    for (size_t i = 0; i < local->n; i++)
        cw_set_add(ret_items, cw_reorder_item(conf, local->v[i].lo),
                   cw_reorder_item(conf, local->v[i].hi - 1) + 1);
}

static void add_set(Cachew__V1__EpochSet ***sets, size_t *n, const struct cw_reorder_conf *conf,
                    uint64_t epoch, const struct cw_set *local)
{
    Cachew__V1__EpochSet *set = CW_NEW(Cachew__V1__EpochSet);
    struct cw_set items = {0};
    cachew__v1__epoch_set__init(set);
    set->epoch = epoch;
    if (local)
        to_items(conf, local, &items);
    set->items = cw_wire_set_to(&items, &set->n_items);
    cw_set_fini(&items);
    *sets = cw_mem_grow(*sets, *n + 1, sizeof(**sets));
    (*sets)[(*n)++] = set;
}

static void add_map(Cachew__V1__EpochSet ***sets, size_t *n, const struct cw_reorder_conf *conf,
                    const struct cw_map *map)
{
    uint64_t epoch;
    void *set;
    for (size_t i = 0; cw_map_next(map, &i, &epoch, &set);)
        add_set(sets, n, conf, epoch, set);
}

void cw_ack_sets_take_new(struct cw_ack_sets *sets, struct cw_ledger *ledger)
{
    add_map(&sets->received, &sets->received_n, &ledger->reorder.conf, &ledger->received);
    add_map(&sets->consumed, &sets->consumed_n, &ledger->reorder.conf, &ledger->consumed);
    cw_epoch_sets_clear(&ledger->received);
    cw_epoch_sets_clear(&ledger->consumed);
}

/* What another consumer of a shared job has is said to be consumed, too: a dispatcher that died before
 * it had stored that may think that this one has it, and would wait for it. */
static void add_over(struct cw_ack_sets *sets, const struct cw_ledger *ledger, uint64_t epoch)
{
    struct cw_set over = {0};
    cw_ledger_over(ledger, epoch, &over);
    add_set(&sets->consumed, &sets->consumed_n, &ledger->reorder.conf, epoch, &over);
    cw_set_fini(&over);
}

static void add_consumed(struct cw_ack_sets *sets, const struct cw_ledger *ledger)
{
    uint64_t first = ledger->pos.epoch, epoch;
    void *state;
    add_set(&sets->consumed, &sets->consumed_n, &ledger->reorder.conf, first,
            cw_map_get(&ledger->all_consumed, first));
    for (size_t i = 0; cw_map_next(&ledger->all_consumed, &i, &epoch, &state);)
        if (epoch > first)
            add_set(&sets->consumed, &sets->consumed_n, &ledger->reorder.conf, epoch, state);
}

void cw_ack_sets_all(struct cw_ack_sets *sets, struct cw_ledger *ledger)
{
    const struct cw_reorder_buffer *order = &ledger->reorder;
    uint64_t first = ledger->pos.epoch, epoch;
    void *state;
    struct cw_set whole = {0};
    if (order->mine > 0)
        cw_set_add(&whole, 0, order->mine);
    for (epoch = first; epoch < order->epoch; epoch++)
        add_set(&sets->received, &sets->received_n, &order->conf, epoch, &whole);
    add_set(&sets->received, &sets->received_n, &order->conf, order->epoch,
            cw_reorder_received(order, order->epoch));
    for (size_t i = 0; cw_map_next(&order->epochs, &i, &epoch, &state);)
        if (epoch > order->epoch)
            add_set(&sets->received, &sets->received_n, &order->conf, epoch,
                    cw_reorder_received(order, epoch));
    for (size_t i = 0; ledger->job->mode == CW_MODE_SHARED && i < sets->received_n; i++)
        add_over(sets, ledger, sets->received[i]->epoch);
    if (ledger->job->mode != CW_MODE_SHARED)
        add_consumed(sets, ledger);
    cw_set_fini(&whole);
    cw_epoch_sets_clear(&ledger->received);
    cw_epoch_sets_clear(&ledger->consumed);
}

static void free_sets(Cachew__V1__EpochSet **sets, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        cw_mem_free(sets[i]->items);
        cw_mem_free(sets[i]);
    }
    cw_mem_free(sets);
}

void cw_ack_sets_fini(struct cw_ack_sets *sets)
{
    free_sets(sets->received, sets->received_n);
    free_sets(sets->consumed, sets->consumed_n);
    *sets = (struct cw_ack_sets){0};
}

void cw_ack_sets_position(const struct cw_ledger *ledger, Cachew__V1__Position *ret_position)
{
    struct cw_pos pos = ledger->pos;
    if (ledger->reorder.conf.unordered) { /* The position is the first item that is not consumed. */
        const struct cw_set *consumed = cw_map_get(&ledger->all_consumed, pos.epoch);
        uint64_t local = consumed ? cw_set_first_absent(consumed, 0) : 0;
        pos.item = local >= ledger->reorder.mine ? ledger->reorder.conf.items
                                                 : local * ledger->reorder.conf.consumers;
        pos.batches = pos.item;
    }
    cachew__v1__position__init(ret_position);
    ret_position->epoch = pos.epoch;
    ret_position->item = pos.item;
    ret_position->row = pos.row;
    ret_position->rows = pos.rows;
    ret_position->batches = pos.batches;
}
