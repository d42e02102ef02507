/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of items joined into batches against a plain model: one list of all rows, skipped, taken
 * and cut. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>
#include "base/mem.h"
#include "client/delivery/rebatch.h"
#include "support/ranges.h"

#define ITEMS 23
#define BATCHES_MAX 400

/* Row `v` is the number v, a pair (v, 2v), and the string of v sevens-and-so-on. */
static size_t text_of(int64_t v, char *text)
{
    return (size_t)snprintf(text, 32, "%.*s%lld", (int)(v % 5), "-----", (long long)v);
}

static struct cw_item_rows *item_rows(uint64_t item, int64_t first, uint64_t n)
{
    struct cw_batch *batch = cw_batch_new(3);
    struct cw_err err = {0};
    char text[64];
    size_t strings = 0, bytes = 0;
    for (uint64_t r = 0; r < n; r++)
        strings += text_of(first + (int64_t)r, text);
    batch->item = item;
    batch->elements = n;
    batch->tensors[0].field = (struct cw_field){"v", CW_DTYPE_I64, 1, {(int64_t)n}};
    batch->tensors[1].field = (struct cw_field){"pair", CW_DTYPE_F32, 2, {(int64_t)n, 2}};
    batch->tensors[2].field = (struct cw_field){"text", CW_DTYPE_STR, 1, {(int64_t)n}};
    batch->tensors[2].bytes = (n + 1) * 8 + strings;
    assert_int_equal(cw_batch_layout(batch, &bytes, &err), 0);
    batch->buf = cw_buf_new(bytes);
    char *base = batch->buf->data;
    int64_t *v = (int64_t *)(void *)(base + batch->tensors[0].offset);
    float *pair = (float *)(void *)(base + batch->tensors[1].offset);
    int64_t *offsets = (int64_t *)(void *)(base + batch->tensors[2].offset);
    char *out = (char *)(offsets + n + 1);
    offsets[0] = 0;
    for (uint64_t r = 0; r < n; r++) {
        v[r] = first + (int64_t)r;
        pair[2 * r] = (float)v[r];
        pair[2 * r + 1] = (float)(2 * v[r]);
        size_t len = text_of(v[r], text);
        memcpy(out + offsets[r], text, len);
        offsets[r + 1] = offsets[r] + (int64_t)len;
    }
    return cw_item_rows_new(batch, NULL, 0);
}

struct result {
    struct cw_batch *batches[BATCHES_MAX];
    struct cw_pos after[BATCHES_MAX];
    size_t n;
};

static void on_batch(void *arg, struct cw_batch *batch, const struct cw_pos *after)
{
    struct result *result = arg;
    assert_true(result->n < BATCHES_MAX);
    result->batches[result->n] = batch;
    result->after[result->n++] = *after;
}

static struct cw_buf *on_alloc(void *arg, size_t bytes)
{
    (void)arg;
    return cw_buf_new(bytes);
}

static void clear(struct result *result)
{
    for (size_t i = 0; i < result->n; i++)
        cw_batch_unref(result->batches[i]);
    result->n = 0;
}

static void check_batch(const struct cw_batch *batch, int64_t first, uint64_t rows, bool squeezed)
{
    char text[64];
    struct cw_err err = {0};
    assert_int_equal(cw_batch_validate(batch, &err), 0);
    assert_int_equal(batch->elements, rows);
    assert_int_equal(batch->tensors[0].field.rank, squeezed ? 0 : 1);
    if (!squeezed)
        assert_int_equal(batch->tensors[1].field.dims[0], rows);
    assert_int_equal(batch->tensors[1].field.dims[squeezed ? 0 : 1], 2);
    const int64_t *v = cw_batch_data(batch, 0);
    const float *pair = cw_batch_data(batch, 1);
    const int64_t *offsets = cw_batch_data(batch, 2);
    const char *bytes = (const char *)(offsets + rows + 1);
    for (uint64_t r = 0; r < rows; r++) {
        assert_int_equal(v[r], first + (int64_t)r);
        assert_true(pair[2 * r + 1] == (float)(2 * v[r])); // NOLINT: exact by construction
        size_t len = text_of(v[r], text);
        assert_int_equal(offsets[r + 1] - offsets[r], len);
        assert_memory_equal(bytes + offsets[r], text, len);
    }
}

static uint64_t rows_in(uint64_t item) /* some items are empty */
{
    return item % 4 == 2 ? 0 : (item * 7) % 11;
}

/* How many elements of an item are bad; some items have nothing else. */
static uint64_t bad_in(uint64_t item)
{
    return item % 3;
}

static void add_bad(struct cw_item_rows *rows, uint64_t item)
{
    rows->head->skipped = bad_in(item);
    rows->head->bad = cw_bad_list_new();
    for (uint64_t i = 0; i < bad_in(item); i++) {
        struct cw_bad_element bad = {.elements = 1, .position = (int64_t)(10 * item + i)};
        cw_bad_list_add(rows->head->bad, (int64_t)i, &bad);
    }
}

/* Runs one epoch from `from`; stops when `take` is reached, as the client does. */
static void run(struct cw_rebatch *join, uint64_t from)
{
    struct cw_err err = {0};
    int64_t first = 0;
    for (uint64_t item = 0; item < ITEMS; item++) {
        struct cw_item_rows *rows =
            rows_in(item) || item % 8 == 2 ? item_rows(item, first, rows_in(item)) : NULL;
        first += (int64_t)rows_in(item);
        if (rows)
            add_bad(rows, item);
        if (item >= from && !cw_rebatch_is_full(join))
            assert_int_equal(cw_rebatch_item(join, rows, &err), 0);
        cw_item_rows_free(rows);
    }
    assert_int_equal(cw_rebatch_end(join, &err), 0);
}

static uint64_t total_rows(void)
{
    uint64_t n = 0;
    for (uint64_t item = 0; item < ITEMS; item++)
        n += rows_in(item);
    return n;
}

static void check_all(const struct cw_plan_join *rules, uint64_t consumers, uint64_t consumer)
{
    struct cw_rebatch_conf conf = {.rules = *rules, .consumers = consumers, .consumer = consumer};
    struct cw_pos zero = {0};
    struct cw_rebatch join;
    struct result result = {.n = 0}, again = {.n = 0};
    cw_rebatch_init(&join, &conf, &zero, 0, on_batch, on_alloc, &result);
    run(&join, 0);
    uint64_t size = rules->batch ? (uint64_t)rules->batch : 1;
    uint64_t begin = CW_MIN((uint64_t)rules->skip, total_rows());
    uint64_t end =
        rules->take < 0 ? total_rows() : CW_MIN(begin + (uint64_t)rules->take, total_rows());
    size_t k = 0;
    for (uint64_t at = begin, number = 0; at < end; at += size, number++) {
        uint64_t rows = CW_MIN(size, end - at);
        if ((rows < size && rules->drop_remainder) || number % consumers != consumer)
            continue;
        assert_true(k < result.n);
        assert_int_equal(result.batches[k]->item, number);
        assert_int_equal(result.after[k].batches, number + 1);
        check_batch(result.batches[k++], (int64_t)at, rows, rules->batch == 0);
    }
    assert_int_equal(k, result.n);
    assert_int_equal(join.at.epoch, 1);
    cw_rebatch_fini(&join);
    /* Resumed behind each batch it goes on with the next one. */
    for (size_t i = 0; i < result.n; i++) {
        cw_rebatch_init(&join, &conf, &result.after[i], result.after[i].batches, on_batch, on_alloc,
                        &again);
        run(&join, result.after[i].item);
        assert_int_equal(again.n, result.n - i - 1);
        for (size_t j = 0; j < again.n; j++) {
            assert_int_equal(again.batches[j]->item, result.batches[i + 1 + j]->item);
            const int64_t *a = cw_batch_data(again.batches[j], 0),
                          *b = cw_batch_data(result.batches[i + 1 + j], 0);
            assert_int_equal(again.batches[j]->elements, result.batches[i + 1 + j]->elements);
            assert_int_equal(a[0], b[0]);
        }
        clear(&again);
        cw_rebatch_fini(&join);
    }
    clear(&result);
}

static void test_model(void **arg)
{
    (void)arg;
    const int64_t skips[] = {0, 1, 13, 1000}, takes[] = {-1, 0, 1, 30, 1000},
                  sizes[] = {0, 1, 4, 7, 64};
    for (size_t s = 0; s < CW_ARRAY_LEN(skips); s++)
        for (size_t t = 0; t < CW_ARRAY_LEN(takes); t++)
            for (size_t b = 0; b < CW_ARRAY_LEN(sizes); b++)
                for (int drop = 0; drop < 2; drop++) {
                    struct cw_plan_join rules = {skips[s], takes[t], sizes[b], drop, false};
                    check_all(&rules, 1, 0);
                    check_all(&rules, 3, 1);
                }
}

/* Other consumers from the token of one: everyone begins with the round behind it. */
static void test_floor(void **arg)
{
    (void)arg;
    struct cw_rebatch_conf conf = {
        .rules = {0, -1, 4, false, false}, .consumers = 2, .consumer = 1};
    struct cw_pos zero = {0};
    struct cw_rebatch join;
    struct result result = {.n = 0};
    cw_rebatch_init(&join, &conf, &zero, 6, on_batch, on_alloc, &result);
    run(&join, 0);
    assert_int_equal(result.batches[0]->item, 7);
    cw_rebatch_fini(&join);
    clear(&result);
}

/* Counts in `seen` which elements a batch, or the end of an epoch, was said to lack. */
static void see_bad(const struct cw_bad_list *list, uint64_t skipped, int *seen)
{
    assert_int_equal(cw_bad_list_n(list), skipped);
    for (size_t i = 0; i < skipped; i++)
        seen[cw_bad_list_at(list, i)->position]++;
}

static void see_all(const struct result *result, size_t from, const struct cw_rebatch *join,
                    int *seen)
{
    for (size_t i = from; i < result->n; i++)
        see_bad(result->batches[i]->bad, result->batches[i]->skipped, seen);
    see_bad(join->end_bad, join->end_skipped, seen);
}

/* Each bad element of an epoch is told once, by one consumer of several, with a batch or with the end
 * of the epoch. Whoever is resumed behind a batch tells the same with what comes behind it. */
static void test_bad_elements(void **arg)
{
    (void)arg;
    const int64_t sizes[] = {0, 1, 4, 7, 64};
    for (size_t s = 0; s < CW_ARRAY_LEN(sizes); s++)
        for (uint64_t consumers = 1; consumers <= 3; consumers++)
            for (int drop = 0; drop < 2; drop++) {
                int seen[10 * ITEMS] = {0};
                for (uint64_t consumer = 0; consumer < consumers; consumer++) {
                    struct cw_rebatch_conf conf = {{0, -1, sizes[s], drop, false},
                                                   .consumers = consumers,
                                                   .consumer = consumer};
                    struct result whole = {.n = 0}, rest = {.n = 0};
                    struct cw_pos zero = {0};
                    struct cw_rebatch join;
                    cw_rebatch_init(&join, &conf, &zero, 0, on_batch, on_alloc, &whole);
                    run(&join, 0);
                    see_all(&whole, 0, &join, seen);
                    for (size_t i = 0; i < whole.n; i++) {
                        int want[10 * ITEMS] = {0}, got[10 * ITEMS] = {0};
                        struct cw_rebatch again;
                        see_all(&whole, i + 1, &join, want);
                        cw_rebatch_init(&again, &conf, &whole.after[i], whole.after[i].batches,
                                        on_batch, on_alloc, &rest);
                        run(&again, whole.after[i].item);
                        see_all(&rest, 0, &again, got);
                        assert_memory_equal(want, got, sizeof want);
                        clear(&rest);
                        cw_rebatch_fini(&again);
                    }
                    clear(&whole);
                    cw_rebatch_fini(&join);
                }
                for (uint64_t item = 0; item < ITEMS; item++) {
                    bool comes = rows_in(item) > 0 || item % 8 == 2;
                    for (uint64_t i = 0; i < 10; i++)
                        assert_int_equal(seen[10 * item + i], comes && i < bad_in(item));
                }
            }
}

static void on_release(void *arg, struct cw_buf *buf)
{
    uint64_t *released = arg;
    cw_mem_free(buf->data);
    (*released)++;
}

/* Rows whose memory counts when it is let go. */
static struct cw_item_rows *counted_rows(uint64_t item, int64_t first, uint64_t n,
                                         uint64_t *released)
{
    struct cw_item_rows *rows = item_rows(item, first, n);
    struct cw_buf *buf = rows->head->buf;
    void *data = cw_mem_dup(buf->data, buf->len);
    rows->head->buf = cw_buf_wrap(data, buf->len, on_release, released);
    cw_buf_unref(buf);
    return rows;
}

/* However many items a batch spans, nothing of an item is held that was walked; rows of other
 * consumers' batches take no memory at all. */
static void test_holds_nothing(void **arg)
{
    (void)arg;
    for (uint64_t consumers = 1; consumers <= 2; consumers++) {
        struct cw_rebatch_conf conf = {.rules = {0, -1, 1000, false, false},
                                       .consumers = consumers,
                                       .consumer = consumers - 1};
        struct cw_pos zero = {0};
        struct cw_err err = {0};
        struct cw_rebatch join;
        struct result result = {.n = 0};
        uint64_t released = 0;
        cw_rebatch_init(&join, &conf, &zero, 0, on_batch, on_alloc, &result);
        for (uint64_t item = 0; item < 500; item++) {
            struct cw_item_rows *rows = counted_rows(item, (int64_t)(2 * item), 2, &released);
            assert_int_equal(cw_rebatch_item(&join, rows, &err), 0);
            cw_item_rows_free(rows);
            assert_int_equal(released, item + 1);
            assert_true(consumers == 1 || join.filling.bytes == 0);
        }
        assert_int_equal(result.n, consumers == 1 ? 1 : 0);
        assert_int_equal(join.filling.bytes, 0);
        cw_rebatch_fini(&join);
        clear(&result);
    }
}

struct scarce {
    struct result result; /* first: on_batch is given this */
    size_t most;
    uint64_t asked;
};

static struct cw_buf *on_scarce_alloc(void *arg, size_t bytes)
{
    struct scarce *scarce = arg;
    scarce->asked++;
    return bytes > scarce->most ? NULL : cw_buf_new(bytes);
}

/* A batch size far above what is there: the batch has what came. Where its memory can be had at
 * once, nothing moves. */
static void test_scarce_memory(void **arg)
{
    (void)arg;
    const int64_t sizes[] = {100, 1 << 20, (int64_t)1 << 50};
    for (size_t s = 0; s < CW_ARRAY_LEN(sizes); s++) {
        struct cw_rebatch_conf conf = {.rules = {0, -1, sizes[s], false, false}, .consumers = 1};
        struct cw_pos zero = {0};
        struct cw_rebatch join;
        struct scarce scarce = {.most = 8192};
        cw_rebatch_init(&join, &conf, &zero, 0, on_batch, on_scarce_alloc, &scarce);
        run(&join, 0);
        assert_int_equal(scarce.result.n,
                         (total_rows() + (uint64_t)sizes[s] - 1) / (uint64_t)sizes[s]);
        for (size_t i = 0; i < scarce.result.n; i++) {
            const struct cw_batch *batch = scarce.result.batches[i];
            uint64_t first = i * (uint64_t)sizes[s];
            check_batch(batch, (int64_t)first, CW_MIN((uint64_t)sizes[s], total_rows() - first),
                        false);
        }
        if (s == 0)
            assert_int_equal(scarce.asked, scarce.result.n);
        cw_rebatch_fini(&join);
        clear(&scarce.result);
        struct cw_err err = {0};
        scarce.most = 16;
        cw_rebatch_init(&join, &conf, &zero, 0, on_batch, on_scarce_alloc, &scarce);
        struct cw_item_rows *rows = item_rows(0, 0, 5);
        assert_int_equal(cw_rebatch_item(&join, rows, &err), CW_E_NOMEM);
        cw_item_rows_free(rows);
        cw_rebatch_fini(&join);
    }
}

static bool is_left_out(uint64_t number)
{
    return (number >= 2 && number < 5) || number == 7;
}

/* Batches that are passed over are cut all the same: the others keep numbers, bytes and places
 * behind them, resumed or not. */
static void test_skipped(void **arg)
{
    (void)arg;
    for (uint64_t consumers = 1; consumers <= 3; consumers++) {
        for (uint64_t consumer = 0; consumer < consumers; consumer++) {
            struct cw_rebatch_conf conf = {
                .rules = {3, -1, 7, false, false}, .consumers = consumers, .consumer = consumer};
            struct result whole = {.n = 0}, cut = {.n = 0};
            struct cw_pos from = {0};
            struct cw_rebatch join;
            cw_rebatch_init(&join, &conf, &from, 0, on_batch, on_alloc, &whole);
            run(&join, 0);
            cw_rebatch_fini(&join);
            /* from the beginning, and behind each batch */
            for (size_t begin = 0; begin <= whole.n; begin++) {
                cw_rebatch_init(&join, &conf, &from, from.batches, on_batch, on_alloc, &cut);
                cw_rebatch_skip(&join, 0, RANGE(2, 5));
                cw_rebatch_skip(&join, 0, RANGE(7, 8));
                cw_rebatch_skip(&join, 1, RANGE(0, 100));
                run(&join, from.item);
                size_t k = 0;
                uint64_t left_out = 0;
                for (size_t i = begin; i < whole.n; i++) {
                    const struct cw_batch *batch = whole.batches[i];
                    if (is_left_out(batch->item)) {
                        left_out++;
                        continue;
                    }
                    assert_true(k < cut.n);
                    assert_int_equal(cut.batches[k]->item, batch->item);
                    assert_int_equal(cut.batches[k]->buf->len, batch->buf->len);
                    assert_memory_equal(&cut.after[k], &whole.after[i], sizeof(struct cw_pos));
                    const int64_t *v = cw_batch_data(batch, 0);
                    check_batch(cut.batches[k++], v[0], batch->elements, false);
                }
                assert_int_equal(k, cut.n);
                assert_int_equal(join.left_out, left_out);
                from = begin < whole.n ? whole.after[begin] : from;
                clear(&cut);
                cw_rebatch_fini(&join);
            }
            clear(&whole);
        }
    }
}

/* The word comes while the batch is being filled. */
static void test_skipped_when_half_full(void **arg)
{
    (void)arg;
    struct cw_rebatch_conf conf = {.rules = {0, -1, 8, false, false}, .consumers = 1};
    struct cw_pos zero = {0};
    struct cw_err err = {0};
    struct cw_rebatch join;
    struct result result = {.n = 0};
    cw_rebatch_init(&join, &conf, &zero, 0, on_batch, on_alloc, &result);
    for (uint64_t item = 0; item < 4; item++) {
        struct cw_item_rows *rows = item_rows(item, (int64_t)(5 * item), 5);
        assert_int_equal(cw_rebatch_item(&join, rows, &err), 0);
        cw_item_rows_free(rows);
        if (item == 0)
            cw_rebatch_skip(&join, 0, RANGE(0, 1));
    }
    assert_int_equal(cw_rebatch_end(&join, &err), 0);
    assert_int_equal(join.left_out, 1);
    assert_int_equal(result.n, 2);
    assert_int_equal(result.batches[0]->item, 1);
    check_batch(result.batches[0], 8, 8, false);
    check_batch(result.batches[1], 16, 4, false);
    clear(&result);
    cw_rebatch_fini(&join);
}

static void test_bad_rows(void **arg)
{
    (void)arg;
    struct cw_rebatch_conf conf = {.rules = {0, -1, 8, false, false}, .consumers = 1};
    struct cw_pos zero = {0};
    struct cw_err err = {0};
    struct cw_rebatch join;
    struct result result = {.n = 0};
    cw_rebatch_init(&join, &conf, &zero, 0, on_batch, on_alloc, &result);
    struct cw_item_rows *rows = item_rows(0, 0, 5);
    rows->head->tensors[1].field.dims[0] = 4;
    assert_int_equal(cw_rebatch_item(&join, rows, &err), CW_E_CORRUPT);
    rows->head->tensors[1].field.dims[0] = 5;
    /* a table of strings has one dimension, or its length would be another one */
    struct cw_field *text = &rows->head->tensors[2].field;
    text->rank = 2;
    text->dims[1] = 1000;
    assert_int_equal(cw_rebatch_item(&join, rows, &err), CW_E_CORRUPT);
    text->rank = 1;
    int64_t *offsets =
        (int64_t *)(void *)((char *)rows->head->buf->data + rows->head->tensors[2].offset);
    offsets[3] = 1 << 30;
    assert_int_equal(cw_rebatch_item(&join, rows, &err), CW_E_CORRUPT);
    cw_rebatch_fini(&join); /* an error ends the job */
    cw_rebatch_init(&join, &conf, &zero, 0, on_batch, on_alloc, &result);
    cw_item_rows_free(rows);
    rows = item_rows(0, 0, 5);
    struct cw_item_rows *other = item_rows(1, 5, 5);
    other->head->tensors[0].field.name[0] = 'w';
    assert_int_equal(cw_rebatch_item(&join, rows, &err), 0);
    assert_int_equal(cw_rebatch_item(&join, other, &err), CW_E_INVALID);
    assert_non_null(strstr(err.msg, "items 0 and 1 "));
    assert_non_null(strstr(err.msg, "shapes"));
    cw_rebatch_fini(&join);
    conf.rules = (struct cw_plan_join){0, -1, 11, true, false};
    cw_rebatch_init(&join, &conf, &zero, 0, on_batch, on_alloc, &result);
    assert_int_equal(cw_rebatch_item(&join, rows, &err), 0);
    assert_int_equal(cw_rebatch_item(&join, other, &err), 0);
    /* left out at the end: nobody sees them together */
    assert_int_equal(cw_rebatch_end(&join, &err), 0);
    cw_item_rows_free(rows);
    cw_item_rows_free(other);
    assert_int_equal(result.n, 0);
    cw_rebatch_fini(&join);
}

/* ---- rows of different shapes ---- */

/* Row v of "t" has v % 4 numbers v. Row v of "m" has the shape {1 + v % 2, v % 3}, or always {2, 3}. */
static void row_shapes(int64_t v, bool alike, int64_t *t, int64_t m[2])
{
    *t = v % 4;
    m[0] = alike ? 2 : 1 + v % 2;
    m[1] = alike ? 3 : v % 3;
}

/* Items as workers send them: ragged where rows differ, stacked where they do not (`alike`). */
static struct cw_item_rows *ragged_rows(uint64_t item, int64_t first, uint64_t n, bool alike)
{
    struct cw_batch *batch = cw_batch_new(2);
    struct cw_ragged ragged;
    struct cw_ragged_writer writer;
    struct cw_err err = {0};
    size_t bytes = 0, t_values = 0, m_values = 0;
    int64_t t, m[2];
    for (uint64_t r = 0; r < n; r++) {
        row_shapes(first + (int64_t)r, alike, &t, m);
        t_values += (size_t)t;
        m_values += (size_t)(m[0] * m[1]);
    }
    batch->item = item;
    batch->elements = n;
    struct cw_tensor *tensors = batch->tensors;
    tensors[0].field = (struct cw_field){"t", CW_DTYPE_I64, 2, {(int64_t)n, CW_DIM_RAGGED}};
    tensors[1].field =
        (struct cw_field){"m", CW_DTYPE_U8, 3, {(int64_t)n, CW_DIM_RAGGED, CW_DIM_RAGGED}};
    if (alike)
        tensors[1].field = (struct cw_field){"m", CW_DTYPE_U8, 3, {(int64_t)n, 2, 3}};
    for (int i = 0; i < 2; i++)
        if (cw_ragged_init(&ragged, &tensors[i].field, &err) == 0)
            tensors[i].bytes = ragged.values_at + (i ? m_values : t_values * sizeof(int64_t));
    assert_int_equal(cw_batch_layout(batch, &bytes, &err), 0);
    batch->buf = cw_buf_new(bytes);
    char *base = batch->buf->data;
    assert_int_equal(cw_ragged_write_begin(&writer, &tensors[0].field, base, &err), 0);
    for (uint64_t r = 0; r < n; r++) {
        int64_t v = first + (int64_t)r;
        row_shapes(v, alike, &t, m);
        int64_t *to = cw_ragged_write_row(&writer, &t);
        for (int64_t i = 0; i < t; i++)
            to[i] = v;
    }
    char *stacked = base + tensors[1].offset;
    if (!alike)
        assert_int_equal(cw_ragged_write_begin(&writer, &tensors[1].field, stacked, &err), 0);
    for (uint64_t r = 0; r < n; r++) {
        int64_t v = first + (int64_t)r;
        row_shapes(v, alike, &t, m);
        char *to = alike ? stacked + 6 * r : cw_ragged_write_row(&writer, m);
        memset(to, (int)v, (size_t)(m[0] * m[1]));
    }
    assert_int_equal(cw_batch_validate(batch, &err), 0);
    return cw_item_rows_new(batch, NULL, 0);
}

static void check_ragged(const struct cw_batch *batch, int64_t first, bool alike)
{
    struct cw_ragged t, m;
    struct cw_err err = {0};
    assert_int_equal(cw_batch_validate(batch, &err), 0);
    assert_int_equal(cw_ragged_init(&t, &batch->tensors[0].field, &err), 0);
    assert_int_equal(cw_ragged_init(&m, &batch->tensors[1].field, &err), 0);
    for (int64_t r = 0; r < (int64_t)batch->elements; r++) {
        struct cw_view row;
        int64_t v = first + r, n, shape[2];
        row_shapes(v, alike, &n, shape);
        cw_ragged_row(&t, cw_batch_data(batch, 0), r, &row);
        assert_true(row.rank == 1 && row.dims[0] == n);
        for (int64_t i = 0; i < n; i++)
            assert_int_equal(((int64_t *)row.data)[i], v);
        cw_ragged_row(&m, cw_batch_data(batch, 1), r, &row);
        assert_true(row.rank == 2 && row.dims[0] == shape[0] && row.dims[1] == shape[1]);
        for (size_t i = 0; i < row.bytes; i++)
            assert_int_equal(((unsigned char *)row.data)[i], (unsigned char)v);
    }
}

static struct cw_field ragged_fields[] = {
    {"t", CW_DTYPE_I64, 2, {-1, CW_DIM_RAGGED}},
    {"m", CW_DTYPE_U8, 3, {-1, CW_DIM_RAGGED, CW_DIM_RAGGED}}};
static const struct cw_spec ragged_out = {.n = 2, .fields = ragged_fields};

static void ragged_batches(int64_t size, bool alike)
{
    struct cw_rebatch_conf conf = {
        .rules = {0, -1, size, false, false}, .out = &ragged_out, .consumers = 1};
    struct cw_pos zero = {0};
    struct cw_rebatch join;
    struct result result = {.n = 0};
    struct cw_err err = {0};
    int64_t at = 0;
    cw_rebatch_init(&join, &conf, &zero, 0, on_batch, on_alloc, &result);
    for (uint64_t item = 0; item < ITEMS; item++) {
        struct cw_item_rows *rows = ragged_rows(item, at, rows_in(item), alike && item % 3 > 0);
        assert_int_equal(cw_rebatch_item(&join, rows, &err), 0);
        cw_item_rows_free(rows);
        at += (int64_t)rows_in(item);
    }
    assert_int_equal(cw_rebatch_end(&join, &err), 0);
    assert_int_equal(result.n, (total_rows() + (uint64_t)size - 1) / (uint64_t)size);
    for (size_t k = 0; !alike && k < result.n; k++)
        check_ragged(result.batches[k], (int64_t)k * size, false);
    for (size_t k = 0; alike && k < result.n; k++)
        assert_int_equal(cw_batch_validate(result.batches[k], &err), 0);
    clear(&result);
    cw_rebatch_fini(&join);
}

static void test_ragged(void **arg)
{
    (void)arg;
    for (int64_t size = 1; size < 70; size = 2 * size + 1) {
        ragged_batches(size, false);
        ragged_batches(size, true);
    }
}

/* Without a ragged field in what is delivered, rows of one shape are stacked, and others refused. */
static void test_stacked(void **arg)
{
    (void)arg;
    struct cw_rebatch_conf conf = {.rules = {0, -1, 2, false, false}, .consumers = 1};
    struct cw_pos zero = {0};
    struct cw_rebatch join;
    struct result result = {.n = 0};
    struct cw_err err = {0};
    struct cw_item_rows *rows = ragged_rows(0, 1, 2, true);
    cw_rebatch_init(&join, &conf, &zero, 0, on_batch, on_alloc, &result);
    assert_int_equal(cw_rebatch_item(&join, rows, &err), CW_E_INVALID); /* t: 1 and 2 numbers */
    assert_non_null(strstr(err.msg, "different shapes"));
    cw_item_rows_free(rows);
    cw_rebatch_fini(&join);
    /* One row a batch: each has its own shape. */
    conf.rules.batch = 0;
    cw_rebatch_init(&join, &conf, &zero, 0, on_batch, on_alloc, &result);
    rows = ragged_rows(0, 0, 9, false);
    assert_int_equal(cw_rebatch_item(&join, rows, &err), 0);
    cw_item_rows_free(rows);
    assert_int_equal(result.n, 9);
    for (size_t k = 0; k < 9; k++) {
        int64_t t, m[2];
        row_shapes((int64_t)k, false, &t, m);
        const struct cw_batch *batch = result.batches[k];
        assert_int_equal(cw_batch_validate(batch, &err), 0);
        assert_true(batch->tensors[0].field.rank == 1 && batch->tensors[0].field.dims[0] == t);
        assert_true(batch->tensors[1].field.dims[0] == m[0] &&
                    batch->tensors[1].field.dims[1] == m[1]);
        if (t > 0)
            assert_int_equal(*(const int64_t *)cw_batch_data(batch, 0), k);
    }
    clear(&result);
    cw_rebatch_fini(&join);
}

/* A worker that lies about where rows begin, in each number of the head: an error, or rows that are
 * sound, and nothing outside of its bytes is read. */
static void test_ragged_lies(void **arg)
{
    static const int64_t lies[] = {-1, INT64_MIN, INT64_MAX, 1 << 20, 3};
    (void)arg;
    for (size_t i = 0; i < 24; i++)
        for (size_t k = 0; k < CW_ARRAY_LEN(lies); k++) {
            struct cw_rebatch_conf conf = {.rules = {0, -1, 3, false, false}, .consumers = 1};
            struct cw_pos zero = {0};
            struct cw_rebatch join;
            struct result result = {.n = 0};
            struct cw_err err = {0};
            struct cw_item_rows *rows = ragged_rows(0, 0, 6, false);
            memcpy((char *)rows->head->buf->data + rows->head->tensors[i % 2].offset + i / 2 * 8,
                   &lies[k], sizeof(lies[k]));
            conf.out = &ragged_out;
            cw_rebatch_init(&join, &conf, &zero, 0, on_batch, on_alloc, &result);
            if (cw_rebatch_item(&join, rows, &err) == 0) {
                for (size_t b = 0; b < result.n; b++)
                    assert_int_equal(cw_batch_validate(result.batches[b], &err), 0);
            } else {
                assert_int_equal(err.code, CW_E_CORRUPT);
            }
            cw_item_rows_free(rows);
            clear(&result);
            cw_rebatch_fini(&join);
        }
}

/* Rows that are batches which a worker has made are given out one by one, and have as many elements as
 * their first dimension says. */
static void test_whole(void **arg)
{
    struct cw_rebatch_conf conf = {.rules = {.take = -1, .whole = true}, .consumers = 1};
    struct cw_pos zero = {0};
    struct cw_rebatch join;
    struct result result = {.n = 0};
    struct cw_err err = {0};
    struct cw_item_rows *rows = ragged_rows(0, 0, 6, false);
    (void)arg;
    cw_rebatch_init(&join, &conf, &zero, 0, on_batch, on_alloc, &result);
    assert_int_equal(cw_rebatch_item(&join, rows, &err), 0);
    assert_int_equal(result.n, 6);
    for (size_t v = 0; v < 6; v++)
        assert_int_equal(result.batches[v]->elements, v % 4);
    cw_item_rows_free(rows);
    clear(&result);
    cw_rebatch_fini(&join);
}

/* ---- rows that are filled up ---- */

/* What is delivered, and how: "t" to a multiple of 2, on the right; both dims of "m" on the left. */
static struct cw_field padded_fields[] = {
    {"t", CW_DTYPE_I64, 2, {-1, -1}},       {"m", CW_DTYPE_U8, 3, {-1, -1, -1}},
    {"t_length", CW_DTYPE_I64, 1, {-1}},    {"t_mask", CW_DTYPE_BOOL, 2, {-1, -1}},
    {"m_length", CW_DTYPE_I64, 2, {-1, 2}}, {"m_mask", CW_DTYPE_BOOL, 3, {-1, -1, -1}}};
static const struct cw_spec padded_out = {.n = 6, .fields = padded_fields};

static struct cw_pads *padded_pads(void)
{
    static const struct cw_pad t = {.on = {true},
                                    .to = {-1},
                                    .multiple = 2,
                                    .value = {9},
                                    .length = 2,
                                    .mask = 3},
                               m = {.on = {true, true},
                                    .to = {-1, -1},
                                    .multiple = 1,
                                    .value = {200},
                                    .left = true,
                                    .length = 4,
                                    .mask = 5};
    struct cw_pads *pads = cw_pads_new(2);
    struct cw_err err = {0};
    pads->field[0] = (struct cw_pads_field){true, t};
    pads->field[1] = (struct cw_pads_field){true, m};
    assert_int_equal(cw_pads_check(pads, &padded_out, &err), 0);
    assert_int_equal(pads->extra, 4);
    return pads;
}

static void check_t(const struct cw_batch *batch, int64_t first)
{
    const int64_t *dims = batch->tensors[0].field.dims, *t = cw_batch_data(batch, 0),
                  *length = cw_batch_data(batch, 2);
    const unsigned char *mask = cw_batch_data(batch, 3);
    int64_t most = 0, n, m[2];
    for (int64_t r = 0; r < dims[0]; r++) {
        row_shapes(first + r, false, &n, m);
        most = CW_MAX(most, n);
        assert_int_equal(length[r], n);
        for (int64_t i = 0; i < dims[1]; i++) {
            assert_int_equal(t[r * dims[1] + i], i < n ? first + r : 9);
            assert_int_equal(mask[r * dims[1] + i], i < n);
        }
    }
    assert_int_equal(dims[1], (most + 1) / 2 * 2);
    assert_int_equal(batch->tensors[3].field.dims[1], dims[1]);
}

static void check_m(const struct cw_batch *batch, int64_t first)
{
    const int64_t *dims = batch->tensors[1].field.dims, *lengths = cw_batch_data(batch, 4);
    const unsigned char *values = cw_batch_data(batch, 1), *mask = cw_batch_data(batch, 5);
    int64_t most[2] = {0}, n, m[2];
    for (int64_t r = 0; r < dims[0]; r++) {
        row_shapes(first + r, false, &n, m);
        for (int64_t i = 0, at = r * dims[1] * dims[2]; i < dims[1]; i++)
            for (int64_t k = 0; k < dims[2]; k++, at++) {
                bool own = i >= dims[1] - m[0] && k >= dims[2] - m[1];
                assert_int_equal(values[at], own ? (unsigned char)(first + r) : 200);
                assert_int_equal(mask[at], own);
            }
        for (int d = 0; d < 2; d++) {
            assert_int_equal(lengths[2 * r + d], m[d]);
            most[d] = CW_MAX(most[d], m[d]);
        }
    }
    assert_true(dims[1] == most[0] && dims[2] == most[1]);
    assert_memory_equal(batch->tensors[5].field.dims, dims, 3 * sizeof(dims[0]));
}

static void check_padded(const struct cw_batch *batch, int64_t first)
{
    struct cw_err err = {0};
    assert_int_equal(cw_batch_validate(batch, &err), 0);
    assert_int_equal(batch->n, 6);
    for (size_t i = 0; i < 6; i++) {
        assert_string_equal(batch->tensors[i].field.name, padded_fields[i].name);
        assert_int_equal(batch->tensors[i].field.rank, padded_fields[i].rank);
        assert_int_equal(batch->tensors[i].field.dims[0], batch->elements);
    }
    assert_int_equal(batch->tensors[4].field.dims[1], 2);
    check_t(batch, first);
    check_m(batch, first);
}

static void test_padded(void **arg)
{
    (void)arg;
    struct cw_pads *pads = padded_pads();
    for (int64_t size = 1; size < 70; size = 2 * size + 1) {
        struct cw_rebatch_conf conf = {
            .rules = {0, -1, size, false, false}, .out = &padded_out, .pads = pads, .consumers = 1};
        struct cw_pos zero = {0};
        struct cw_rebatch join;
        struct result result = {.n = 0};
        struct cw_err err = {0};
        int64_t at = 0;
        cw_rebatch_init(&join, &conf, &zero, 0, on_batch, on_alloc, &result);
        for (uint64_t item = 0; item < ITEMS; item++) {
            struct cw_item_rows *rows = ragged_rows(item, at, rows_in(item), false);
            assert_int_equal(cw_rebatch_item(&join, rows, &err), 0);
            cw_item_rows_free(rows);
            at += (int64_t)rows_in(item);
        }
        assert_int_equal(cw_rebatch_end(&join, &err), 0);
        assert_int_equal(result.n, (total_rows() + (uint64_t)size - 1) / (uint64_t)size);
        for (size_t k = 0; k < result.n; k++)
            check_padded(result.batches[k], (int64_t)k * size);
        clear(&result);
        cw_rebatch_fini(&join);
    }
    cw_pads_unref(pads);
}

/* Items of rows of one shape come stacked, and fields that are not filled up stay what they are. */
static void test_padded_stacked(void **arg)
{
    (void)arg;
    static struct cw_field fields[] = {{"v", CW_DTYPE_I64, 1, {-1}},
                                       {"pair", CW_DTYPE_F32, 2, {-1, 5}},
                                       {"text", CW_DTYPE_STR, 1, {-1}}};
    static const struct cw_spec out = {.n = 3, .fields = fields};
    struct cw_pads *pads = cw_pads_new(3);
    struct cw_rebatch_conf conf = {
        .rules = {0, -1, 4, false, false}, .out = &out, .pads = pads, .consumers = 1};
    struct cw_pos zero = {0};
    struct cw_rebatch join;
    struct result result = {.n = 0};
    struct cw_err err = {0};
    pads->field[1] = (struct cw_pads_field){
        true, {.on = {true}, .to = {5}, .multiple = 1, .length = -1, .mask = -1}};
    assert_int_equal(cw_pads_check(pads, &out, &err), 0);
    cw_rebatch_init(&join, &conf, &zero, 0, on_batch, on_alloc, &result);
    for (uint64_t item = 0; item < 3; item++) {
        struct cw_item_rows *rows = item_rows(item, (int64_t)item * 5, 5);
        assert_int_equal(cw_rebatch_item(&join, rows, &err), 0);
        cw_item_rows_free(rows);
    }
    assert_int_equal(cw_rebatch_end(&join, &err), 0);
    assert_int_equal(result.n, 4);
    for (size_t k = 0; k < 4; k++) {
        const struct cw_batch *batch = result.batches[k];
        const int64_t *v = cw_batch_data(batch, 0);
        const float *pair = cw_batch_data(batch, 1);
        char text[64];
        assert_int_equal(cw_batch_validate(batch, &err), 0);
        assert_int_equal(batch->tensors[1].field.dims[1], 5);
        const int64_t *offsets = cw_batch_data(batch, 2);
        const char *bytes = (const char *)(offsets + batch->elements + 1);
        for (size_t r = 0; r < batch->elements; r++) {
            assert_int_equal(v[r], 4 * k + r);
            for (size_t i = 0; i < 5; i++) // NOLINTNEXTLINE: exact by construction
                assert_true(pair[5 * r + i] == (float)(i < 2 ? (i + 1) * (4 * k + r) : 0));
            size_t len = text_of(v[r], text);
            assert_int_equal(offsets[r + 1] - offsets[r], len);
            assert_memory_equal(bytes + offsets[r], text, len);
        }
    }
    clear(&result);
    cw_rebatch_fini(&join);
    cw_pads_unref(pads);
}

/* A worker that lies about rows, or sends other fields, or rows that are longer than the pipeline allows. */
static void test_padded_lies(void **arg)
{
    static const int64_t lies[] = {-1, INT64_MIN, INT64_MAX, 1 << 20, 3};
    (void)arg;
    struct cw_pads *pads = padded_pads();
    struct cw_rebatch_conf conf = {
        .rules = {0, -1, 3, false, false}, .out = &padded_out, .pads = pads, .consumers = 1};
    struct cw_pos zero = {0};
    struct cw_rebatch join;
    struct result result = {.n = 0};
    struct cw_err err = {0};
    struct cw_item_rows *rows = NULL;
    for (size_t i = 0; i < 24 * CW_ARRAY_LEN(lies); i++) {
        const size_t at = i / CW_ARRAY_LEN(lies);
        rows = ragged_rows(0, 0, 6, false);
        memcpy((char *)rows->head->buf->data + rows->head->tensors[at % 2].offset + at / 2 * 8,
               &lies[i % CW_ARRAY_LEN(lies)], sizeof(lies[0]));
        cw_rebatch_init(&join, &conf, &zero, 0, on_batch, on_alloc, &result);
        if (cw_rebatch_item(&join, rows, &err) == 0) {
            for (size_t b = 0; b < result.n; b++)
                assert_int_equal(cw_batch_validate(result.batches[b], &err), 0);
        } else {
            /* a row without values may have any length */
            assert_true(err.code == CW_E_CORRUPT || err.code == CW_E_LIMIT);
        }
        cw_item_rows_free(rows);
        clear(&result);
        cw_rebatch_fini(&join);
    }
    rows = item_rows(0, 0, 5); /* other fields */
    cw_rebatch_init(&join, &conf, &zero, 0, on_batch, on_alloc, &result);
    assert_int_equal(cw_rebatch_item(&join, rows, &err), CW_E_CORRUPT);
    cw_item_rows_free(rows);
    cw_rebatch_fini(&join);
    rows = ragged_rows(0, 0, 5, false); /* another dtype */
    rows->head->tensors[0].field.dtype = CW_DTYPE_U64;
    cw_rebatch_init(&join, &conf, &zero, 0, on_batch, on_alloc, &result);
    assert_int_equal(cw_rebatch_item(&join, rows, &err), CW_E_CORRUPT);
    cw_item_rows_free(rows);
    cw_rebatch_fini(&join);
    pads->field[0].how.to[0] = 2; /* row 3 has 3 numbers */
    rows = ragged_rows(0, 0, 5, false);
    conf.rules.batch = 5;
    cw_rebatch_init(&join, &conf, &zero, 0, on_batch, on_alloc, &result);
    assert_int_equal(cw_rebatch_item(&join, rows, &err), CW_E_CORRUPT);
    assert_non_null(strstr(err.msg, "longer than it may be"));
    cw_item_rows_free(rows);
    cw_rebatch_fini(&join);
    cw_pads_unref(pads);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_whole),          cmocka_unit_test(test_padded),
        cmocka_unit_test(test_padded_stacked), cmocka_unit_test(test_padded_lies),
        cmocka_unit_test(test_model),          cmocka_unit_test(test_floor),
        cmocka_unit_test(test_holds_nothing),  cmocka_unit_test(test_scarce_memory),
        cmocka_unit_test(test_skipped),        cmocka_unit_test(test_skipped_when_half_full),
        cmocka_unit_test(test_bad_rows),       cmocka_unit_test(test_bad_elements),
        cmocka_unit_test(test_ragged),         cmocka_unit_test(test_stacked),
        cmocka_unit_test(test_ragged_lies)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
