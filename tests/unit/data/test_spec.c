/* SPDX-License-Identifier: Apache-2.0 */
#include "support/cm.h"
#include <stdio.h>

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
    assert_int_equal(cw_dtype_bytes(CW_DTYPE_BF16), 2);
    assert_true(cw_dtype_is_float(CW_DTYPE_BF16));
    assert_int_equal(CW_DTYPE_BF16, 13); /* peers and files have the number */
    assert_int_equal(cw_dtype_bytes(CW_DTYPE_STR), 0);
    assert_true(cw_dtype_is_float(CW_DTYPE_F16) && !cw_dtype_is_float(CW_DTYPE_I64));
}

static void specs_are_built_and_printed(void **state)
{
    CW_SPEC_AUTO spec = {0};
    CW_SPEC_AUTO other = {0};
    CW_STR_AUTO out = {0};
    struct cw_err err = {0};

    (void)state;
    assert_int_equal(cw_spec_add(&spec, "image", CW_DTYPE_F32, 3, image_dims, &err), CW_OK);
    assert_int_equal(cw_spec_add(&spec, "label", CW_DTYPE_I64, 0, NULL, &err), CW_OK);
    cw_spec_print(&spec, &out);
    assert_string_equal(cw_str_text(&out), "image: f32[?,224,3], label: i64");
    assert_int_equal(cw_spec_find(&spec, "label"), 1);
    assert_int_equal(cw_spec_find(&spec, "nothing"), -1);
    other = cw_spec_copy(&spec);
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
    CW_SPEC_AUTO spec = {0};
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
    for (int i = 0; spec.n < CW_FIELDS_MAX; i++) {
        char name[16];
        snprintf(name, sizeof(name), "f%d", i);
        assert_int_equal(cw_spec_add(&spec, name, CW_DTYPE_U8, 0, NULL, &err), CW_OK);
    }
    assert_int_equal(cw_spec_add(&spec, "z", CW_DTYPE_U8, 0, NULL, &err), CW_E_LIMIT);
    assert_int_equal(cw_spec_find(&spec, "f510"), CW_FIELDS_MAX - 1);
}

/* A spec that lends its fields stays as it is. */
static void specs_are_copied_taken_and_borrowed(void **state)
{
    CW_SPEC_AUTO spec = {0};

    (void)state;
    assert_int_equal(cw_spec_add(&spec, "a", CW_DTYPE_U8, 0, NULL, NULL), CW_OK);
    assert_int_equal(cw_spec_add(&spec, "b", CW_DTYPE_STR, 0, NULL, NULL), CW_OK);
    struct cw_spec borrowed = cw_spec_borrow(&spec);
    assert_true(cw_spec_eq(&borrowed, &spec));
    cw_spec_fini(&borrowed);
    assert_true(borrowed.n == 0 && spec.n == 2);
    CW_SPEC_AUTO copy = cw_spec_copy(&spec);
    CW_SPEC_AUTO taken = cw_spec_take(&spec);
    assert_true(spec.n == 0 && cw_spec_eq(&copy, &taken));
    cw_spec_push(&copy, &taken.fields[0]);
    assert_true(copy.n == 3 && taken.n == 2);
    cw_spec_reset(&copy, 0);
    assert_true(copy.n == 0 && copy.fields == NULL);
}

/* Against a set of bytes. */
static void sets_of_fields(void **state)
{
    bool a[CW_FIELDS_MAX] = {false}, b[CW_FIELDS_MAX] = {false};
    struct cw_field_set x = {{0}}, y = {{0}};

    (void)state;
    for (size_t i = 0; i < CW_FIELDS_MAX; i += 7, a[i % CW_FIELDS_MAX] = true)
        cw_field_set_add(&x, (i + 7) % CW_FIELDS_MAX);
    for (size_t i = 3; i < CW_FIELDS_MAX; i += 5) {
        cw_field_set_add(&y, i);
        b[i] = true;
    }
    struct cw_field_set both = x, all = x, less = x;
    cw_field_set_meet(&both, &y);
    cw_field_set_join(&all, &y);
    cw_field_set_subtract(&less, &y);
    size_t n = 0;
    for (size_t i = 0; i < CW_FIELDS_MAX; i++) {
        assert_int_equal(cw_field_set_has(&x, i), a[i]);
        assert_int_equal(cw_field_set_has(&both, i), a[i] && b[i]);
        assert_int_equal(cw_field_set_has(&all, i), a[i] || b[i]);
        assert_int_equal(cw_field_set_has(&less, i), a[i] && !b[i]);
        n += a[i];
    }
    assert_int_equal(cw_field_set_count(&x), n);
    assert_true(cw_field_set_meets(&x, &y) && !cw_field_set_meets(&less, &y));
    assert_int_equal(cw_field_set_first(&y), 3);
    cw_field_set_subtract(&less, &x);
    assert_true(cw_field_set_is_empty(&less));
    assert_int_equal(cw_field_set_first(&less), CW_FIELDS_MAX);
    const struct cw_field_set first = cw_field_set_of_first(65);
    assert_true(cw_field_set_has(&first, 64) && !cw_field_set_has(&first, 65));
    assert_true(cw_field_set_eq(&first, &first) && !cw_field_set_eq(&first, &x));
    cw_field_set_add(&less, CW_FIELDS_MAX); /* there is no such field */
    assert_true(cw_field_set_is_empty(&less));
}

static void ragged_dims_stand_behind_rows(void **state)
{
    CW_SPEC_AUTO spec = {0};
    CW_STR_AUTO out = {0};
    struct cw_err err = {0};
    static const int64_t dims[] = {-1, CW_DIM_RAGGED, 3}, first[] = {CW_DIM_RAGGED, 1};

    (void)state;
    assert_int_equal(cw_spec_add(&spec, "t", CW_DTYPE_I32, 3, dims, &err), CW_OK);
    assert_int_equal(cw_spec_add(&spec, "u", CW_DTYPE_I32, 2, first, &err), CW_E_INVALID);
    assert_int_equal(cw_spec_add(&spec, "s", CW_DTYPE_STR, 3, dims, &err), CW_E_INVALID);
    assert_int_equal(cw_spec_add(&spec, "s", CW_DTYPE_STR, 2, dims, &err), CW_OK);
    assert_true(cw_field_is_ragged(&spec.fields[0]) && !cw_field_is_fixed(&spec.fields[0]));
    assert_int_equal(cw_field_bytes(&spec.fields[0]), -1);
    cw_spec_print(&spec, &out);
    assert_string_equal(cw_str_text(&out), "t: i32[?,ragged,3], s: str[?,ragged]");
}

static const struct CMUnitTest tests[] = {cmocka_unit_test(dtypes_have_names_and_sizes),
                                          cmocka_unit_test(specs_are_built_and_printed),
                                          cmocka_unit_test(bad_fields_are_refused),
                                          cmocka_unit_test(specs_are_copied_taken_and_borrowed),
                                          cmocka_unit_test(sets_of_fields),
                                          cmocka_unit_test(ragged_dims_stand_behind_rows)};
CW_TESTS_MAIN(tests)
