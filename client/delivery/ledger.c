/* SPDX-License-Identifier: Apache-2.0 */
#include "client/delivery/ledger.h"

#include <stdatomic.h>
#include "base/limits.h"
#include "base/mem.h"
#include "client/delivery/epoch_sets.h"
#include "client/delivery/ledger_records.h"
#include "client/transport/recvpool.h"

/* The largest number of ends of epochs that are in the queue, so that endless empty epochs do not
 * fill it. */
#define ENDS_OPEN_MAX 16

/* Frees an output that was put in and returns its credit, since its memory is not used any more. */
static void drop(void *arg, void *entry)
{
    struct cw_ledger *ledger = arg;
    struct cw_received *received = entry;
    if (received)
        ledger->buffered -= received->charge.cost;
    cw_received_free(received);
}

uint64_t cw_ledger_bytes(const struct cw_ledger *ledger)
{
    return ledger->buffered + ledger->rebatched + ledger->rebatch.filling.bytes;
}

/* ---- records ---- */

static void records_grow(struct cw_ledger *ledger)
{
    size_t cap = ledger->records_cap ? 2 * ledger->records_cap : 64;
    struct cw_ledger_record *records = CW_NEW_ARRAY(struct cw_ledger_record, cap);
    for (size_t i = 0; i < ledger->records_n; i++)
        records[i] = *cw_ledger_record_at(ledger, i);
    cw_mem_free(ledger->records);
    ledger->records = records;
    ledger->records_first = 0;
    ledger->records_cap = cap;
}

static struct cw_ledger_record *record_add(struct cw_ledger *ledger)
{
    if (ledger->records_n == ledger->records_cap)
        records_grow(ledger);
    struct cw_ledger_record *record = cw_ledger_record_at(ledger, ledger->records_n++);
    *record = (struct cw_ledger_record){.serial = ledger->serial};
    return record;
}

static void settle_given(struct cw_ledger *ledger, struct cw_ledger_record *record)
{
    ledger->rebatched -= record->bytes;
    ledger->buffered -= record->charge.cost;
    cw_charge_return(&record->charge);
}

static void count_bad(struct cw_bad_told *bad, struct cw_ledger_record *record)
{
    bad->n += record->skipped;
    for (size_t i = 0; i < cw_bad_list_n(record->bad) && bad->first_n < CW_BAD_FIRST_MAX; i++)
        bad->first[bad->first_n++] =
            (struct cw_bad_place){record->epoch, record->number, i, cw_bad_list_ref(record->bad)};
    record->bad = cw_bad_list_unref(record->bad);
}

static void settle_consumed(struct cw_ledger *ledger, struct cw_ledger_record *record)
{
    count_bad(&ledger->bad, record);
    if (record->lo < record->hi) {
        cw_set_add(cw_epoch_sets_get(&ledger->consumed, record->epoch), record->lo, record->hi);
        cw_set_add(cw_epoch_sets_get(&ledger->all_consumed, record->epoch), record->lo, record->hi);
    }
    if (record->has_pos) {
        ledger->pos = record->after;
        ledger->consumed_n++;
    }
    if (record->end) {
        ledger->ends_open--;
        cw_epoch_sets_remove(&ledger->all_consumed, record->epoch);
    }
}

void cw_ledger_settle(struct cw_ledger *ledger)
{
    struct cachew_job *job = ledger->job;
    uint64_t consumed = atomic_load_explicit(&job->consumed, memory_order_acquire);
    uint64_t given = atomic_load_explicit(&job->given, memory_order_acquire);
    while (ledger->records_given < ledger->records_n &&
           cw_ledger_record_at(ledger, ledger->records_given)->serial <= given)
        settle_given(ledger, cw_ledger_record_at(ledger, ledger->records_given++));
    while (ledger->records_given > 0 && cw_ledger_record_at(ledger, 0)->serial <= consumed) {
        settle_consumed(ledger, cw_ledger_record_at(ledger, 0));
        ledger->records_first = (ledger->records_first + 1) & (ledger->records_cap - 1);
        ledger->records_given--;
        ledger->records_n--;
    }
    atomic_store_explicit(&job->counts.buffered_bytes, cw_ledger_bytes(ledger),
                          memory_order_relaxed);
}

/* ---- entries for the queue ---- */

static struct cachew_batch *new_entry(struct cw_ledger *ledger, struct cw_batch *data,
                                      uint64_t epoch, uint64_t number)
{
    struct cachew_batch *entry = cw_public_batch_new();
    entry->data = data;
    entry->epoch = epoch;
    entry->number = number;
    entry->seed = ledger->job->seed;
    entry->writable = ledger->job->writable;
    entry->fingerprint = ledger->job->fingerprint;
    entry->lost = ledger->lost;
    ledger->lost = 0;
    ledger->serial++;
    if (ledger->out_tail)
        ledger->out_tail->next = entry;
    else
        ledger->out_head = entry;
    ledger->out_tail = entry;
    return entry;
}

static void note_bad(struct cw_ledger_record *record, const struct cw_batch *batch, uint64_t number)
{
    record->skipped = batch->skipped;
    record->bad = cw_bad_list_ref(batch->bad);
    record->number = number;
}

static void push_item(struct cw_ledger *ledger, const struct cw_reorder_out *out)
{
    struct cw_received *item = out->entry;
    const struct cw_reorder_conf *conf = &ledger->reorder.conf;
    struct cachew_batch *entry = new_entry(ledger, item->batch, out->epoch, out->item);
    uint64_t local = out->item / conf->consumers;
    struct cw_batch *batch = item->batch;
    item->batch = NULL;
    entry->item = out->item;
    uint64_t steps = local - cw_reorder_local(conf, ledger->base) + 1;
    entry->after = (struct cw_pos){
        .epoch = out->epoch, .item = CW_MIN(ledger->base + steps * conf->consumers, conf->items)};
    entry->after.batches = entry->after.floor = entry->after.item;
    struct cw_ledger_record *record = record_add(ledger);
    record->epoch = out->epoch;
    record->lo = local;
    record->hi = local + 1;
    record->after = entry->after;
    record->has_pos = true;
    note_bad(record, batch, out->item);
    record->charge = item->charge;
    item->charge = (struct cw_charge){0};
    cw_received_free(item);
}

/* Dense ordered jobs: items that will not come are passed over. They count as consumed together
 * with the entry before them. */
static void pass_missing(struct cw_ledger *ledger, const struct cw_reorder_out *out)
{
    struct cw_ledger_record *record = record_add(ledger);
    record->epoch = out->epoch;
    record->lo = out->item / ledger->reorder.conf.consumers;
    record->hi = record->lo + out->n;
}

/* Sparse jobs: bad elements behind the last batch of the epoch go with its end. */
static void take_end_bad(struct cw_ledger *ledger, struct cachew_batch *entry,
                         struct cw_ledger_record *record)
{
    entry->number = record->number = ledger->rebatch.end_number;
    entry->end_skipped = record->skipped = ledger->rebatch.end_skipped;
    record->bad = cw_bad_list_ref(ledger->rebatch.end_bad);
    entry->end_bad = ledger->rebatch.end_bad;
    ledger->rebatch.end_bad = NULL;
    ledger->rebatch.end_skipped = 0;
}

static void push_end(struct cw_ledger *ledger, const struct cw_reorder_out *out)
{
    struct cachew_batch *entry = new_entry(ledger, NULL, out->epoch, 0);
    entry->end = true;
    entry->after = (struct cw_pos){.epoch = out->epoch + 1};
    struct cw_ledger_record *record = record_add(ledger);
    record->epoch = out->epoch;
    /* A shared consumer reports only items that it has received itself. */
    record->hi = ledger->job->mode == CW_MODE_SHARED ? 0 : ledger->reorder.mine;
    record->after = entry->after;
    record->has_pos = record->end = true;
    if (ledger->job->sparse)
        take_end_bad(ledger, entry, record);
    ledger->ends_open++;
    ledger->done = ledger->base = 0;
}

/* ---- sparse jobs ---- */

static void on_batch_cut(void *arg, struct cw_batch *batch, const struct cw_pos *after)
{
    struct cw_ledger *ledger = arg;
    struct cachew_batch *entry = new_entry(ledger, batch, batch->epoch, batch->item);
    uint64_t n = ledger->rebatch.conf.consumers, steps = (batch->item - ledger->base) / n + 1;
    entry->after = *after;
    entry->after.floor = ledger->base + steps * n;
    entry->item = after->item;
    struct cw_ledger_record *record = record_add(ledger);
    record->epoch = batch->epoch;
    record->lo = CW_MIN(ledger->done, after->item);
    record->hi = after->item;
    record->after = entry->after;
    record->has_pos = true;
    record->bytes = batch->buf ? batch->buf->len : 0;
    note_bad(record, batch, batch->item);
    ledger->rebatched += record->bytes;
    ledger->done = CW_MAX(ledger->done, after->item);
    atomic_fetch_add_explicit(&ledger->job->counts.copies, 1, memory_order_relaxed);
}

static struct cw_buf *on_batch_alloc(void *arg, size_t bytes)
{
    struct cw_ledger *ledger = arg;
    return cw_recvpool_get(ledger->job->client->pool, bytes);
}

static int rebatch_item(struct cw_ledger *ledger, const struct cw_reorder_out *out,
                        struct cw_err *err)
{
    struct cw_received *item = out->entry;
    struct cw_item_rows *rows = NULL;
    if (out->kind == CW_REORDER_GONE)
        cw_rebatch_pass(&ledger->rebatch, out->n - 1);
    if (item) {
        rows = cw_item_rows_new(item->batch, item->msg, item->offset);
        item->batch = NULL;
    }
    int rc = cw_rebatch_item(&ledger->rebatch, rows, err);
    cw_item_rows_free(rows);
    /* Dropping the item returns its credit at once, since its rows were copied. */
    drop(ledger, item);
    if (rc == 0 && cw_rebatch_is_full(&ledger->rebatch)) {
        cw_set_add(cw_epoch_sets_get(&ledger->received, out->epoch), 0, ledger->reorder.mine);
        cw_reorder_end_epoch(&ledger->reorder, drop, ledger);
    }
    return rc;
}

/* ---- in and out ---- */

void cw_ledger_init(struct cw_ledger *ledger, struct cachew_job *job,
                    const struct cw_plan_join *rules, const struct cw_pos *from,
                    const struct cw_set *consumed)
{
    struct cw_reorder_conf order = {.items = job->items, .epochs = job->epochs, .consumers = 1};
    *ledger = (struct cw_ledger){.job = job, .pos = *from, .base = from->floor};
    bool dealt = job->mode == CW_MODE_COORDINATED && !job->sparse;
    if (dealt) {
        order.consumers = job->consumers;
        order.consumer = job->consumer;
    }
    order.unordered = (job->unordered || job->mode == CW_MODE_SHARED) && !job->sparse;
    cw_reorder_init(&ledger->reorder, &order, from->epoch, from->item, consumed);
    job->mine = ledger->reorder.mine;
    const struct cw_set *before = cw_reorder_received(&ledger->reorder, from->epoch);
    if (before)
        cw_set_copy(cw_epoch_sets_get(&ledger->all_consumed, from->epoch), before);
    if (!job->sparse)
        return;
    struct cw_rebatch_conf rebatch = {
        .rules = *rules, .out = &job->spec.of, .pads = job->pads, .consumers = 1};
    if (job->mode == CW_MODE_COORDINATED) {
        rebatch.consumers = job->consumers;
        rebatch.consumer = job->consumer;
    }
    ledger->done = from->item;
    cw_rebatch_init(&ledger->rebatch, &rebatch, from, from->floor, on_batch_cut, on_batch_alloc,
                    ledger);
}

void cw_ledger_fini(struct cw_ledger *ledger)
{
    if (!ledger->job)
        return;
    for (size_t i = 0; i < ledger->records_n; i++) {
        cw_charge_return(&cw_ledger_record_at(ledger, i)->charge);
        cw_bad_list_unref(cw_ledger_record_at(ledger, i)->bad);
    }
    for (size_t i = 0; i < ledger->bad.first_n; i++)
        cw_bad_list_unref(ledger->bad.first[i].list);
    cw_mem_free(ledger->records);
    cw_reorder_fini(&ledger->reorder, drop, ledger);
    cw_rebatch_fini(&ledger->rebatch);
    cw_epoch_sets_clear(&ledger->received);
    cw_epoch_sets_clear(&ledger->consumed);
    cw_epoch_sets_clear(&ledger->all_consumed);
    *ledger = (struct cw_ledger){0};
}

/* Shared jobs: an item that another consumer has consumed, or that was left out, was leased for this
 * one. So the dispatcher has died before it had stored what it had told, and the next one does not
 * know. It learns it from here, since nothing else would ever end the item. */
static void say_over(struct cw_ledger *ledger, uint64_t epoch, uint64_t item)
{
    if (ledger->job->mode != CW_MODE_SHARED || cw_ledger_is_pending(ledger, epoch, item))
        return;
    cw_set_add(cw_epoch_sets_get(&ledger->received, epoch), item, item + 1);
    cw_set_add(cw_epoch_sets_get(&ledger->consumed, epoch), item, item + 1);
    if (epoch >= ledger->pos.epoch)
        cw_set_add(cw_epoch_sets_get(&ledger->all_consumed, epoch), item, item + 1);
}

int cw_ledger_put(struct cw_ledger *ledger, struct cw_received *received, struct cw_err *err)
{
    uint64_t epoch = received->batch->epoch, number = received->batch->item,
             cost = received->charge.cost;
    int rc = cw_reorder_put(&ledger->reorder, epoch, number, received, err);
    if (rc == 1) {
        uint64_t local = number / ledger->reorder.conf.consumers;
        cw_set_add(cw_epoch_sets_get(&ledger->received, epoch), local, local + 1);
        ledger->buffered += cost;
    } else if (rc == 0) {
        say_over(ledger, epoch, number);
        atomic_fetch_add_explicit(&ledger->job->counts.duplicates, 1, memory_order_relaxed);
    }
    return rc;
}

/* Unordered jobs: what of the local numbers [from, to) has not come will not, and counts as consumed
 * at once. Nothing else would ever say so, while an ordered job passes over it with its next entry.
 * A dispatcher that died before it had stored what was left out would wait for it. */
static void consume_missing(struct cw_ledger *ledger, uint64_t epoch, uint64_t from, uint64_t to)
{
    const struct cw_set *got = cw_reorder_received(&ledger->reorder, epoch);
    while (from < to) {
        uint64_t begin = got ? cw_set_first_absent(got, from) : from, end = to;
        if (begin >= to)
            return;
        if (got && cw_set_first_present(got, begin, &end))
            end = CW_MIN(end, to);
        cw_set_add(cw_epoch_sets_get(&ledger->consumed, epoch), begin, end);
        cw_set_add(cw_epoch_sets_get(&ledger->all_consumed, epoch), begin, end);
        from = end;
    }
}

void cw_ledger_skip(struct cw_ledger *ledger, uint64_t epoch, const struct cw_set *items, bool lost)
{
    bool at_once = ledger->reorder.conf.unordered && !ledger->job->sparse;
    struct cw_set local = {0};
    if (lost && cw_reorder_is_open(&ledger->reorder, epoch))
        cw_reorder_local_set(&ledger->reorder, items, &local);
    for (size_t i = 0; at_once && i < local.n; i++)
        consume_missing(ledger, epoch, local.v[i].lo, local.v[i].hi);
    uint64_t n = cw_reorder_skip(&ledger->reorder, epoch, items);
    if (lost)
        atomic_fetch_add_explicit(&ledger->job->counts.lost_items, n, memory_order_relaxed);
    if (local.n > 0)
        cw_set_add_all(cw_epoch_sets_get(&ledger->received, epoch), &local);
    cw_set_fini(&local);
}

int cw_ledger_skip_batches(struct cw_ledger *ledger, uint64_t epoch, const struct cw_set *batches,
                           struct cw_err *err)
{
    if (!ledger->job->sparse || batches->n == 0)
        return 0;
    if (ledger->rebatch.skips.n >= CW_SKIPPED_EPOCHS_MAX)
        return cw_err_set(err, CW_E_LIMIT, "batches of more than %d epochs are left out",
                          CW_SKIPPED_EPOCHS_MAX);
    cw_rebatch_skip(&ledger->rebatch, epoch, batches);
    return 0;
}

int cw_ledger_drain(struct cw_ledger *ledger, struct cw_err *err)
{
    int rc = 0;
    while (rc == 0 && ledger->ends_open < ENDS_OPEN_MAX) {
        struct cw_reorder_out out = cw_reorder_take(&ledger->reorder);
        if (out.kind == CW_REORDER_NONE)
            break;
        if (out.kind == CW_REORDER_END) {
            if (ledger->job->sparse)
                rc = cw_rebatch_end(&ledger->rebatch, err);
            push_end(ledger, &out);
        } else if (ledger->job->sparse) {
            rc = rebatch_item(ledger, &out, err);
        } else if (out.kind == CW_REORDER_ITEM) {
            push_item(ledger, &out);
        } else {
            pass_missing(ledger, &out);
        }
    }
    if (rc != 0)
        ledger->err = *err;
    if (ledger->rebatch.left_out > 0)
        atomic_fetch_add_explicit(&ledger->job->counts.lost_items, ledger->rebatch.left_out,
                                  memory_order_relaxed);
    ledger->rebatch.left_out = 0;
    if (ledger->out_head) {
        atomic_store_explicit(&ledger->job->counts.pushed, ledger->serial, memory_order_relaxed);
        cw_client_job_push(ledger->job, ledger->out_head, ledger->out_tail);
        ledger->out_head = ledger->out_tail = NULL;
    }
    return rc;
}
