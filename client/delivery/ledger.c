/* SPDX-License-Identifier: Apache-2.0 */
#include "client/delivery/ledger.h"

#include <stdatomic.h>
#include "base/mem.h"
#include "client/transport/recvpool.h"

#define ENDS_OPEN_MAX 16 /* empty epochs without end must not fill the queue */

struct cw_record {
    uint64_t serial;        /* settled with this entry */
    uint64_t epoch, lo, hi; /* local numbers of the items it finishes; lo == hi: none */
    struct cw_pos after;
    bool has_pos, end;
    struct cw_charge charge; /* returned when the entry is given out */
    uint64_t bytes;          /* of a joined batch: its memory is ours */
};

/* Frees what was put in: its memory is not used any more. */
static void drop(void *arg, void *entry)
{
    struct cw_deliver *deliver = arg;
    struct cw_received *received = entry;
    if (received)
        deliver->buffered -= received->charge.cost;
    cw_received_free(received);
}

/* ---- sets by epoch ---- */

struct cw_set *cw_sets_get(struct cw_map *sets, uint64_t epoch)
{
    struct cw_set *set = cw_map_get(sets, epoch);
    if (!set) {
        set = CW_NEW(struct cw_set);
        cw_map_set(sets, epoch, set);
    }
    return set;
}

void cw_sets_clear(struct cw_map *sets)
{
    uint64_t epoch;
    void *set;
    for (size_t i = 0; cw_map_next(sets, &i, &epoch, &set);) {
        cw_set_fini(set);
        cw_mem_free(set);
    }
    cw_map_fini(sets);
    *sets = (struct cw_map){0};
}

static void forget_epoch(struct cw_map *sets, uint64_t epoch)
{
    struct cw_set *set = cw_map_remove(sets, epoch);
    if (set)
        cw_set_fini(set);
    cw_mem_free(set);
}

uint64_t cw_deliver_bytes(const struct cw_deliver *deliver)
{
    return deliver->buffered + deliver->joined + deliver->join.filling.bytes;
}

/* ---- the book ---- */

static struct cw_record *book_at(const struct cw_deliver *deliver, size_t i)
{
    return &deliver->book[(deliver->book_first + i) & (deliver->book_cap - 1)];
}

static void book_grow(struct cw_deliver *deliver)
{
    size_t cap = deliver->book_cap ? 2 * deliver->book_cap : 64;
    struct cw_record *book = CW_NEW_ARRAY(struct cw_record, cap);
    for (size_t i = 0; i < deliver->book_n; i++)
        book[i] = *book_at(deliver, i);
    cw_mem_free(deliver->book);
    deliver->book = book;
    deliver->book_first = 0;
    deliver->book_cap = cap;
}

static struct cw_record *book_add(struct cw_deliver *deliver)
{
    if (deliver->book_n == deliver->book_cap)
        book_grow(deliver);
    struct cw_record *record = book_at(deliver, deliver->book_n++);
    *record = (struct cw_record){.serial = deliver->serial};
    return record;
}

static void settle_given(struct cw_deliver *deliver, struct cw_record *record)
{
    deliver->joined -= record->bytes;
    deliver->buffered -= record->charge.cost;
    cw_charge_return(&record->charge);
}

static void settle_consumed(struct cw_deliver *deliver, const struct cw_record *record)
{
    if (record->lo < record->hi) {
        cw_set_add(cw_sets_get(&deliver->consumed, record->epoch), record->lo, record->hi);
        cw_set_add(cw_sets_get(&deliver->all_consumed, record->epoch), record->lo, record->hi);
    }
    if (record->has_pos) {
        deliver->pos = record->after;
        deliver->consumed_n++;
    }
    if (record->end) {
        deliver->ends_open--;
        forget_epoch(&deliver->all_consumed, record->epoch);
    }
}

void cw_deliver_settle(struct cw_deliver *deliver)
{
    struct cachew_job *job = deliver->job;
    uint64_t consumed = atomic_load_explicit(&job->consumed, memory_order_acquire);
    uint64_t given = atomic_load_explicit(&job->given, memory_order_acquire);
    while (deliver->book_given < deliver->book_n &&
           book_at(deliver, deliver->book_given)->serial <= given)
        settle_given(deliver, book_at(deliver, deliver->book_given++));
    while (deliver->book_given > 0 && book_at(deliver, 0)->serial <= consumed) {
        settle_consumed(deliver, book_at(deliver, 0));
        deliver->book_first = (deliver->book_first + 1) & (deliver->book_cap - 1);
        deliver->book_given--;
        deliver->book_n--;
    }
    atomic_store_explicit(&job->counts.buffered_bytes, cw_deliver_bytes(deliver),
                          memory_order_relaxed);
}

/* ---- entries for the queue ---- */

static struct cachew_batch *new_entry(struct cw_deliver *deliver, struct cw_batch *data,
                                      uint64_t epoch, uint64_t number)
{
    struct cachew_batch *entry = cw_public_batch_new();
    entry->data = data;
    entry->epoch = epoch;
    entry->number = number;
    entry->seed = deliver->job->seed;
    entry->fingerprint = deliver->job->fingerprint;
    entry->lost = deliver->lost;
    deliver->lost = 0;
    deliver->serial++;
    if (deliver->out_tail)
        deliver->out_tail->next = entry;
    else
        deliver->out_head = entry;
    deliver->out_tail = entry;
    return entry;
}

static void give_item(struct cw_deliver *deliver, const struct cw_order_out *out)
{
    struct cw_received *item = out->entry;
    const struct cw_order_conf *conf = &deliver->order.conf;
    struct cachew_batch *entry = new_entry(deliver, item->batch, out->epoch, out->item);
    uint64_t local = out->item / conf->consumers;
    item->batch = NULL;
    entry->item = out->item;
    uint64_t steps = local - cw_order_local(conf, deliver->base) + 1;
    entry->after = (struct cw_pos){
        .epoch = out->epoch, .item = CW_MIN(deliver->base + steps * conf->consumers, conf->items)};
    entry->after.batches = entry->after.floor = entry->after.item;
    struct cw_record *record = book_add(deliver);
    record->epoch = out->epoch;
    record->lo = local;
    record->hi = local + 1;
    record->after = entry->after;
    record->has_pos = true;
    record->charge = item->charge;
    item->charge = (struct cw_charge){0};
    cw_received_free(item);
}

/* Dense, ordered: an item that will not come is passed over; it counts as consumed with the
 * entry before it. */
static void pass_gone(struct cw_deliver *deliver, const struct cw_order_out *out)
{
    struct cw_record *record = book_add(deliver);
    record->epoch = out->epoch;
    record->lo = out->item / deliver->order.conf.consumers;
    record->hi = record->lo + 1;
}

static void give_end(struct cw_deliver *deliver, const struct cw_order_out *out)
{
    struct cachew_batch *entry = new_entry(deliver, NULL, out->epoch, 0);
    entry->end = true;
    entry->after = (struct cw_pos){.epoch = out->epoch + 1};
    struct cw_record *record = book_add(deliver);
    record->epoch = out->epoch;
    /* shared: the rest is for others to tell */
    record->hi = deliver->job->mode == CW_MODE_SHARED ? 0 : deliver->order.mine;
    record->after = entry->after;
    record->has_pos = record->end = true;
    deliver->ends_open++;
    deliver->done = deliver->base = 0;
}

/* ---- sparse ---- */

static void on_join_batch(void *arg, struct cw_batch *batch, const struct cw_pos *after)
{
    struct cw_deliver *deliver = arg;
    struct cachew_batch *entry = new_entry(deliver, batch, batch->epoch, batch->item);
    uint64_t n = deliver->join.conf.consumers, steps = (batch->item - deliver->base) / n + 1;
    entry->after = *after;
    entry->after.floor = deliver->base + steps * n;
    entry->item = after->item;
    struct cw_record *record = book_add(deliver);
    record->epoch = batch->epoch;
    record->lo = CW_MIN(deliver->done, after->item);
    record->hi = after->item;
    record->after = entry->after;
    record->has_pos = true;
    record->bytes = batch->buf ? batch->buf->len : 0;
    deliver->joined += record->bytes;
    deliver->done = CW_MAX(deliver->done, after->item);
    atomic_fetch_add_explicit(&deliver->job->counts.copies, 1, memory_order_relaxed);
}

static struct cw_buf *on_join_alloc(void *arg, size_t bytes)
{
    struct cw_deliver *deliver = arg;
    return cw_recvpool_get(deliver->job->client->pool, bytes);
}

static int join_item(struct cw_deliver *deliver, const struct cw_order_out *out, struct cw_err *err)
{
    struct cw_received *item = out->entry;
    struct cw_rows *rows = NULL;
    if (item) {
        rows = cw_rows_new(item->batch, item->msg, item->offset);
        item->batch = NULL;
    }
    int rc = cw_join_item(&deliver->join, rows, err);
    cw_rows_free(rows);
    drop(deliver, item); /* its credit comes back at once: nothing of it is held any more */
    if (rc == 0 && cw_join_is_full(&deliver->join)) {
        cw_set_add(cw_sets_get(&deliver->received, out->epoch), 0, deliver->order.mine);
        cw_order_cut(&deliver->order, drop, deliver);
    }
    return rc;
}

/* ---- in and out ---- */

void cw_deliver_init(struct cw_deliver *deliver, struct cachew_job *job,
                     const struct cw_plan_join *rules, const struct cw_pos *from,
                     const struct cw_set *consumed)
{
    struct cw_order_conf order = {.items = job->items, .epochs = job->epochs, .consumers = 1};
    *deliver = (struct cw_deliver){.job = job, .pos = *from, .base = from->floor};
    bool dealt = job->mode == CW_MODE_COORDINATED && !job->sparse;
    if (dealt) {
        order.consumers = job->consumers;
        order.consumer = job->consumer;
    }
    order.unordered = (job->unordered || job->mode == CW_MODE_SHARED) && !job->sparse;
    cw_order_init(&deliver->order, &order, from->epoch, from->item, consumed);
    job->mine = deliver->order.mine;
    const struct cw_set *before = cw_order_received(&deliver->order, from->epoch);
    if (before)
        cw_set_copy(cw_sets_get(&deliver->all_consumed, from->epoch), before);
    if (!job->sparse)
        return;
    struct cw_join_conf join = {.rules = *rules, .consumers = 1};
    if (job->mode == CW_MODE_COORDINATED) {
        join.consumers = job->consumers;
        join.consumer = job->consumer;
    }
    deliver->done = from->item;
    cw_join_init(&deliver->join, &join, from, from->floor, on_join_batch, on_join_alloc, deliver);
}

void cw_deliver_fini(struct cw_deliver *deliver)
{
    if (!deliver->job)
        return;
    for (size_t i = 0; i < deliver->book_n; i++)
        cw_charge_return(&book_at(deliver, i)->charge);
    cw_mem_free(deliver->book);
    cw_order_fini(&deliver->order, drop, deliver);
    cw_join_fini(&deliver->join);
    cw_sets_clear(&deliver->received);
    cw_sets_clear(&deliver->consumed);
    cw_sets_clear(&deliver->all_consumed);
    *deliver = (struct cw_deliver){0};
}

int cw_deliver_put(struct cw_deliver *deliver, struct cw_received *received, struct cw_err *err)
{
    uint64_t epoch = received->batch->epoch, number = received->batch->item,
             cost = received->charge.cost;
    int rc = cw_order_put(&deliver->order, epoch, number, received, err);
    if (rc == 1) {
        uint64_t local = number / deliver->order.conf.consumers;
        cw_set_add(cw_sets_get(&deliver->received, epoch), local, local + 1);
        deliver->buffered += cost;
    } else if (rc == 0) {
        atomic_fetch_add_explicit(&deliver->job->counts.duplicates, 1, memory_order_relaxed);
    }
    return rc;
}

void cw_deliver_skip(struct cw_deliver *deliver, uint64_t epoch, uint64_t lo, uint64_t hi,
                     bool lost)
{
    uint64_t n = cw_order_skip(&deliver->order, epoch, lo, hi);
    uint64_t from = cw_order_local(&deliver->order.conf, lo),
             to = CW_MIN(cw_order_local(&deliver->order.conf, hi), deliver->order.mine);
    if (lost && from < to && epoch >= deliver->order.epoch)
        cw_set_add(cw_sets_get(&deliver->received, epoch), from, to);
    if (lost)
        atomic_fetch_add_explicit(&deliver->job->counts.lost_items, n, memory_order_relaxed);
}

void cw_deliver_skip_batches(struct cw_deliver *deliver, uint64_t epoch, uint64_t lo, uint64_t hi)
{
    if (deliver->job->sparse && lo < hi)
        cw_join_skip(&deliver->join, epoch, lo, hi);
}

int cw_deliver_drain(struct cw_deliver *deliver, struct cw_err *err)
{
    int rc = 0;
    while (rc == 0 && deliver->ends_open < ENDS_OPEN_MAX) {
        struct cw_order_out out = cw_order_take(&deliver->order);
        if (out.kind == CW_ORDER_NONE)
            break;
        if (out.kind == CW_ORDER_END) {
            if (deliver->job->sparse)
                rc = cw_join_end(&deliver->join, err);
            give_end(deliver, &out);
        } else if (deliver->job->sparse) {
            rc = join_item(deliver, &out, err);
        } else if (out.kind == CW_ORDER_ITEM) {
            give_item(deliver, &out);
        } else {
            pass_gone(deliver, &out);
        }
    }
    if (rc != 0)
        deliver->err = *err;
    if (deliver->join.left_out > 0)
        atomic_fetch_add_explicit(&deliver->job->counts.lost_items, deliver->join.left_out,
                                  memory_order_relaxed);
    deliver->join.left_out = 0;
    if (deliver->out_head) {
        atomic_store_explicit(&deliver->job->counts.pushed, deliver->serial, memory_order_relaxed);
        cw_job_push(deliver->job, deliver->out_head, deliver->out_tail);
        deliver->out_head = deliver->out_tail = NULL;
    }
    return rc;
}
