/* SPDX-License-Identifier: Apache-2.0 */
/* Rows are not copied when they come: the batch being filled is a list of parts, runs of rows of items. When it is full its exact
 * size is known (strings too), and each part is copied once, to its place. */
#include "client/join.h"

#include <string.h>
#include "base/mem.h"

struct cw_join_part {
    struct cw_rows *rows;
    uint64_t lo, hi;
};

void cw_join_init(struct cw_join *join, const struct cw_join_conf *conf, const struct cw_pos *from, uint64_t floor,
                  cw_join_emit_fn *emit, cw_join_alloc_fn *alloc, void *arg)
{
    *join = (struct cw_join){.conf = *conf, .emit = emit, .alloc = alloc, .arg = arg, .at = *from, .floor = floor};
}

static void clear_parts(struct cw_join *join)
{
    for (size_t i = 0; i < join->parts_n; i++)
        cw_rows_unref(join->parts[i].rows);
    join->parts_n = 0;
    join->fill = 0;
}

void cw_join_fini(struct cw_join *join)
{
    clear_parts(join);
    cw_mem_free(join->parts);
    *join = (struct cw_join){0};
}

static uint64_t row_limit(const struct cw_join *join)
{
    const struct cw_plan_join *rules = &join->conf.rules;
    return rules->take < 0 ? UINT64_MAX : (uint64_t)rules->skip + (uint64_t)rules->take;
}

bool cw_join_is_full(const struct cw_join *join)
{
    return join->at.rows >= row_limit(join);
}

static bool is_mine(const struct cw_join *join)
{
    return join->at.batches >= join->floor && join->at.batches % join->conf.consumers == join->conf.consumer;
}

/* ---- one batch from its parts ---- */

/* A peer's header is not trusted: the sizes by which rows are copied must agree with each other. */
static int check_rows(const struct cw_batch *head, struct cw_err *err)
{
    for (size_t i = 0; i < head->n; i++) {
        const struct cw_field *field = &head->tensors[i].field;
        bool fits = field->rank >= 1 && field->dims[0] == (int64_t)head->elements;
        if (fits)
            fits = field->dtype == CW_DTYPE_STR ? field->rank == 1 : cw_field_bytes(field) == (int64_t)head->tensors[i].bytes;
        if (!fits)
            return cw_err_set(err, CW_E_CORRUPT, "item %llu: tensor %s does not have the %llu rows of its item",
                              (unsigned long long)head->item, field->name, (unsigned long long)head->elements);
    }
    return 0;
}

static int check_like(const struct cw_batch *a, const struct cw_batch *b, struct cw_err *err)
{
    bool same = a->n == b->n;
    for (size_t i = 0; same && i < a->n; i++) {
        const struct cw_field *x = &a->tensors[i].field, *y = &b->tensors[i].field;
        same = strcmp(x->name, y->name) == 0 && x->dtype == y->dtype && x->rank == y->rank && x->rank >= 1;
        for (int d = 1; same && d < x->rank; d++)
            same = x->dims[d] == y->dims[d];
    }
    if (!same)
        return cw_err_set(err, CW_E_INVALID, "items %llu and %llu cannot be in one batch: their elements have different shapes; "
                          "resize or crop them to one shape before `batch`", (unsigned long long)a->item, (unsigned long long)b->item);
    return 0;
}

static int str_bytes(const struct cw_join *join, size_t i, size_t *ret_bytes, struct cw_err *err)
{
    uint64_t bytes = (join->fill + 1) * sizeof(int64_t);
    for (size_t p = 0; p < join->parts_n; p++) {
        int64_t lo, hi;
        int rc = cw_rows_str_at(join->parts[p].rows, i, join->parts[p].lo, &lo, err);
        if (rc == 0)
            rc = cw_rows_str_at(join->parts[p].rows, i, join->parts[p].hi, &hi, err);
        if (rc == 0 && hi < lo)
            rc = cw_err_set(err, CW_E_CORRUPT, "item %llu: string offsets fall", (unsigned long long)join->parts[p].rows->item);
        if (rc != 0)
            return rc;
        bytes += (uint64_t)(hi - lo);
    }
    *ret_bytes = (size_t)bytes;
    return 0;
}

static int fill_str(const struct cw_join *join, size_t i, char *dst, struct cw_err *err)
{
    int64_t *offsets = (int64_t *)(void *)dst;
    char *bytes = dst + (join->fill + 1) * sizeof(int64_t);
    int64_t total = 0;
    uint64_t row = 0;
    offsets[0] = 0;
    for (size_t p = 0; p < join->parts_n; p++) {
        const struct cw_join_part *part = &join->parts[p];
        const struct cw_rows *rows = part->rows;
        int64_t first, last;
        int rc = cw_rows_str_at(rows, i, part->lo, &first, err);
        last = first;
        for (uint64_t r = part->lo; rc == 0 && r < part->hi; r++) {
            int64_t end;
            rc = cw_rows_str_at(rows, i, r + 1, &end, err);
            if (rc == 0 && end < last)
                rc = cw_err_set(err, CW_E_CORRUPT, "item %llu: string offsets fall", (unsigned long long)rows->item);
            last = rc == 0 ? end : last;
            offsets[++row] = total + (last - first);
        }
        size_t table = (size_t)(rows->head->elements + 1) * sizeof(int64_t);
        if (rc == 0)
            rc = cw_rows_read(rows, i, table + (size_t)first, bytes + total, (size_t)(last - first), err);
        if (rc != 0)
            return rc;
        total += last - first;
    }
    return 0;
}

static int fill_numbers(const struct cw_join *join, size_t i, char *dst, struct cw_err *err)
{
    for (size_t p = 0; p < join->parts_n; p++) {
        const struct cw_join_part *part = &join->parts[p];
        const struct cw_batch *head = part->rows->head;
        size_t row = head->tensors[i].bytes / (size_t)head->elements;
        size_t n = row * (size_t)(part->hi - part->lo);
        int rc = cw_rows_read(part->rows, i, row * (size_t)part->lo, dst, n, err);
        if (rc != 0)
            return rc;
        dst += n;
    }
    return 0;
}

static int fill_batch(const struct cw_join *join, struct cw_batch *batch, size_t bytes, struct cw_err *err)
{
    batch->buf = bytes ? join->alloc(join->arg, bytes) : NULL;
    if (bytes && !batch->buf)
        return cw_err_set(err, CW_E_NOMEM, "no memory for a batch of %zu bytes", bytes);
    for (size_t i = 0; i < batch->n; i++) {
        if (batch->tensors[i].bytes == 0)
            continue;
        char *dst = (char *)batch->buf->data + batch->tensors[i].offset;
        int rc = 0;
        if (batch->tensors[i].field.dtype == CW_DTYPE_STR)
            rc = fill_str(join, i, dst, err);
        else
            rc = fill_numbers(join, i, dst, err);
        if (rc != 0)
            return rc;
    }
    return 0;
}

static int make_batch(const struct cw_join *join, struct cw_batch **ret_batch, struct cw_err *err)
{
    const struct cw_batch *head = join->parts[0].rows->head;
    bool squeeze = join->conf.rules.batch == 0;
    struct cw_batch *batch = cw_batch_new();
    int rc = 0;
    size_t bytes = 0;
    for (size_t p = 0; rc == 0 && p < join->parts_n; p++)
        rc = check_like(head, join->parts[p].rows->head, err);
    batch->n = head->n;
    batch->epoch = join->at.epoch;
    batch->item = join->at.batches;
    batch->elements = join->fill;
    batch->skipped = join->skipped;
    for (size_t i = 0; rc == 0 && i < batch->n; i++) {
        struct cw_field *field = &batch->tensors[i].field;
        *field = head->tensors[i].field;
        if (squeeze) {
            field->rank--;
            memmove(field->dims, field->dims + 1, sizeof(field->dims[0]) * (size_t)field->rank);
        } else {
            field->dims[0] = (int64_t)join->fill;
        }
        if (field->dtype == CW_DTYPE_STR)
            rc = str_bytes(join, i, &batch->tensors[i].bytes, err);
    }
    if (rc == 0)
        rc = cw_batch_layout(batch, &bytes, err);
    if (rc == 0)
        rc = fill_batch(join, batch, bytes, err);
    if (rc != 0)
        cw_batch_unref(batch);
    else
        *ret_batch = batch;
    return rc;
}

/* Ends the batch being filled; `at` stands behind it. */
static int finish_batch(struct cw_join *join, struct cw_err *err)
{
    struct cw_batch *batch = NULL;
    if (is_mine(join)) {
        int rc = make_batch(join, &batch, err);
        if (rc != 0)
            return rc;
        join->skipped = 0;
    }
    clear_parts(join);
    join->at.batches++;
    if (batch)
        join->emit(join->arg, batch, &join->at);
    return 0;
}

/* ---- rows in ---- */

static void add_part(struct cw_join *join, struct cw_rows *rows, uint64_t lo, uint64_t hi)
{
    if (is_mine(join)) {
        CW_GROW(join->parts, join->parts_n, join->parts_cap);
        join->parts[join->parts_n++] = (struct cw_join_part){cw_rows_ref(rows), lo, hi};
    }
    join->fill += hi - lo;
}

static void step(struct cw_join *join, uint64_t n, uint64_t item_rows)
{
    join->at.rows += n;
    join->at.row += n;
    if (join->at.row >= item_rows) {
        join->at.row = 0;
        join->at.item++;
    }
}

int cw_join_item(struct cw_join *join, struct cw_rows *rows, struct cw_err *err)
{
    uint64_t n = rows ? rows->head->elements : 0, item = join->at.item;
    uint64_t skip = (uint64_t)join->conf.rules.skip, limit = row_limit(join);
    uint64_t size = join->conf.rules.batch > 0 ? (uint64_t)join->conf.rules.batch : 1;
    if (rows)
        join->skipped += rows->head->skipped;
    int checked = rows && n > 0 ? check_rows(rows->head, err) : 0;
    if (checked != 0)
        return checked;
    if (join->at.row >= n) { /* nothing in it, or nothing left */
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
        uint64_t run = CW_MIN(CW_MIN(left, size - join->fill), limit - join->at.rows);
        add_part(join, rows, row, row + run);
        step(join, run, n);
        if (join->fill == size) {
            int rc = finish_batch(join, err);
            if (rc != 0)
                return rc;
        }
    }
    return 0;
}

int cw_join_end(struct cw_join *join, struct cw_err *err)
{
    struct cw_pos next = {.epoch = join->at.epoch + 1};
    int rc = 0;
    if (join->fill > 0 && !join->conf.rules.drop_remainder)
        rc = finish_batch(join, err);
    clear_parts(join);
    join->skipped = 0;
    join->floor = 0;
    join->at = next;
    return rc;
}
