/* SPDX-License-Identifier: Apache-2.0 */
#include "support/cm.h"

#include <string.h>

#include "data/spec.h"

static const int64_t image_dims[] = {-1, 224, 3};

static void dtypes_have_names_and_sizes(void **state)
{
    enum cw_dtype dtype;

    (void)state;
    for (int i = 0; i < CW_DTYPE_N; i++) {
        assert_int_equal(cw_dtype_parse(cw_dtype_name((enum cw_dtype)i), &dtype), CW_OK);
        assert_int_equal(dtype, i);
    }
    assert_null(cw_dtype_names[CW_DTYPE_N]);
    assert_int_equal(cw_dtype_parse("f31", &dtype), CW_E_INVALID);
    assert_int_equal(cw_dtype_parse(NULL, &dtype), CW_E_INVALID);
    assert_int_equal(cw_dtype_bytes(CW_DTYPE_F16), 2);
    assert_int_equal(cw_dtype_bytes(CW_DTYPE_STR), 0);
    assert_true(cw_dtype_is_float(CW_DTYPE_F16) && !cw_dtype_is_float(CW_DTYPE_I64));
}

static void specs_are_built_and_printed(void **state)
{
    struct cw_spec spec = {.n = 0}, other;
    CW_STR_AUTO out = {0};
    struct cw_err err = {0};

    (void)state;
    assert_int_equal(cw_spec_add(&spec, "image", CW_DTYPE_F32, 3, image_dims, &err), CW_OK);
    assert_int_equal(cw_spec_add(&spec, "label", CW_DTYPE_I64, 0, NULL, &err), CW_OK);
    cw_spec_print(&spec, &out);
    assert_string_equal(cw_str_text(&out), "image: f32[?,224,3], label: i64");
    assert_int_equal(cw_spec_find(&spec, "label"), 1);
    assert_int_equal(cw_spec_find(&spec, "nothing"), -1);
    other = spec;
    assert_true(cw_spec_eq(&spec, &other));
    other.fields[0].dims[0] = 1;
    assert_false(cw_spec_eq(&spec, &other));
    assert_int_equal(cw_field_count(&spec.fields[0]), -1);
    assert_int_equal(cw_field_bytes(&other.fields[0]), 224 * 3 * 4);
    assert_true(cw_field_is_fixed(&other.fields[0]) && !cw_field_is_fixed(&spec.fields[0]));
    other.fields[0].dims[0] = INT64_MAX;
    assert_int_equal(cw_field_count(&other.fields[0]), -1);
}

static void bad_fields_are_refused(void **state)
{
    struct cw_spec spec = {.n = 0};
    struct cw_err err = {0};
    static const int64_t bad[] = {-2};
    static const char *const names[] = {
        "", "1a", "a b", "a-b", "a234567890123456789012345678901234567890123456789", NULL};

    (void)state;
    for (int i = 0; names[i]; i++)
        assert_int_equal(cw_spec_add(&spec, names[i], CW_DTYPE_U8, 0, NULL, &err), CW_E_INVALID);
    assert_int_equal(cw_spec_add(&spec, "a.b_1", CW_DTYPE_U8, 0, NULL, &err), CW_OK);
    assert_int_equal(cw_spec_add(&spec, "a.b_1", CW_DTYPE_U8, 0, NULL, &err), CW_E_EXISTS);
    assert_string_equal(err.msg, "field \"a.b_1\" is there twice");
    assert_int_equal(cw_spec_add(&spec, "x", CW_DTYPE_U8, 1, bad, &err), CW_E_INVALID);
    assert_int_equal(cw_spec_add(&spec, "x", CW_DTYPE_U8, 9, bad, &err), CW_E_LIMIT);
    for (char c = 'b'; spec.n < CW_FIELDS_MAX; c++) {
        char name[2] = {c, '\0'};
        assert_int_equal(cw_spec_add(&spec, name, CW_DTYPE_U8, 0, NULL, &err), CW_OK);
    }
    assert_int_equal(cw_spec_add(&spec, "z", CW_DTYPE_U8, 0, NULL, &err), CW_E_LIMIT);
}

static void ragged_dims_stand_behind_rows(void **state)
{
    struct cw_spec spec = {.n = 0};
    CW_STR_AUTO out = {0};
    struct cw_err err = {0};
    static const int64_t dims[] = {-1, CW_DIM_RAGGED, 3}, first[] = {CW_DIM_RAGGED, 1};

    (void)state;
    assert_int_equal(cw_spec_add(&spec, "t", CW_DTYPE_I32, 3, dims, &err), CW_OK);
    assert_int_equal(cw_spec_add(&spec, "u", CW_DTYPE_I32, 2, first, &err), CW_E_INVALID);
    assert_int_equal(cw_spec_add(&spec, "s", CW_DTYPE_STR, 2, dims, &err), CW_E_INVALID);
    assert_true(cw_field_is_ragged(&spec.fields[0]) && !cw_field_is_fixed(&spec.fields[0]));
    assert_int_equal(cw_field_bytes(&spec.fields[0]), -1);
    cw_spec_print(&spec, &out);
    assert_string_equal(cw_str_text(&out), "t: i32[?,ragged,3]");
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(dtypes_have_names_and_sizes), cmocka_unit_test(specs_are_built_and_printed),
    cmocka_unit_test(bad_fields_are_refused), cmocka_unit_test(ragged_dims_stand_behind_rows)};
CW_TESTS_MAIN(tests)
