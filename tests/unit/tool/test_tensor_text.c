/* SPDX-License-Identifier: Apache-2.0 */
/* Tensors as text: every kind of value, for people and as JSON. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "client/tool/view/tensor_text.h"
#include "support/cm.h"

static struct cw_field field_of(enum cw_dtype dtype, int rank)
{
    struct cw_field field = {.dtype = dtype, .rank = rank};
    snprintf(field.name, sizeof(field.name), "x");
    for (int d = 0; d < rank; d++)
        field.dims[d] = -1;
    return field;
}

static struct cw_view view_of(enum cw_dtype dtype, void *data, size_t bytes, int64_t n)
{
    struct cw_view view = {.dtype = dtype, .data = data, .bytes = bytes};
    if (n >= 0) {
        view.rank = 1;
        view.dims[0] = n;
    }
    return view;
}

static float floats[] = {0.5f, NAN, INFINITY, -2};
static int32_t ints[] = {-1, 2, 3};
static uint64_t large[] = {UINT64_MAX};
static uint8_t bools[] = {1, 0};
static char text[] = "abcdefghij\xff";

static const struct {
    enum cw_dtype dtype;
    void *data;
    size_t bytes;
    int64_t n;
    const char *printed, *json;
} cases[] = {
    {CW_DTYPE_F32, floats, sizeof(floats), 4, "x: f32[4] = 0.5 null ...",
     "{\"field\":\"x\",\"dtype\":\"f32\",\"shape\":[4],\"values\":[0.5,null,null,-2.0]}"},
    {CW_DTYPE_I32, ints, sizeof(ints), 3, "x: i32[3] = -1 2 ...",
     "{\"field\":\"x\",\"dtype\":\"i32\",\"shape\":[3],\"values\":[-1,2,3]}"},
    {CW_DTYPE_I32, ints, sizeof(ints[0]), -1, "x: i32 = -1",
     "{\"field\":\"x\",\"dtype\":\"i32\",\"shape\":[],\"values\":[-1]}"},
    {CW_DTYPE_U64, large, sizeof(large), -1, "x: u64 = 18446744073709551615",
     "{\"field\":\"x\",\"dtype\":\"u64\",\"shape\":[],\"values\":[18446744073709551615]}"},
    {CW_DTYPE_BOOL, bools, sizeof(bools), 2, "x: bool[2] = true false",
     "{\"field\":\"x\",\"dtype\":\"bool\",\"shape\":[2],\"values\":[true,false]}"},
    {CW_DTYPE_I32, ints, 0, 0,
     "x: i32[0] =", "{\"field\":\"x\",\"dtype\":\"i32\",\"shape\":[0],\"values\":[]}"},
    {CW_DTYPE_STR, text, 3, -1, "x: str = \"abc\"",
     "{\"field\":\"x\",\"dtype\":\"str\",\"shape\":[],\"value\":\"abc\"}"},
    {CW_DTYPE_STR, text, 11, -1, "x: str = \"abcdefghij\xef\xbf\xbd\"",
     "{\"field\":\"x\",\"dtype\":\"str\",\"shape\":[],\"value\":\"abcdefghij\xef\xbf\xbd\"}"},
};

static void each_kind_of_value(void **state)
{
    (void)state;
    for (size_t i = 0; i < CW_ARRAY_LEN(cases); i++) {
        const struct cw_view view =
            view_of(cases[i].dtype, cases[i].data, cases[i].bytes, cases[i].n);
        const struct cw_field field = field_of(cases[i].dtype, view.rank);
        CW_STR_AUTO printed = {0};
        CW_STR_AUTO json = {0};
        tool_tensor_print(&field, &view, 2, &printed);
        tool_tensor_json(&field, &view, &json);
        assert_string_equal(cw_str_text(&printed), cases[i].printed);
        assert_string_equal(cw_str_text(&json), cases[i].json);
    }
}

static void long_texts_are_cut(void **state)
{
    (void)state;
    const struct cw_view view = view_of(CW_DTYPE_STR, text, 11, -1);
    const struct cw_field field = field_of(CW_DTYPE_STR, 0);
    CW_STR_AUTO printed = {0};
    tool_tensor_print(&field, &view, 1, &printed);
    assert_string_equal(cw_str_text(&printed), "x: str = \"abcdefgh\" ... (11 bytes)");
}

static void a_spec_has_all_fields(void **state)
{
    (void)state;
    CW_SPEC_AUTO spec = {0};
    cw_spec_reset(&spec, 2);
    spec.fields[0] = field_of(CW_DTYPE_F32, 2);
    spec.fields[0].dims[1] = 3;
    spec.fields[1] = field_of(CW_DTYPE_STR, 0);
    CW_STR_AUTO json = {0};
    tool_spec_json(&spec, &json);
    assert_string_equal(cw_str_text(&json), "[{\"field\":\"x\",\"dtype\":\"f32\",\"shape\":[-1,3]},"
                                            "{\"field\":\"x\",\"dtype\":\"str\",\"shape\":[]}]");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_kind_of_value),
        cmocka_unit_test(long_texts_are_cut),
        cmocka_unit_test(a_spec_has_all_fields),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
