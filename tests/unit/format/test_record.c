/* SPDX-License-Identifier: Apache-2.0 */
#include "support/cm.h"

#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "format/record.h"

static void assert_same(const struct cw_element *a, const struct cw_element *b)
{
    assert_int_equal(a->n, b->n);
    for (size_t i = 0; i < a->n; i++) {
        const struct cw_view *x = &a->fields[i], *y = &b->fields[i];
        assert_true(x->dtype == y->dtype && x->rank == y->rank && x->bytes == y->bytes);
        for (int d = 0; d < x->rank; d++)
            assert_int_equal(x->dims[d], y->dims[d]);
        if (x->bytes)
            assert_memory_equal(x->data, y->data, x->bytes);
    }
}

/* Encodes, decodes, compares; looks at alignment. Memory as long as the record, so that tools
 * see writes outside. */
static void round_trip(const struct cw_spec *spec, const struct cw_element *element)
{
    struct cw_element back = {0}, shaped = {0};
    struct cw_record_shape shape;
    struct cw_err err = {0};
    int64_t n = cw_record_bytes(spec, element);
    assert_true(n >= 0);
    void *p = cw_mem_try_aligned(64, n ? (size_t)n : 1);
    assert_non_null(p);
    memset(p, 0xee, n ? (size_t)n : 1);
    cw_record_encode(spec, element, p);
    assert_int_equal(cw_record_decode(spec, p, (size_t)n, &back, &err), 0);
    assert_same(element, &back);
    cw_record_shape_init(&shape, spec);
    assert_int_equal(cw_record_decode_shaped(&shape, p, (size_t)n, &shaped, &err), 0);
    assert_same(element, &shaped);
    for (size_t i = 0; i < back.n; i++)
        assert_memory_equal(&shaped.fields[i], &back.fields[i], sizeof(back.fields[i]));
    void *away = cw_mem_try_aligned(64, n ? (size_t)n : 1);
    assert_non_null(away);
    assert_true(cw_record_encode_nontemporal(spec, element, away) == cw_hash_u64(p, (size_t)n));
    if (n)
        assert_memory_equal(away, p, (size_t)n);
    cw_mem_free(away);
    for (size_t i = 0; i < back.n; i++)
        assert_int_equal((uintptr_t)back.fields[i].data % (back.fields[i].bytes >= 256 ? 64 : 8),
                         0);
    assert_int_equal(cw_record_align((size_t)n), n >= 256 ? 64 : 8);
    for (size_t cut = 0; cut < (size_t)n; cut++) {
        assert_int_equal(cw_record_decode(spec, p, cut, &back, NULL), CW_E_CORRUPT);
        assert_int_equal(cw_record_decode_shaped(&shape, p, cut, &back, NULL), CW_E_CORRUPT);
    }
    void *longer = cw_mem_new((size_t)n + 1);
    memcpy(longer, p, (size_t)n);
    assert_int_equal(cw_record_decode(spec, longer, (size_t)n + 1, &back, &err), CW_E_CORRUPT);
    assert_int_equal(cw_record_decode_shaped(&shape, longer, (size_t)n + 1, &back, NULL),
                     CW_E_CORRUPT);
    cw_record_shape_fini(&shape);
    assert_non_null(strstr(err.msg, "record"));
    cw_mem_free(longer);
    cw_mem_free(p);
}

static struct cw_view view_of(enum cw_dtype dtype, int rank, const int64_t *dims, void *data)
{
    struct cw_view view = {.dtype = dtype, .rank = rank, .data = data};
    size_t n = 1;
    for (int d = 0; d < rank; d++) {
        view.dims[d] = dims[d];
        n *= (size_t)dims[d];
    }
    view.bytes = n * cw_dtype_bytes(dtype);
    return view;
}

static void every_dtype(void **state)
{
    static unsigned char data[8 * 40];
    const int64_t dims[2] = {5, 8}, unknown[2] = {-1, 8};
    (void)state;
    for (size_t i = 0; i < sizeof(data); i++)
        data[i] = (unsigned char)(i * 7);
    for (int dtype = 0; dtype < CW_DTYPE_STR; dtype++) {
        CW_SPEC_AUTO fixed = {0};
        CW_SPEC_AUTO free = {0};
        struct cw_element element = {.n = 1,
                                     .fields = {view_of((enum cw_dtype)dtype, 2, dims, data)}};
        assert_int_equal(cw_spec_add(&fixed, "x", (enum cw_dtype)dtype, 2, dims, NULL), 0);
        assert_int_equal(cw_spec_add(&free, "x", (enum cw_dtype)dtype, 2, unknown, NULL), 0);
        round_trip(&fixed, &element);
        assert_int_equal(cw_record_bytes(&fixed, &element),
                         40 * (int64_t)cw_dtype_bytes((enum cw_dtype)dtype));
        round_trip(&free, &element);
    }
}

static void strings_empties_and_scalars(void **state)
{
    static char text[300];
    static int64_t label = 7;
    const int64_t none[2] = {0, 3}, free[2] = {-1, 3};
    CW_SPEC_AUTO spec = {0};
    (void)state;
    memset(text, 'a', sizeof(text));
    assert_int_equal(cw_spec_add(&spec, "text", CW_DTYPE_STR, 0, NULL, NULL), 0);
    assert_int_equal(cw_spec_add(&spec, "label", CW_DTYPE_I64, 0, NULL, NULL), 0);
    assert_int_equal(cw_spec_add(&spec, "boxes", CW_DTYPE_F32, 2, free, NULL), 0);
    assert_int_equal(cw_spec_add(&spec, "none", CW_DTYPE_U8, 2, none, NULL), 0);
    for (size_t n = 0; n < sizeof(text); n += 13) {
        struct cw_element element = {.n = 4};
        /* not aligned */
        element.fields[0] = (struct cw_view){
            .dtype = CW_DTYPE_STR, .data = n ? text + 1 : NULL, .bytes = n ? n - 1 : 0};
        element.fields[1] = view_of(CW_DTYPE_I64, 0, NULL, &label);
        element.fields[2] = view_of(CW_DTYPE_F32, 2, (const int64_t[]){(int64_t)(n % 4), 3}, text);
        element.fields[3] = view_of(CW_DTYPE_U8, 2, none, NULL);
        round_trip(&spec, &element);
    }
    CW_SPEC_AUTO no_fields = {0};
    struct cw_element empty = {0};
    assert_int_equal(cw_record_bytes(&no_fields, &empty), 0);
    round_trip(&no_fields, &empty);
}

static void what_cannot_be_kept(void **state)
{
    static char data[64];
    const int64_t dims[1] = {4}, other[1] = {5};
    struct cw_file_stamp stamp = {0};
    CW_SPEC_AUTO spec = {0};
    (void)state;
    assert_int_equal(cw_spec_add(&spec, "x", CW_DTYPE_U8, 1, dims, NULL), 0);
    struct cw_element good = {.n = 1, .fields = {view_of(CW_DTYPE_U8, 1, dims, data)}}, bad = good;
    assert_int_equal(cw_record_bytes(&spec, &good), 4);
    bad.fields[0].full_h = 9;
    assert_int_equal(cw_record_bytes(&spec, &bad), -1);
    bad = good;
    bad.fields[0].stamp = &stamp;
    assert_int_equal(cw_record_bytes(&spec, &bad), -1);
    bad.fields[0] = view_of(CW_DTYPE_U8, 1, other, data);
    assert_int_equal(cw_record_bytes(&spec, &bad), -1);
    bad.fields[0] = view_of(CW_DTYPE_I8, 1, dims, data);
    assert_int_equal(cw_record_bytes(&spec, &bad), -1);
    bad = good;
    bad.fields[0].bytes = 3;
    assert_int_equal(cw_record_bytes(&spec, &bad), -1);
    bad = good;
    bad.n = 0;
    assert_int_equal(cw_record_bytes(&spec, &bad), -1);
}

/* Sizes that a record gives of itself and that do not go together. */
static void lies_are_found(void **state)
{
    const int64_t free[2] = {-1, -1};
    CW_SPEC_AUTO spec = {0};
    struct cw_element back;
    (void)state;
    assert_int_equal(cw_spec_add(&spec, "x", CW_DTYPE_U16, 2, free, NULL), 0);
    uint64_t record[5] = {2, 4, 16, 0, 0};
    assert_int_equal(cw_record_decode(&spec, record, 40, &back, NULL), 0);
    const uint64_t lies[][3] = {{2, 4, 15},
                                {2, 5, 16},
                                {UINT64_MAX, 4, 16},
                                {1ull << 62, 8, 16},
                                {1ull << 40, 1ull << 40, 16},
                                {0, 0, 16},
                                {1ull << 20, 1ull << 20, 1ull << 41},
                                {2, 4, UINT64_MAX}};
    for (size_t i = 0; i < CW_ARRAY_LEN(lies); i++) {
        memcpy(record, lies[i], sizeof(lies[i]));
        assert_int_equal(cw_record_decode(&spec, record, 40, &back, NULL), CW_E_CORRUPT);
    }
}

/* A batch of ragged rows, {2} and {1}. */
static void ragged_batches_are_kept(void **state)
{
    int64_t begins[9] = {0, 2, 3};
    struct cw_field field = {"t", CW_DTYPE_U16, 2, {-1, CW_DIM_RAGGED}};
    const struct cw_spec spec = {.n = 1, .fields = &field};
    struct cw_element element = {
        .n = 1,
        .fields = {
            {.data = begins, .bytes = 70, .dtype = CW_DTYPE_U16, .rank = 2, .dims = {2, -2}}}};
    struct cw_err err = {0};
    (void)state;
    round_trip(&spec, &element);
    int64_t n = cw_record_bytes(&spec, &element);
    char *record = cw_mem_new((size_t)n);
    begins[1] = 4;
    cw_record_encode(&spec, &element, record);
    assert_int_equal(cw_record_decode(&spec, record, (size_t)n, &element, &err), CW_E_CORRUPT);
    cw_mem_free(record);
    element.fields[0].dims[1] = 5;
    assert_int_equal(cw_record_bytes(&spec, &element), -1);
    element.fields[0].dims[1] = CW_DIM_RAGGED;
    element.fields[0].bytes = 63;
    assert_int_equal(cw_record_bytes(&spec, &element), -1);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(every_dtype), cmocka_unit_test(strings_empties_and_scalars),
    cmocka_unit_test(what_cannot_be_kept), cmocka_unit_test(lies_are_found),
    cmocka_unit_test(ragged_batches_are_kept)};
CW_TESTS_MAIN(tests)
