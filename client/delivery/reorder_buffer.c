/* SPDX-License-Identifier: Apache-2.0 */
#include "client/delivery/reorder_buffer.h"

#include "base/mem.h"

/* No window reaches further (the dispatcher has 64 epochs open), so a peer that sends such an item is
 * in error. */
#define EPOCHS_AHEAD_MAX 1024

struct waiting {
    uint64_t local;
    void *entry;
};
struct cw_reorder_epoch {
    /* The items that have come, that will not come, or that were consumed before. */
    struct cw_set got;
    struct cw_set gone; /* The items of `got` that will not come. */
    /* Ordered jobs: the entries that wait for earlier ones, by local item number. */
    struct cw_map held;
    struct waiting *fifo; /* Unordered jobs: entries in the order of their arrival. */
    size_t fifo_first, fifo_n, fifo_cap;
    bool cut;
};

uint64_t cw_reorder_local(const struct cw_reorder_conf *conf, uint64_t item)
{
    if (item <= conf->consumer)
        return 0;
    return (item - conf->consumer - 1) / conf->consumers + 1;
}

uint64_t cw_reorder_item(const struct cw_reorder_conf *conf, uint64_t local)
{
    return local * conf->consumers + conf->consumer;
}

static struct cw_reorder_epoch *epoch_get(struct cw_reorder_buffer *order, uint64_t epoch)
{
    struct cw_reorder_epoch *state = cw_map_get(&order->epochs, epoch);
    if (!state) {
        state = CW_NEW(struct cw_reorder_epoch);
        cw_map_set(&order->epochs, epoch, state);
    }
    return state;
}

/* Marks local numbers [lo, hi) as got. Returns how many were new. */
static uint64_t mark(struct cw_reorder_epoch *state, uint64_t lo, uint64_t hi)
{
    uint64_t before = cw_set_count(&state->got);
    cw_set_add(&state->got, lo, hi);
    return cw_set_count(&state->got) - before;
}

void cw_reorder_init(struct cw_reorder_buffer *order, const struct cw_reorder_conf *conf,
                     uint64_t epoch, uint64_t item, const struct cw_set *consumed)
{
    *order = (struct cw_reorder_buffer){.conf = *conf, .epoch = epoch};
    if (order->conf.consumers == 0)
        order->conf.consumers = 1;
    order->mine = cw_reorder_local(&order->conf, order->conf.items);
    order->next = CW_MIN(cw_reorder_local(&order->conf, item), order->mine);
    struct cw_reorder_epoch *state = epoch_get(order, epoch);
    if (order->next > 0)
        mark(state, 0, order->next);
    for (size_t i = 0; consumed && i < consumed->n; i++) {
        uint64_t lo = cw_reorder_local(&order->conf, consumed->v[i].lo),
                 hi = cw_reorder_local(&order->conf, consumed->v[i].hi);
        hi = CW_MIN(hi, order->mine);
        if (lo < hi)
            mark(state, lo, hi);
    }
    /* Items that were consumed before are not given out again. An ordered job passes over them like
     * items that will not come, but without a GONE. */
    if (!order->conf.unordered)
        order->next = CW_MIN(cw_set_first_absent(&state->got, order->next), order->mine);
}

static void epoch_free(struct cw_reorder_buffer *order, struct cw_reorder_epoch *state,
                       cw_reorder_free_fn *free_entry, void *arg)
{
    uint64_t key;
    void *entry;
    for (size_t i = 0; cw_map_next(&state->held, &i, &key, &entry);) {
        free_entry(arg, entry);
        order->held--;
    }
    for (size_t i = 0; i < state->fifo_n; i++) {
        free_entry(arg, state->fifo[state->fifo_first + i].entry);
        order->held--;
    }
    cw_map_fini(&state->held);
    cw_mem_free(state->fifo);
    cw_set_fini(&state->got);
    cw_set_fini(&state->gone);
    cw_mem_free(state);
}

void cw_reorder_fini(struct cw_reorder_buffer *order, cw_reorder_free_fn *free_entry, void *arg)
{
    uint64_t key;
    void *state;
    for (size_t i = 0; cw_map_next(&order->epochs, &i, &key, &state);)
        epoch_free(order, state, free_entry, arg);
    cw_map_fini(&order->epochs);
    *order = (struct cw_reorder_buffer){0};
}

bool cw_reorder_is_over(const struct cw_reorder_buffer *order)
{
    return order->conf.epochs != 0 && order->epoch >= order->conf.epochs;
}

bool cw_reorder_is_open(const struct cw_reorder_buffer *order, uint64_t epoch)
{
    return epoch >= order->epoch && epoch - order->epoch <= EPOCHS_AHEAD_MAX &&
           !cw_reorder_is_over(order);
}

static void fifo_push(struct cw_reorder_epoch *state, uint64_t local, void *entry)
{
    if (state->fifo_n == 0)
        state->fifo_first = 0;
    size_t end = state->fifo_first + state->fifo_n;
    CW_GROW(state->fifo, end, state->fifo_cap);
    state->fifo[end] = (struct waiting){local, entry};
    state->fifo_n++;
}

int cw_reorder_put(struct cw_reorder_buffer *order, uint64_t epoch, uint64_t item, void *entry,
                   struct cw_err *err)
{
    const struct cw_reorder_conf *conf = &order->conf;
    bool known = item < conf->items && (conf->epochs == 0 || epoch < conf->epochs) &&
                 item % conf->consumers == conf->consumer;
    if (!known || (epoch > order->epoch && epoch - order->epoch > EPOCHS_AHEAD_MAX))
        return cw_err_set(err, CW_E_CORRUPT,
                          "epoch %llu, item %llu is not of this job and consumer",
                          (unsigned long long)epoch, (unsigned long long)item);
    if (epoch < order->epoch || cw_reorder_is_over(order))
        return 0;
    struct cw_reorder_epoch *state = epoch_get(order, epoch);
    uint64_t local = item / conf->consumers;
    if (cw_set_has(&state->got, local))
        return 0;
    cw_set_add(&state->got, local, local + 1);
    order->held++;
    if (conf->unordered)
        fifo_push(state, local, entry);
    else
        cw_map_set(&state->held, local, entry);
    return 1;
}

void cw_reorder_held(const struct cw_reorder_buffer *order, uint64_t epoch,
                     struct cw_set *ret_local)
{
    const struct cw_reorder_epoch *state = cw_map_get(&order->epochs, epoch);
    uint64_t local;
    void *entry;
    for (size_t i = 0; state && i < state->fifo_n; i++) {
        local = state->fifo[state->fifo_first + i].local;
        cw_set_add(ret_local, local, local + 1);
    }
    for (size_t i = 0; state && cw_map_next(&state->held, &i, &local, &entry);)
        cw_set_add(ret_local, local, local + 1);
}

void cw_reorder_local_set(const struct cw_reorder_buffer *order, const struct cw_set *items,
                          struct cw_set *ret_local)
{
    for (size_t i = 0; i < items->n; i++) {
        uint64_t lo = cw_reorder_local(&order->conf, items->v[i].lo),
                 hi = cw_reorder_local(&order->conf, items->v[i].hi);
        cw_set_add(ret_local, lo, CW_MIN(hi, order->mine));
    }
}

uint64_t cw_reorder_skip(struct cw_reorder_buffer *order, uint64_t epoch,
                         const struct cw_set *items)
{
    if (!cw_reorder_is_open(order, epoch))
        return 0;
    struct cw_set fresh = {0};
    struct cw_reorder_epoch *state = epoch_get(order, epoch);
    cw_reorder_local_set(order, items, &fresh);
    cw_set_remove_all(&fresh, &state->got); /* Only items that have not come are skipped. */
    cw_set_add_all(&state->gone, &fresh);
    cw_set_add_all(&state->got, &fresh);
    uint64_t skipped = cw_set_count(&fresh);
    cw_set_fini(&fresh);
    return skipped;
}

static struct cw_reorder_out take_end(struct cw_reorder_buffer *order,
                                      struct cw_reorder_epoch *state)
{
    struct cw_reorder_out out = {
        .kind = CW_REORDER_END, .epoch = order->epoch, .item = order->conf.items};
    cw_map_remove(&order->epochs, order->epoch);
    epoch_free(order, state, NULL, NULL);
    order->epoch++;
    order->next = 0;
    return out;
}

static struct cw_reorder_out take_unordered(struct cw_reorder_buffer *order,
                                            struct cw_reorder_epoch *state)
{
    if (state->fifo_n == 0)
        return (struct cw_reorder_out){.kind = CW_REORDER_NONE};
    struct waiting first = state->fifo[state->fifo_first++];
    state->fifo_n--;
    order->held--;
    return (struct cw_reorder_out){.kind = CW_REORDER_ITEM,
                                   .epoch = order->epoch,
                                   .item = cw_reorder_item(&order->conf, first.local),
                                   .entry = first.entry};
}

static struct cw_reorder_out take_ordered(struct cw_reorder_buffer *order,
                                          struct cw_reorder_epoch *state)
{
    struct cw_reorder_out out = {.epoch = order->epoch,
                                 .item = cw_reorder_item(&order->conf, order->next)};
    out.entry = cw_map_remove(&state->held, order->next);
    if (out.entry) {
        out.kind = CW_REORDER_ITEM;
        order->held--;
    } else if (cw_set_has(&state->gone, order->next)) {
        out.kind = CW_REORDER_GONE;
        out.n = cw_set_first_absent(&state->gone, order->next) - order->next;
        order->next += out.n;
        return out;
    } else if (cw_set_has(&state->got, order->next)) {
        /* The item was consumed before this session began. */
        order->next = CW_MIN(cw_set_first_absent(&state->got, order->next), order->mine);
        return cw_reorder_take(order);
    } else {
        return out;
    }
    order->next++;
    return out;
}

struct cw_reorder_out cw_reorder_take(struct cw_reorder_buffer *order)
{
    if (cw_reorder_is_over(order))
        return (struct cw_reorder_out){.kind = CW_REORDER_NONE};
    struct cw_reorder_epoch *state = epoch_get(order, order->epoch);
    bool drained = order->conf.unordered
                       ? cw_set_count(&state->got) == order->mine && state->fifo_n == 0
                       : order->next >= order->mine;
    if (state->cut || drained)
        return take_end(order, state);
    return order->conf.unordered ? take_unordered(order, state) : take_ordered(order, state);
}

void cw_reorder_end_epoch(struct cw_reorder_buffer *order, cw_reorder_free_fn *free_entry,
                          void *arg)
{
    if (cw_reorder_is_over(order))
        return;
    struct cw_reorder_epoch *old = cw_map_remove(&order->epochs, order->epoch);
    if (old)
        epoch_free(order, old, free_entry, arg);
    struct cw_reorder_epoch *state = epoch_get(order, order->epoch);
    if (order->mine > 0)
        mark(state, 0, order->mine);
    state->cut = true;
}

const struct cw_set *cw_reorder_received(const struct cw_reorder_buffer *order, uint64_t epoch)
{
    const struct cw_reorder_epoch *state = cw_map_get(&order->epochs, epoch);
    return state ? &state->got : NULL;
}

uint64_t cw_reorder_first_missing(const struct cw_reorder_buffer *order)
{
    const struct cw_reorder_epoch *state;
    uint64_t epoch = order->epoch, local = 0;
    while (order->mine > 0 && (state = cw_map_get(&order->epochs, epoch)) &&
           (local = cw_set_first_absent(&state->got, 0)) >= order->mine) {
        epoch++;
        local = 0;
    }
    return epoch * order->mine + local;
}
