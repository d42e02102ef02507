/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/index/block_order.h"

#include "base/hash.h"
#include "base/mem.h"
#include "base/thread.h"

/* Orders that are kept: of the epoch that ends, the one that begins, and of repetitions. */
enum { ORDERS = 4 };
/* Distinguish the keys of the several permutations of one operator. */
enum { KEY_BLOCKS = 5, KEY_WINDOW = 6 };

/* The order of the blocks in one pass over the data. It is not changed once it is made. */
struct order {
    uint64_t seed, tag, epoch, rep;
    uint32_t *block;   /* which block is the k-th */
    int64_t *begins;   /* where the k-th begins in this order, and behind the last the end */
    uint32_t *windows; /* the first of each window, by its place in this order, and the end */
    size_t windows_n;
    size_t users;  /* guarded by the mutex */
    uint64_t used; /* guarded by the mutex: when it was used last */
};
struct cw_block_orders {
    struct cw_blocks blocks;
    int64_t window;
    struct cw_mutex mutex; /* guards what follows */
    struct order *orders[ORDERS];
    uint64_t clock;
};

struct cw_block_orders *cw_block_orders_new(struct cw_blocks *blocks, int64_t window)
{
    struct cw_block_orders *orders = CW_NEW(struct cw_block_orders);
    orders->blocks = *blocks;
    orders->window = window;
    *blocks = (struct cw_blocks){0};
    cw_mutex_init(&orders->mutex);
    return orders;
}

static void order_free(struct order *order)
{
    if (!order)
        return;
    cw_mem_free(order->block);
    cw_mem_free(order->begins);
    cw_mem_free(order->windows);
    cw_mem_free(order);
}

void cw_block_orders_free(struct cw_block_orders *orders)
{
    if (!orders)
        return;
    for (size_t i = 0; i < ORDERS; i++)
        order_free(orders->orders[i]);
    cw_blocks_fini(&orders->blocks);
    cw_mutex_fini(&orders->mutex);
    cw_mem_free(orders);
}

const struct cw_blocks *cw_block_orders_blocks(const struct cw_block_orders *orders)
{
    return &orders->blocks;
}

/* ---- the order of an epoch ---- */

/* Whether a window that begins with block `first` is full with what stands before block k. */
static bool is_full(const struct cw_block_orders *o, const struct order *order, size_t first,
                    size_t k)
{
    return o->window > 0 ? order->begins[k] - order->begins[first] >= o->window
                         : k - first >= CW_BLOCKS_OF_WINDOW;
}

static void cut_windows(const struct cw_block_orders *o, struct order *order)
{
    const size_t n = o->blocks.n;
    size_t first = 0;
    for (size_t k = 1; k < n; k++)
        if (is_full(o, order, first, k)) {
            first = k;
            order->windows[++order->windows_n] = (uint32_t)k;
        }
    order->windows[++order->windows_n] = (uint32_t)n;
}

static struct order *order_new(const struct cw_block_orders *o, const struct cw_at *at,
                               uint64_t seed)
{
    const size_t n = o->blocks.n;
    struct order *order = CW_NEW(struct order);
    struct cw_perm perm;
    *order = (struct order){.seed = seed, .tag = at->tag, .epoch = at->epoch, .rep = at->rep};
    order->block = CW_NEW_ARRAY(uint32_t, n);
    order->begins = CW_NEW_ARRAY(int64_t, n + 1);
    order->windows = CW_NEW_ARRAY(uint32_t, n + 1);
    cw_perm_init(&perm, n, seed, at->tag + cw_mix64(KEY_BLOCKS), at->epoch, at->rep);
    for (size_t k = 0; k < n; k++) {
        order->block[k] = (uint32_t)cw_perm_at(&perm, k);
        order->begins[k + 1] = order->begins[k] + cw_blocks_length(&o->blocks, order->block[k]);
    }
    cut_windows(o, order);
    return order;
}

static bool is_of(const struct order *order, const struct cw_at *at, uint64_t seed)
{
    return order && order->epoch == at->epoch && order->rep == at->rep && order->seed == seed &&
           order->tag == at->tag;
}

/* Where a new one is put: an empty place, or that of the one that nobody uses and that was used longest ago.
 * ORDERS: all are in use. Called with the mutex held. */
static size_t place_for_new(const struct cw_block_orders *o)
{
    size_t place = ORDERS;
    for (size_t i = 0; i < ORDERS; i++) {
        if (!o->orders[i])
            return i;
        if (o->orders[i]->users == 0 &&
            (place == ORDERS || o->orders[i]->used < o->orders[place]->used))
            place = i;
    }
    return place;
}

/* Returns the order of an epoch, which is given back by order_put. */
static struct order *order_get(struct cw_block_orders *o, const struct cw_at *at, uint64_t seed)
{
    struct order *order = NULL;
    cw_mutex_lock(&o->mutex);
    for (size_t i = 0; i < ORDERS && !order; i++)
        if (is_of(o->orders[i], at, seed))
            order = o->orders[i];
    if (!order) {
        const size_t place = place_for_new(o);
        order = order_new(o, at, seed);
        if (place < ORDERS) {
            order_free(o->orders[place]);
            o->orders[place] = order;
        }
    }
    order->users++;
    order->used = ++o->clock;
    cw_mutex_unlock(&o->mutex);
    return order;
}

static void order_put(struct cw_block_orders *o, struct order *order)
{
    bool is_kept = false;
    cw_mutex_lock(&o->mutex);
    for (size_t i = 0; i < ORDERS; i++)
        is_kept = is_kept || o->orders[i] == order;
    order->users--;
    cw_mutex_unlock(&o->mutex);
    if (!is_kept) /* all places were in use, so nobody else has found it */
        order_free(order);
}

/* ---- positions ---- */

/* Returns the window with a position. */
static size_t window_of(const struct order *order, int64_t pos)
{
    size_t lo = 0, hi = order->windows_n;
    while (hi - lo > 1) {
        const size_t mid = lo + (hi - lo) / 2;
        if (order->begins[order->windows[mid]] <= pos)
            lo = mid;
        else
            hi = mid;
    }
    return lo;
}

/* Returns the place in the order of the block with a position, which is one of [lo, hi). */
static size_t block_of(const struct order *order, size_t lo, size_t hi, int64_t pos)
{
    while (hi - lo > 1) {
        const size_t mid = lo + (hi - lo) / 2;
        if (order->begins[mid] <= pos)
            lo = mid;
        else
            hi = mid;
    }
    return lo;
}

/* Maps positions that lie in the window of the first of them, and returns how many these are. */
static size_t map_window(const struct cw_blocks *blocks, const struct order *order, int64_t *pos,
                         size_t n)
{
    const size_t w = window_of(order, pos[0]), first = order->windows[w],
                 past = order->windows[w + 1];
    const int64_t begin = order->begins[first], end = order->begins[past];
    struct cw_perm perm;
    size_t mine = 0;
    for (; mine < n && pos[mine] >= begin && pos[mine] < end; mine++)
        pos[mine] -= begin;
    cw_perm_init(&perm, (uint64_t)(end - begin), order->seed,
                 order->tag + cw_mix64(KEY_WINDOW + (uint64_t)begin), order->epoch, order->rep);
    cw_perm_run(&perm, (uint64_t *)pos, mine);
    for (size_t i = 0; i < mine; i++) {
        const int64_t at = begin + pos[i];
        const size_t k = block_of(order, first, past, at);
        pos[i] = blocks->begins[order->block[k]] + (at - order->begins[k]);
    }
    return mine;
}

void cw_block_orders_map(struct cw_block_orders *orders, const struct cw_at *at, uint64_t seed,
                         int64_t *pos, size_t n)
{
    struct order *order = order_get(orders, at, seed);
    for (size_t i = 0; i < n;)
        i += map_window(&orders->blocks, order, pos + i, n - i);
    order_put(orders, order);
}
