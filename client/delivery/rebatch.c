/* SPDX-License-Identifier: Apache-2.0 */
#include "client/delivery/rebatch.h"

#include "base/mem.h"

void cw_rebatch_init(struct cw_rebatch *rebatch, const struct cw_rebatch_conf *conf,
                     const struct cw_pos *from, uint64_t floor, cw_rebatch_emit_fn *emit,
                     cw_fill_alloc_fn *alloc, void *arg)
{
    *rebatch =
        (struct cw_rebatch){.conf = *conf, .emit = emit, .arg = arg, .at = *from, .floor = floor};
    rebatch->filling.out = conf->out;
    rebatch->filling.pads = conf->pads;
    rebatch->filling.alloc = alloc;
    rebatch->filling.arg = arg;
}

static void free_set(struct cw_set *set)
{
    if (set)
        cw_set_fini(set);
    cw_mem_free(set);
}

void cw_rebatch_fini(struct cw_rebatch *rebatch)
{
    uint64_t epoch;
    void *set;
    cw_fill_clear(&rebatch->filling);
    for (size_t i = 0; cw_map_next(&rebatch->skips, &i, &epoch, &set);)
        free_set(set);
    cw_map_fini(&rebatch->skips);
    cw_bad_list_unref(rebatch->bad);
    cw_bad_list_unref(rebatch->end_bad);
    *rebatch = (struct cw_rebatch){0};
}

static uint64_t row_limit(const struct cw_rebatch *rebatch)
{
    const struct cw_plan_join *rules = &rebatch->conf.rules;
    return rules->take < 0 ? UINT64_MAX : (uint64_t)rules->skip + (uint64_t)rules->take;
}

bool cw_rebatch_is_full(const struct cw_rebatch *rebatch)
{
    return rebatch->at.rows >= row_limit(rebatch);
}

static bool is_mine(const struct cw_rebatch *rebatch)
{
    return rebatch->at.batches >= rebatch->floor &&
           rebatch->at.batches % rebatch->conf.consumers == rebatch->conf.consumer;
}

static bool is_skipped(const struct cw_rebatch *rebatch)
{
    const struct cw_set *set =
        rebatch->skips.n > 0 ? cw_map_get(&rebatch->skips, rebatch->at.epoch) : NULL;
    return set && cw_set_has(set, rebatch->at.batches);
}

void cw_rebatch_skip(struct cw_rebatch *rebatch, uint64_t epoch, const struct cw_set *batches)
{
    if (epoch < rebatch->at.epoch)
        return;
    struct cw_set *set = cw_map_get(&rebatch->skips, epoch);
    if (!set) {
        set = CW_NEW(struct cw_set);
        cw_map_set(&rebatch->skips, epoch, set);
    }
    cw_set_add_all(set, batches);
    if (is_skipped(rebatch))
        cw_fill_clear(&rebatch->filling);
}

/* Whether the bytes of a tensor of rows are those that its dims need, or may need. */
static bool has_room(const struct cw_tensor *tensor)
{
    struct cw_ragged ragged;
    struct cw_err ignored = {0};
    if (tensor->field.dtype == CW_DTYPE_STR && !cw_field_is_ragged(&tensor->field))
        return cw_field_count(&tensor->field) >= 0 &&
               tensor->bytes / sizeof(int64_t) > (uint64_t)cw_field_count(&tensor->field);
    if (cw_field_is_ragged(&tensor->field))
        return cw_ragged_init(&ragged, &tensor->field, &ignored) == 0 &&
               tensor->bytes >= ragged.values_at;
    return cw_field_bytes(&tensor->field) == (int64_t)tensor->bytes;
}

/* Checks the header that a worker has sent: the sizes by which rows are copied must agree. */
static int check_rows(const struct cw_batch *head, struct cw_err *err)
{
    for (size_t i = 0; i < head->n; i++) {
        const struct cw_field *field = &head->tensors[i].field;
        if (field->rank < 1 || field->dims[0] != (int64_t)head->elements ||
            !has_room(&head->tensors[i]))
            return cw_err_set(
                err, CW_E_CORRUPT, "item %llu: tensor %s does not have the %llu rows of its item",
                (unsigned long long)head->item, field->name, (unsigned long long)head->elements);
    }
    return 0;
}

static void forget_bad(struct cw_rebatch *rebatch)
{
    rebatch->skipped = 0;
    rebatch->bad = cw_bad_list_unref(rebatch->bad);
}

/* Counts the bad elements of an item that begins. An item of which rows were given out before the
 * job was resumed was counted then. */
static void count_bad(struct cw_rebatch *rebatch, const struct cw_batch *head)
{
    if (rebatch->at.row > 0)
        return;
    rebatch->skipped += head->skipped;
    if (!head->bad)
        return;
    if (!rebatch->bad)
        rebatch->bad = cw_bad_list_new();
    cw_bad_list_append(rebatch->bad, head->bad);
}

/* Finishes the batch that is being filled, and gives it out. rebatch->at is then the position behind
 * it. */
static int finish_batch(struct cw_rebatch *rebatch, struct cw_err *err)
{
    struct cw_batch *batch = NULL;
    if (is_mine(rebatch) && is_skipped(rebatch)) {
        rebatch->left_out++;
    } else if (is_mine(rebatch)) {
        int rc = cw_fill_finish(&rebatch->filling, rebatch->conf.rules.batch == 0, &batch, err);
        if (rc != 0)
            return rc;
        if (rebatch->conf.rules.whole && batch->n > 0 && batch->tensors[0].field.rank > 0)
            batch->elements = (uint64_t)batch->tensors[0].field.dims[0];
        batch->epoch = rebatch->at.epoch;
        batch->item = rebatch->at.batches;
        batch->skipped = rebatch->skipped;
        batch->bad = cw_bad_list_ref(rebatch->bad);
    }
    forget_bad(rebatch);
    rebatch->fill = 0;
    rebatch->at.batches++;
    if (batch)
        rebatch->emit(rebatch->arg, batch, &rebatch->at);
    return 0;
}

/* ---- rows in ---- */

/* Takes rows into the batch that is being filled, which is full after `left` more. Rows of batches
 * that are not given out here are only counted. */
static int add_rows(struct cw_rebatch *rebatch, const struct cw_item_rows *rows, uint64_t row,
                    uint64_t n, uint64_t left, struct cw_err *err)
{
    int rc = is_mine(rebatch) && !is_skipped(rebatch)
                 ? cw_fill_add(&rebatch->filling, rows, row, row + n, rebatch->fill + left, err)
                 : 0;
    rebatch->fill += n;
    return rc;
}

static void step(struct cw_rebatch *rebatch, uint64_t n, uint64_t item_rows)
{
    rebatch->at.rows += n;
    rebatch->at.row += n;
    if (rebatch->at.row >= item_rows) {
        rebatch->at.row = 0;
        rebatch->at.item++;
    }
}

void cw_rebatch_pass(struct cw_rebatch *rebatch, uint64_t items)
{
    if (items == 0)
        return;
    rebatch->at.row = 0;
    rebatch->at.item += items;
}

int cw_rebatch_item(struct cw_rebatch *rebatch, struct cw_item_rows *rows, struct cw_err *err)
{
    uint64_t n = rows ? rows->head->elements : 0, item = rebatch->at.item;
    uint64_t skip = (uint64_t)rebatch->conf.rules.skip, limit = row_limit(rebatch);
    uint64_t size = rebatch->conf.rules.batch > 0 ? (uint64_t)rebatch->conf.rules.batch : 1;
    if (rows)
        count_bad(rebatch, rows->head);
    int checked = rows && n > 0 ? check_rows(rows->head, err) : 0;
    if (checked != 0)
        return checked;
    if (rebatch->at.row >= n) { /* The item has no rows, or none that were not taken before. */
        rebatch->at.row = 0;
        rebatch->at.item++;
        return 0;
    }
    while (rebatch->at.item == item && rebatch->at.rows < limit) {
        uint64_t row = rebatch->at.row, left = n - row;
        if (rebatch->at.rows < skip) {
            step(rebatch, CW_MIN(left, skip - rebatch->at.rows), n);
            continue;
        }
        uint64_t lacks = CW_MIN(size - rebatch->fill, limit - rebatch->at.rows),
                 run = CW_MIN(left, lacks);
        int rc = add_rows(rebatch, rows, row, run, lacks, err);
        step(rebatch, run, n);
        if (rc == 0 && rebatch->fill == size)
            rc = finish_batch(rebatch, err);
        if (rc != 0)
            return rc;
    }
    return 0;
}

int cw_rebatch_end(struct cw_rebatch *rebatch, struct cw_err *err)
{
    struct cw_pos next = {.epoch = rebatch->at.epoch + 1};
    uint64_t over = rebatch->at.epoch;
    int rc = 0;
    if (rebatch->fill > 0 && !rebatch->conf.rules.drop_remainder)
        rc = finish_batch(rebatch, err);
    cw_fill_clear(&rebatch->filling);
    cw_bad_list_unref(rebatch->end_bad);
    rebatch->end_number = rebatch->at.batches;
    rebatch->end_skipped = is_mine(rebatch) ? rebatch->skipped : 0;
    rebatch->end_bad = is_mine(rebatch) ? cw_bad_list_ref(rebatch->bad) : NULL;
    forget_bad(rebatch);
    rebatch->fill = 0;
    rebatch->floor = 0;
    rebatch->at = next;
    free_set(cw_map_remove(&rebatch->skips, over));
    return rc;
}
