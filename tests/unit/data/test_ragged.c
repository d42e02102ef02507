/* SPDX-License-Identifier: Apache-2.0 */
/* Ragged tensors: written and read back, and what peers may claim of them. */
#include "support/cm.h"

#include <string.h>

#include "base/mem.h"
#include "data/batch.h"
#include "data/ragged.h"

#define ROWS 4

/* Rows of the dims {r, 2} for r = 2, 0, 1, 3: only the first differs. */
static const struct cw_field flat = {"x", CW_DTYPE_I16, 3, {ROWS, CW_DIM_RAGGED, 2}};
static const int64_t flat_dims[ROWS][2] = {{2, 2}, {0, 2}, {1, 2}, {3, 2}};
/* Rows that differ in both dims. */
static const struct cw_field shaped = {"x", CW_DTYPE_U8, 3, {ROWS, CW_DIM_RAGGED, CW_DIM_RAGGED}};
static const int64_t shaped_dims[ROWS][2] = {{2, 3}, {0, 7}, {4, 1}, {1, 1}};

static struct cw_batch *make(const struct cw_field *field, const int64_t dims[][2])
{
    struct cw_batch *batch = cw_batch_new(1);
    struct cw_ragged ragged;
    struct cw_ragged_writer writer;
    struct cw_err err = {0};
    size_t bytes, values = 0, width = cw_dtype_bytes(field->dtype);
    unsigned char value = 0;
    batch->tensors[0].field = *field;
    assert_int_equal(cw_ragged_init(&ragged, &batch->tensors[0].field, &err), 0);
    for (int r = 0; r < ROWS; r++)
        values += (size_t)(dims[r][0] * dims[r][1]) * width;
    batch->tensors[0].bytes = ragged.values_at + values;
    assert_int_equal(cw_batch_layout(batch, &bytes, &err), 0);
    batch->buf = cw_buf_new(bytes);
    memset(batch->buf->data, 0xee, bytes);
    assert_int_equal(
        cw_ragged_write_begin(&writer, &batch->tensors[0].field, batch->buf->data, &err), 0);
    for (int r = 0; r < ROWS; r++) {
        unsigned char *to = cw_ragged_write_row(&writer, dims[r]);
        for (size_t i = 0; i < (size_t)(dims[r][0] * dims[r][1]) * width; i++)
            to[i] = value++;
    }
    return batch;
}

static void rows_come_back(const struct cw_field *field, const int64_t dims[][2])
{
    struct cw_batch *batch = make(field, dims);
    struct cw_ragged ragged;
    struct cw_err err = {0};
    unsigned char value = 0;
    assert_int_equal(cw_batch_validate(batch, &err), 0);
    assert_int_equal(cw_ragged_init(&ragged, field, &err), 0);
    for (int r = 0; r < ROWS; r++) {
        struct cw_view row;
        cw_ragged_row(&ragged, cw_batch_data(batch, 0), r, &row);
        assert_int_equal(row.rank, 2);
        assert_true(row.dims[0] == dims[r][0] && row.dims[1] == dims[r][1]);
        assert_int_equal(row.bytes,
                         (size_t)(dims[r][0] * dims[r][1]) * cw_dtype_bytes(field->dtype));
        for (size_t i = 0; i < row.bytes; i++)
            assert_int_equal(((unsigned char *)row.data)[i], value++);
    }
    cw_batch_unref(batch);
}

static void rows_are_written_and_read(void **state)
{
    (void)state;
    rows_come_back(&flat, flat_dims);
    rows_come_back(&shaped, shaped_dims);
}

static void parts_are_plain_tensors(void **state)
{
    static const int64_t flat_begins[] = {0, 2, 2, 3, 6}, shaped_begins[] = {0, 6, 6, 10, 11};
    struct cw_ragged_parts parts;
    struct cw_batch *batch = make(&flat, flat_dims);
    (void)state;
    assert_int_equal(
        cw_ragged_split(&flat, cw_batch_data(batch, 0), batch->tensors[0].bytes, &parts), 0);
    assert_int_equal(parts.shapes.rank, 0);
    assert_true(parts.begins.rank == 1 && parts.begins.dims[0] == ROWS + 1);
    assert_memory_equal(parts.begins.data, flat_begins, sizeof(flat_begins));
    assert_true(parts.values.rank == 2 && parts.values.dims[0] == 6 && parts.values.dims[1] == 2);
    assert_int_equal(parts.values.bytes, 24);
    assert_int_equal((uintptr_t)parts.values.data % 64, 0);
    cw_batch_unref(batch);
    batch = make(&shaped, shaped_dims);
    assert_int_equal(
        cw_ragged_split(&shaped, cw_batch_data(batch, 0), batch->tensors[0].bytes, &parts), 0);
    assert_memory_equal(parts.begins.data, shaped_begins, sizeof(shaped_begins));
    assert_memory_equal(parts.shapes.data, shaped_dims, sizeof(shaped_dims));
    assert_true(parts.values.rank == 1 && parts.values.dims[0] == 11 && parts.values.bytes == 11);
    cw_batch_unref(batch);
    struct cw_field plain = {"x", CW_DTYPE_U8, 1, {3}};
    assert_int_equal(cw_ragged_split(&plain, "abc", 3, &parts), CW_E_INVALID);
}

/* Whether number i of the head may be `lie`: a row without values has any width, and where no shapes
 * are stored, a row may begin anywhere between its neighbours. */
static bool may_be(const struct cw_field *field, const int64_t *head, size_t i, int64_t lie)
{
    if (head[i] == lie)
        return true;
    if (field == &shaped)
        return i == ROWS + 1 + 3 && lie >= 0;
    return i > 0 && i < ROWS && lie >= head[i - 1] && lie <= head[i + 1];
}

/* Each number of the head is replaced by each of several others. */
static void check_lies(const struct cw_field *field, const int64_t dims[][2], size_t numbers)
{
    static const int64_t lies[] = {-1, INT64_MIN, INT64_MAX, 5, 12, 1 << 20};
    for (size_t i = 0; i < numbers; i++)
        for (size_t k = 0; k < CW_ARRAY_LEN(lies); k++) {
            struct cw_batch *batch = make(field, dims);
            struct cw_err err = {0};
            int64_t head[3 * ROWS + 1];
            memcpy(head, batch->buf->data, numbers * sizeof(head[0]));
            memcpy((char *)batch->buf->data + i * sizeof(lies[0]), &lies[k], sizeof(lies[0]));
            bool sound = cw_batch_validate(batch, &err) == 0;
            assert_true(sound == may_be(field, head, i, lies[k]));
            assert_true(sound || (err.code == CW_E_CORRUPT && strlen(err.msg) > 10));
            cw_batch_unref(batch);
        }
}

static void lies_are_found(void **state)
{
    (void)state;
    check_lies(&flat, flat_dims, ROWS + 1);
    check_lies(&shaped, shaped_dims, 3 * ROWS + 1);
}

typedef void break_fn(struct cw_batch *batch);
static void too_short(struct cw_batch *b)
{
    b->tensors[0].bytes = 63;
}
static void no_values(struct cw_batch *b)
{
    b->tensors[0].bytes = 64;
}
static void half_a_value(struct cw_batch *b)
{
    b->tensors[0].bytes--;
}
static void more_rows(struct cw_batch *b)
{
    b->tensors[0].field.dims[0] = 1000;
}
static void endless_rows(struct cw_batch *b)
{
    b->tensors[0].field.dims[0] = INT64_MAX;
}
static void ragged_number_of_rows(struct cw_batch *b)
{
    b->tensors[0].field.dims[0] = CW_DIM_RAGGED;
}
static void unknown_beside(struct cw_batch *b)
{
    b->tensors[0].field.dims[2] = -1;
}
static void huge_beside(struct cw_batch *b)
{
    b->tensors[0].field.dims[2] = INT64_MAX;
}
static void of_strings(struct cw_batch *b)
{
    b->tensors[0].field.dtype = CW_DTYPE_STR;
}
static void no_buffer(struct cw_batch *b)
{
    b->buf = cw_buf_unref(b->buf);
}

static void headers_that_cannot_be(void **state)
{
    static break_fn *const breaks[] = {
        too_short,      no_values,   half_a_value, more_rows, endless_rows, ragged_number_of_rows,
        unknown_beside, huge_beside, of_strings,   no_buffer};
    (void)state;
    for (size_t i = 0; i < CW_ARRAY_LEN(breaks); i++) {
        struct cw_batch *batch = make(&flat, flat_dims);
        struct cw_err err = {0};
        breaks[i](batch);
        assert_int_equal(cw_batch_validate(batch, &err), CW_E_CORRUPT);
        assert_true(strlen(err.msg) > 10);
        cw_batch_unref(batch);
    }
}

/* Rows without values may be any number, and a batch may have no rows. */
static void empty_ones(void **state)
{
    struct cw_field field = {"x", CW_DTYPE_F32, 3, {2, CW_DIM_RAGGED, 0}};
    int64_t begins[16] = {0, 3, 5};
    struct cw_ragged ragged;
    struct cw_err err = {0};
    (void)state;
    assert_int_equal(cw_ragged_init(&ragged, &field, &err), 0);
    assert_int_equal(cw_ragged_check(&ragged, begins, 64, &err), 0);
    assert_int_equal(cw_ragged_check(&ragged, begins, 68, &err), CW_E_CORRUPT);
    begins[2] = 2;
    assert_int_equal(cw_ragged_check(&ragged, begins, 64, &err), CW_E_CORRUPT);
    field.dims[0] = 0;
    field.dims[2] = 4;
    assert_int_equal(cw_ragged_init(&ragged, &field, &err), 0);
    assert_int_equal(cw_ragged_check(&ragged, begins, 64, &err), 0);
    assert_int_equal(cw_ragged_check(&ragged, NULL, 64, &err), CW_E_CORRUPT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_written_and_read), cmocka_unit_test(parts_are_plain_tensors),
        cmocka_unit_test(lies_are_found), cmocka_unit_test(headers_that_cannot_be),
        cmocka_unit_test(empty_ones)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
