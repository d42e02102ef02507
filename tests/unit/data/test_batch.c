/* SPDX-License-Identifier: Apache-2.0 */
#include "support/cm.h"

#include "base/mem.h"
#include "support/batches.h"

static void layout_is_aligned(void **state)
{
    struct cw_batch *batch = cw_test_batch();

    (void)state;
    assert_int_equal(batch->tensors[0].offset, 0);
    assert_int_equal(batch->tensors[0].bytes, 12);
    assert_int_equal(batch->tensors[1].offset, 64);
    assert_int_equal(batch->buf->len, 128);
    assert_int_equal(cw_batch_validate(batch, NULL), CW_OK);
    assert_int_equal((uintptr_t)cw_batch_data(batch, 1) % 64, 0);
    cw_batch_ref(batch);
    assert_null(cw_batch_unref(batch));
    assert_null(cw_batch_unref(batch));
    assert_null(cw_batch_unref(NULL));
}

static void layout_refuses_what_cannot_be(void **state)
{
    struct cw_batch *batch = cw_batch_new(1);
    size_t bytes = 1;

    (void)state;
    batch->n = 0;
    assert_int_equal(cw_batch_layout(batch, &bytes, NULL), CW_OK);
    assert_int_equal(bytes, 0);
    batch->n = 1;
    batch->tensors[0].field =
        (struct cw_field){.name = "x", .dtype = CW_DTYPE_U8, .rank = 1, .dims = {-1}};
    assert_int_equal(cw_batch_layout(batch, &bytes, NULL), CW_E_INVALID);
    batch->tensors[0].field.dims[0] = (INT64_C(1) << 40) + 1;
    assert_int_equal(cw_batch_layout(batch, &bytes, NULL), CW_E_LIMIT);
    batch->tensors[0].field.dims[0] = INT64_C(1) << 40;
    assert_int_equal(cw_batch_layout(batch, &bytes, NULL), CW_OK);
    batch->tensors[0].field.dims[0] = 0;
    assert_int_equal(cw_batch_layout(batch, &bytes, NULL), CW_OK);
    assert_int_equal(cw_batch_validate(batch, NULL), CW_OK); /* no bytes, no buffer */
    assert_non_null(cw_batch_data(batch, 0));
    cw_batch_unref(batch);
}

typedef void break_fn(struct cw_batch *batch);
static void too_many(struct cw_batch *b)
{
    b->n = CW_FIELDS_MAX + 1;
}
static void endless_name(struct cw_batch *b)
{
    memset(b->tensors[0].field.name, 'a', CW_FIELD_NAME_BYTES);
}
static void bad_name(struct cw_batch *b)
{
    b->tensors[0].field.name[0] = '-';
}
static void same_name(struct cw_batch *b)
{
    b->tensors[1].field = b->tensors[0].field;
}
static void bad_dtype(struct cw_batch *b)
{
    b->tensors[0].field.dtype = CW_DTYPE_N;
}
static void bad_rank(struct cw_batch *b)
{
    b->tensors[0].field.rank = 9;
}
static void negative_rank(struct cw_batch *b)
{
    b->tensors[0].field.rank = -1;
}
static void other_dim(struct cw_batch *b)
{
    b->tensors[0].field.dims[0] = 4;
}
static void unknown_dim(struct cw_batch *b)
{
    b->tensors[0].field.dims[0] = -1;
}
static void odd_offset(struct cw_batch *b)
{
    b->tensors[0].offset = 8;
}
static void far_offset(struct cw_batch *b)
{
    b->tensors[0].offset = 128;
}
static void wrapping_offset(struct cw_batch *b)
{
    b->tensors[0].offset = SIZE_MAX - 63;
}
static void too_long(struct cw_batch *b)
{
    b->tensors[1].bytes = 65;
}
static void no_buffer(struct cw_batch *b)
{
    b->buf = cw_buf_unref(b->buf);
}
static void strings_without_buffer(struct cw_batch *b)
{
    b->tensors[0] = b->tensors[1];
    b->tensors[0].offset = b->tensors[0].bytes = 0;
    b->n = 1;
    b->buf = cw_buf_unref(b->buf);
}
static void more_strings(struct cw_batch *b)
{
    b->tensors[1].field.dims[0] = 1000;
}
static void endless_strings(struct cw_batch *b)
{
    b->tensors[1].field.dims[0] = INT64_MAX;
}
static void matrix_of_strings(struct cw_batch *b)
{
    b->tensors[1].field.rank = 2;
    b->tensors[1].field.dims[1] = 3;
}
static void set_offset(struct cw_batch *b, size_t i, int64_t v)
{
    memcpy((char *)b->buf->data + b->tensors[1].offset + 8 * i, &v, sizeof(v));
}
static void first_not_zero(struct cw_batch *b)
{
    set_offset(b, 0, 1);
}
static void falling(struct cw_batch *b)
{
    set_offset(b, 1, -1);
}
static void outside(struct cw_batch *b)
{
    set_offset(b, 1, 4);
}
static void bytes_left(struct cw_batch *b)
{
    set_offset(b, 2, 2);
}

static void validate_finds_every_lie(void **state)
{
    static break_fn *const breaks[] = {
        too_many,     endless_name,    bad_name,          same_name,      bad_dtype,
        bad_rank,     negative_rank,   other_dim,         unknown_dim,    odd_offset,
        far_offset,   wrapping_offset, too_long,          no_buffer,      strings_without_buffer,
        more_strings, endless_strings, matrix_of_strings, first_not_zero, falling,
        outside,      bytes_left};

    (void)state;
    for (size_t i = 0; i < CW_ARRAY_LEN(breaks); i++) {
        struct cw_batch *batch = cw_test_batch();
        struct cw_err err = {0};
        breaks[i](batch);
        assert_int_equal(cw_batch_validate(batch, &err), CW_E_CORRUPT);
        assert_true(strlen(err.msg) > 10);
        batch->n = CW_MIN(batch->n, (size_t)CW_FIELDS_MAX);
        cw_batch_unref(batch);
    }
}

static struct cw_hash hash(const struct cw_batch *batch)
{
    struct cw_hasher *hasher = cw_hasher_new();

    cw_batch_hash(batch, hasher);
    struct cw_hash h = cw_hasher_get(hasher);
    cw_hasher_free(hasher);
    return h;
}

static void other_name(struct cw_batch *b)
{
    b->tensors[0].field.name[0] = 'y';
}
static void other_dtype(struct cw_batch *b)
{
    b->tensors[0].field.dtype = CW_DTYPE_I32;
}
static void other_shape(struct cw_batch *b)
{
    b->tensors[0].field.rank = 2;
    b->tensors[0].field.dims[1] = 1;
}
static void other_byte(struct cw_batch *b)
{
    ((char *)b->buf->data)[11] ^= 1;
}
static void other_string(struct cw_batch *b)
{
    set_offset(b, 1, 1);
}
static void fewer(struct cw_batch *b)
{
    b->n = 1;
}

/* What lies between tensors, or where they lie, is not part of a batch. */
static void hash_covers_all_that_counts(void **state)
{
    static break_fn *const changes[] = {other_name, other_dtype,  other_shape,
                                        other_byte, other_string, fewer};
    struct cw_batch *batch = cw_test_batch();
    struct cw_hash whole = hash(batch);

    (void)state;
    ((char *)batch->buf->data)[13] = 1;
    batch->item++;
    assert_true(cw_hash_eq(hash(batch), whole));
    cw_batch_unref(batch);
    for (size_t i = 0; i < CW_ARRAY_LEN(changes); i++) {
        batch = cw_test_batch();
        changes[i](batch);
        assert_false(cw_hash_eq(hash(batch), whole));
        cw_batch_unref(batch);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(layout_is_aligned), cmocka_unit_test(layout_refuses_what_cannot_be),
    cmocka_unit_test(validate_finds_every_lie), cmocka_unit_test(hash_covers_all_that_counts)};
CW_TESTS_MAIN(tests)
