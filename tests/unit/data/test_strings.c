/* SPDX-License-Identifier: Apache-2.0 */
#include "support/cm.h"
#include <string.h>

#include "base/mem.h"
#include "data/batch.h"
#include "data/ragged.h"
#include "data/strings.h"

static const char *const WORDS[] = {"the", "", "quick", "brown fox", ""};

/* The first n words, in memory that is exactly as large. */
static void *list_of(size_t n, size_t *ret_bytes)
{
    struct cw_strings list = {0};
    for (size_t i = 0; i < n; i++) {
        cw_str_add(&list.text, WORDS[i]);
        assert_int_equal(cw_strings_end(&list, NULL), 0);
    }
    *ret_bytes = cw_strings_bytes(&list);
    void *p = cw_mem_new(*ret_bytes);
    cw_strings_put(&list, p);
    cw_strings_fini(&list);
    return p;
}

static void assert_words(const void *list, int64_t n, size_t first)
{
    for (int64_t i = 0; i < n; i++) {
        size_t bytes;
        const char *p = cw_strings_get(list, n, i, &bytes);
        assert_int_equal(bytes, strlen(WORDS[first + (size_t)i]));
        assert_memory_equal(p, WORDS[first + (size_t)i], bytes);
    }
}

static void lists_are_made_and_cut(void **state)
{
    (void)state;
    for (size_t n = 0; n <= CW_ARRAY_LEN(WORDS); n++) {
        size_t bytes;
        cw_autofree void *list = list_of(n, &bytes);
        assert_int_equal(cw_strings_check(list, bytes, (int64_t)n, NULL), 0);
        assert_words(list, (int64_t)n, 0);
        for (size_t first = 0; first <= n; first++) {
            const int64_t left = (int64_t)(n - first);
            size_t part_bytes = cw_strings_part_bytes(list, (int64_t)first, left);
            cw_autofree void *part = cw_mem_new(part_bytes);
            cw_strings_part_copy(list, (int64_t)n, (int64_t)first, left, part);
            assert_int_equal(cw_strings_check(part, part_bytes, left, NULL), 0);
            assert_words(part, left, first);
        }
    }
}

/* Cut at every byte, and with every byte changed, a list is refused or still within its memory. */
static void damaged_lists_are_refused(void **state)
{
    (void)state;
    size_t bytes;
    const int64_t n = CW_ARRAY_LEN(WORDS);
    cw_autofree unsigned char *list = list_of((size_t)n, &bytes);
    for (size_t cut = 0; cut < bytes; cut++)
        assert_int_equal(cw_strings_check(list, cut, n, NULL), CW_E_CORRUPT);
    assert_int_equal(cw_strings_check(list, bytes, -1, NULL), CW_E_CORRUPT);
    assert_int_equal(cw_strings_check(list, bytes, INT64_MAX, NULL), CW_E_CORRUPT);
    assert_int_equal(cw_strings_check(NULL, bytes, n, NULL), CW_E_CORRUPT);
    for (size_t at = 0; at < (size_t)n * sizeof(int64_t); at++) {
        list[at] ^= 0x80;
        if (cw_strings_check(list, bytes, n, NULL) == 0)
            for (int64_t i = 0; i < n; i++) {
                size_t one;
                const unsigned char *p = (const void *)cw_strings_get(list, n, i, &one);
                assert_true(p >= list && p + one <= list + bytes);
            }
        list[at] ^= 0x80;
    }
}

/* A ragged batch of rows of 2, 0 and 3 strings. */
static struct cw_batch *ragged_batch(void)
{
    static const int64_t begins[] = {0, 2, 2, 5};
    size_t bytes, all = 0;
    cw_autofree void *list = list_of(5, &bytes);
    struct cw_batch *batch = cw_batch_new(1);
    struct cw_ragged ragged;
    batch->tensors[0].field = (struct cw_field){"t", CW_DTYPE_STR, 2, {3, CW_DIM_RAGGED}};
    assert_int_equal(cw_ragged_init(&ragged, &batch->tensors[0].field, NULL), 0);
    batch->tensors[0].bytes = ragged.values_at + bytes;
    assert_int_equal(cw_batch_layout(batch, &all, NULL), 0);
    batch->buf = cw_buf_new(all);
    memset(batch->buf->data, 0, all);
    memcpy(batch->buf->data, begins, sizeof(begins));
    memcpy((char *)batch->buf->data + ragged.values_at, list, bytes);
    return batch;
}

static void ragged_batches_of_lists(void **state)
{
    static const int64_t counts[] = {2, 0, 3}, firsts[] = {0, 2, 2};
    (void)state;
    struct cw_batch *batch = ragged_batch();
    struct cw_ragged ragged;
    struct cw_ragged_parts parts;
    assert_int_equal(cw_batch_validate(batch, NULL), 0);
    assert_int_equal(cw_ragged_init(&ragged, &batch->tensors[0].field, NULL), 0);
    for (int64_t r = 0; r < 3; r++) {
        struct cw_view row;
        cw_ragged_row(&ragged, cw_batch_data(batch, 0), r, &row);
        assert_true(row.rank == 1 && row.dims[0] == counts[r]);
        cw_autofree void *list = cw_mem_new(row.bytes);
        cw_ragged_copy_strings(&ragged, cw_batch_data(batch, 0), r, list);
        assert_int_equal(cw_strings_check(list, row.bytes, counts[r], NULL), 0);
        assert_words(list, counts[r], (size_t)firsts[r]);
    }
    assert_int_equal(cw_ragged_split(&batch->tensors[0].field, cw_batch_data(batch, 0),
                                     batch->tensors[0].bytes, &parts),
                     0);
    assert_true(parts.values.rank == 1 && parts.values.dims[0] == 5);
    assert_words(parts.values.data, 5, 0);
    cw_batch_unref(batch);
}

static void damaged_batches_are_refused(void **state)
{
    (void)state;
    struct cw_batch *batch = ragged_batch();
    int64_t *begins = batch->buf->data;
    struct cw_err err = {0};
    begins[1] = 3; /* behind the next row */
    assert_int_equal(cw_batch_validate(batch, &err), CW_E_CORRUPT);
    begins[1] = 2;
    begins[3] = 6; /* more strings than there are */
    assert_int_equal(cw_batch_validate(batch, &err), CW_E_CORRUPT);
    begins[3] = INT64_MAX / 4;
    assert_int_equal(cw_batch_validate(batch, &err), CW_E_CORRUPT);
    begins[3] = 5;
    batch->tensors[0].bytes -= 1;
    assert_int_equal(cw_batch_validate(batch, &err), CW_E_CORRUPT);
    batch->tensors[0].bytes += 1;
    assert_int_equal(cw_batch_validate(batch, &err), 0);
    batch->tensors[0].field.rank = 3; /* lists of lists are not ragged */
    batch->tensors[0].field.dims[2] = 1;
    assert_int_equal(cw_batch_validate(batch, &err), CW_E_CORRUPT);
    cw_batch_unref(batch);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_are_made_and_cut),
        cmocka_unit_test(damaged_lists_are_refused),
        cmocka_unit_test(ragged_batches_of_lists),
        cmocka_unit_test(damaged_batches_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
