/* SPDX-License-Identifier: Apache-2.0 */
#include "client/delivery/rebatch.h"

#include "base/mem.h"

void cw_rebatch_init(struct cw_rebatch *join, const struct cw_rebatch_conf *conf,
                     const struct cw_pos *from, uint64_t floor, cw_rebatch_emit_fn *emit,
                     cw_fill_alloc_fn *alloc, void *arg)
{
    *join =
        (struct cw_rebatch){.conf = *conf, .emit = emit, .arg = arg, .at = *from, .floor = floor};
    join->filling.alloc = alloc;
    join->filling.arg = arg;
}

static void free_set(struct cw_set *set)
{
    if (set)
        cw_set_fini(set);
    cw_mem_free(set);
}

void cw_rebatch_fini(struct cw_rebatch *join)
{
    uint64_t epoch;
    void *set;
    cw_fill_clear(&join->filling);
    for (size_t i = 0; cw_map_next(&join->skips, &i, &epoch, &set);)
        free_set(set);
    cw_map_fini(&join->skips);
    *join = (struct cw_rebatch){0};
}

static uint64_t row_limit(const struct cw_rebatch *join)
{
    const struct cw_plan_join *rules = &join->conf.rules;
    return rules->take < 0 ? UINT64_MAX : (uint64_t)rules->skip + (uint64_t)rules->take;
}

bool cw_rebatch_is_full(const struct cw_rebatch *join)
{
    return join->at.rows >= row_limit(join);
}

static bool is_mine(const struct cw_rebatch *join)
{
    return join->at.batches >= join->floor &&
           join->at.batches % join->conf.consumers == join->conf.consumer;
}

static bool is_skipped(const struct cw_rebatch *join)
{
    const struct cw_set *set = join->skips.n > 0 ? cw_map_get(&join->skips, join->at.epoch) : NULL;
    return set && cw_set_has(set, join->at.batches);
}

void cw_rebatch_skip(struct cw_rebatch *join, uint64_t epoch, uint64_t lo, uint64_t hi)
{
    if (epoch < join->at.epoch)
        return;
    struct cw_set *set = cw_map_get(&join->skips, epoch);
    if (!set) {
        set = CW_NEW(struct cw_set);
        cw_map_set(&join->skips, epoch, set);
    }
    cw_set_add(set, lo, hi);
    if (is_skipped(join))
        cw_fill_clear(&join->filling);
}

/* Checks the header that a worker has sent: the sizes by which rows are copied must agree. */
static int check_rows(const struct cw_batch *head, struct cw_err *err)
{
    for (size_t i = 0; i < head->n; i++) {
        const struct cw_field *field = &head->tensors[i].field;
        bool fits = field->rank >= 1 && field->dims[0] == (int64_t)head->elements;
        if (fits)
            fits = field->dtype == CW_DTYPE_STR
                       ? field->rank == 1
                       : cw_field_bytes(field) == (int64_t)head->tensors[i].bytes;
        if (!fits)
            return cw_err_set(
                err, CW_E_CORRUPT, "item %llu: tensor %s does not have the %llu rows of its item",
                (unsigned long long)head->item, field->name, (unsigned long long)head->elements);
    }
    return 0;
}

/* Finishes the batch being filled, and gives it out; join->at is the position behind it. */
static int finish_batch(struct cw_rebatch *join, struct cw_err *err)
{
    struct cw_batch *batch = NULL;
    if (is_mine(join) && is_skipped(join)) {
        join->left_out++;
    } else if (is_mine(join)) {
        int rc = cw_fill_finish(&join->filling, join->conf.rules.batch == 0, &batch, err);
        if (rc != 0)
            return rc;
        batch->epoch = join->at.epoch;
        batch->item = join->at.batches;
        batch->skipped = join->skipped;
        join->skipped = 0;
    }
    join->fill = 0;
    join->at.batches++;
    if (batch)
        join->emit(join->arg, batch, &join->at);
    return 0;
}

/* ---- rows in ---- */

/* Takes rows into the batch being filled, which is full after `left` more. Rows of batches that
 * are not given out here are only counted. */
static int add_rows(struct cw_rebatch *join, const struct cw_item_rows *rows, uint64_t row,
                    uint64_t n, uint64_t left, struct cw_err *err)
{
    int rc = is_mine(join) && !is_skipped(join)
                 ? cw_fill_add(&join->filling, rows, row, row + n, join->fill + left, err)
                 : 0;
    join->fill += n;
    return rc;
}

static void step(struct cw_rebatch *join, uint64_t n, uint64_t item_rows)
{
    join->at.rows += n;
    join->at.row += n;
    if (join->at.row >= item_rows) {
        join->at.row = 0;
        join->at.item++;
    }
}

int cw_rebatch_item(struct cw_rebatch *join, struct cw_item_rows *rows, struct cw_err *err)
{
    uint64_t n = rows ? rows->head->elements : 0, item = join->at.item;
    uint64_t skip = (uint64_t)join->conf.rules.skip, limit = row_limit(join);
    uint64_t size = join->conf.rules.batch > 0 ? (uint64_t)join->conf.rules.batch : 1;
    if (rows)
        join->skipped += rows->head->skipped;
    int checked = rows && n > 0 ? check_rows(rows->head, err) : 0;
    if (checked != 0)
        return checked;
    if (join->at.row >= n) { /* the item has no rows, or none that were not taken before */
        join->at.row = 0;
        join->at.item++;
        return 0;
    }
    while (join->at.item == item && join->at.rows < limit) {
        uint64_t row = join->at.row, left = n - row;
        if (join->at.rows < skip) {
            step(join, CW_MIN(left, skip - join->at.rows), n);
            continue;
        }
        uint64_t lacks = CW_MIN(size - join->fill, limit - join->at.rows),
                 run = CW_MIN(left, lacks);
        int rc = add_rows(join, rows, row, run, lacks, err);
        step(join, run, n);
        if (rc == 0 && join->fill == size)
            rc = finish_batch(join, err);
        if (rc != 0)
            return rc;
    }
    return 0;
}

int cw_rebatch_end(struct cw_rebatch *join, struct cw_err *err)
{
    struct cw_pos next = {.epoch = join->at.epoch + 1};
    uint64_t over = join->at.epoch;
    int rc = 0;
    if (join->fill > 0 && !join->conf.rules.drop_remainder)
        rc = finish_batch(join, err);
    cw_fill_clear(&join->filling);
    join->fill = 0;
    join->skipped = 0;
    join->floor = 0;
    join->at = next;
    free_set(cw_map_remove(&join->skips, over));
    return rc;
}
