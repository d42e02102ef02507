/* SPDX-License-Identifier: Apache-2.0 */
#include "client/delivery/ack_sets.h"

#include "base/mem.h"
#include "wire/wire.h"

/* Local numbers to items: a run of ours stands for all between, of which only ours are meant
 * (job.proto). */
static void to_items(const struct cw_order_conf *conf, const struct cw_set *local,
                     struct cw_set *ret_items)
{
    for (size_t i = 0; i < local->n; i++)
        cw_set_add(ret_items, cw_order_item(conf, local->v[i].lo),
                   cw_order_item(conf, local->v[i].hi - 1) + 1);
}

static void add_set(Cachew__V1__EpochSet ***sets, size_t *n, const struct cw_order_conf *conf,
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

static void add_map(Cachew__V1__EpochSet ***sets, size_t *n, const struct cw_order_conf *conf,
                    const struct cw_map *map)
{
    uint64_t epoch;
    void *set;
    for (size_t i = 0; cw_map_next(map, &i, &epoch, &set);)
        add_set(sets, n, conf, epoch, set);
}

void cw_report_news(struct cw_report *report, struct cw_deliver *deliver)
{
    add_map(&report->received, &report->received_n, &deliver->order.conf, &deliver->received);
    add_map(&report->consumed, &report->consumed_n, &deliver->order.conf, &deliver->consumed);
    cw_sets_clear(&deliver->received);
    cw_sets_clear(&deliver->consumed);
}

void cw_report_all(struct cw_report *report, struct cw_deliver *deliver)
{
    const struct cw_order *order = &deliver->order;
    uint64_t first = deliver->pos.epoch, epoch;
    void *state;
    struct cw_set whole = {0};
    if (order->mine > 0)
        cw_set_add(&whole, 0, order->mine);
    for (epoch = first; epoch < order->epoch; epoch++)
        add_set(&report->received, &report->received_n, &order->conf, epoch, &whole);
    add_set(&report->received, &report->received_n, &order->conf, order->epoch,
            cw_order_received(order, order->epoch));
    for (size_t i = 0; cw_map_next(&order->epochs, &i, &epoch, &state);)
        if (epoch > order->epoch)
            add_set(&report->received, &report->received_n, &order->conf, epoch,
                    cw_order_received(order, epoch));
    add_set(&report->consumed, &report->consumed_n, &order->conf, first,
            cw_map_get(&deliver->all_consumed, first));
    cw_set_fini(&whole);
    cw_sets_clear(&deliver->received);
    cw_sets_clear(&deliver->consumed);
}

static void free_sets(Cachew__V1__EpochSet **sets, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        cw_mem_free(sets[i]->items);
        cw_mem_free(sets[i]);
    }
    cw_mem_free(sets);
}

void cw_report_fini(struct cw_report *report)
{
    free_sets(report->received, report->received_n);
    free_sets(report->consumed, report->consumed_n);
    *report = (struct cw_report){0};
}

void cw_report_position(const struct cw_deliver *deliver, Cachew__V1__Position *ret_position)
{
    struct cw_pos pos = deliver->pos;
    if (deliver->order.conf.unordered) { /* the first item not consumed */
        const struct cw_set *consumed = cw_map_get(&deliver->all_consumed, pos.epoch);
        uint64_t local = consumed ? cw_set_first_absent(consumed, 0) : 0;
        pos.item = local >= deliver->order.mine ? deliver->order.conf.items
                                                : local * deliver->order.conf.consumers;
        pos.batches = pos.item;
    }
    cachew__v1__position__init(ret_position);
    ret_position->epoch = pos.epoch;
    ret_position->item = pos.item;
    ret_position->row = pos.row;
    ret_position->rows = pos.rows;
    ret_position->batches = pos.batches;
}
