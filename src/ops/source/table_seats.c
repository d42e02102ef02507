/* SPDX-License-Identifier: Apache-2.0 */
/* Seats of threads at sources of tables: the slabs that a thread used last, so that most rows need no look into
 * the cache, whose mutex all threads share. */
#include <stdatomic.h>

#include "base/mem.h"
#include "ops/source/held.h"
#include "ops/source/table_rows_int.h"

static void drop(struct cw_table_rows *r, struct cw_table_pins *pins, unsigned i)
{
    cw_table_cache_put(r->cache, pins->things[i]);
    pins->things[i] = NULL;
    pins->slabs[i] = (struct cw_table_slab){0};
    pins->begins[i] = pins->ends[i] = 0;
}

/* Tells the cache what a seat has memory for. Returns whether that is more than before. */
static bool count(struct cw_table_rows *r, struct cw_table_seat *seat)
{
    const size_t before = seat->counted;
    size_t now = seat->columns ? r->fields->columns_n * sizeof(*seat->columns) : 0;
    now += seat->order ? sizeof(*seat->order) : 0;
    now += seat->stage ? sizeof(*seat->stage) + seat->stage->cap : 0;
    if (now == before)
        return false;
    cw_table_cache_count(r->cache, (int64_t)now - (int64_t)before);
    seat->counted = now;
    return now > before;
}

/* Drops what a seat keeps, and its memory. */
static void clear(struct cw_table_rows *r, struct cw_table_seat *seat)
{
    for (size_t k = 0; seat->columns && k < r->fields->columns_n; k++)
        for (unsigned p = 0; p < CW_TABLE_PINS; p++)
            drop(r, &seat->columns[k], p);
    cw_mem_free(seat->columns);
    cw_mem_free(seat->order);
    if (seat->stage)
        cw_mem_free(seat->stage->bytes);
    cw_mem_free(seat->stage);
    seat->columns = NULL;
    seat->order = NULL;
    seat->stage = NULL;
    (void)count(r, seat);
}

void cw_table_seats_fini(struct cw_table_rows *r)
{
    for (size_t i = 0; i < CW_TABLE_SEATS; i++)
        clear(r, &r->seats[i]);
}

void cw_table_rows_let_go(void *arg)
{
    struct cw_table_rows *r = arg;
    for (size_t i = 0; i < CW_TABLE_SEATS; i++) {
        struct cw_table_seat *seat = &r->seats[i];
        atomic_store_explicit(&seat->must_clear, true, memory_order_relaxed);
        if (atomic_exchange_explicit(&seat->is_taken, true, memory_order_acquire))
            continue;
        atomic_store_explicit(&seat->must_clear, false, memory_order_relaxed);
        clear(r, seat);
        atomic_store_explicit(&seat->is_taken, false, memory_order_release);
    }
}

struct cw_table_seat *cw_table_seat_take(struct cw_table_rows *r)
{
    static _Atomic(unsigned) threads;
    static _Thread_local unsigned mine; /* number of this thread, from 1 */
    struct cw_table_seat *seat;
    if (mine == 0)
        mine = atomic_fetch_add(&threads, 1) + 1;
    unsigned i = mine;
    do
        seat = &r->seats[i++ % CW_TABLE_SEATS];
    while (atomic_exchange_explicit(&seat->is_taken, true, memory_order_acquire));
    if (!seat->columns)
        seat->columns = CW_NEW_ARRAY(struct cw_table_pins, r->fields->columns_n);
    return seat;
}

void cw_table_seat_leave(struct cw_table_rows *r, struct cw_table_seat *seat)
{
    const bool is_more = count(r, seat);
    if (CW_UNLIKELY(atomic_load_explicit(&seat->must_clear, memory_order_relaxed))) {
        atomic_store_explicit(&seat->must_clear, false, memory_order_relaxed);
        clear(r, seat);
    }
    atomic_store_explicit(&seat->is_taken, false, memory_order_release);
    if (is_more)
        cw_held_keep_max();
}

/* Keeps a slab at hand. While slabs that are kept exceed the budget of the cache, each column keeps but one. */
static void pin(struct cw_table_rows *r, struct cw_table_pins *pins,
                const struct cw_table_slab *slab, struct cw_table_thing *thing)
{
    const unsigned i = pins->next;
    drop(r, pins, i);
    for (unsigned k = 0; cw_table_cache_is_over(r->cache) && k < CW_TABLE_PINS; k++)
        drop(r, pins, k);
    pins->things[i] = thing;
    pins->slabs[i] = *slab;
    pins->begins[i] = slab->begin;
    pins->ends[i] = slab->end;
    pins->last = i;
    pins->next = (i + 1) % CW_TABLE_PINS;
}

/* Makes the pin that has a position the last one, if there is any. */
static bool find_pin(struct cw_table_pins *pins, int64_t pos)
{
    if (pos >= pins->begins[pins->last] && pos < pins->ends[pins->last])
        return true;
    for (unsigned i = 0; i < CW_TABLE_PINS; i++)
        if (pos >= pins->begins[i] && pos < pins->ends[i]) {
            pins->last = i;
            return true;
        }
    return false;
}

int cw_table_seat_find(struct cw_table_rows *r, struct cw_table_seat *seat, size_t column,
                       int64_t pos, const struct cw_table_slab **ret_slab, struct cw_err *err)
{
    struct cw_table_pins *pins = &seat->columns[column];
    if (!find_pin(pins, pos)) {
        struct cw_table_slab slab;
        struct cw_table_thing *thing = NULL;
        int rc = r->find(r->arg, column, pos, &slab, &thing, err);
        if (rc < 0)
            return rc;
        CW_ASSERT(cw_table_slab_has(&slab, pos));
        pin(r, pins, &slab, thing);
    }
    *ret_slab = &pins->slabs[pins->last];
    return 0;
}
