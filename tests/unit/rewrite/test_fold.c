/* SPDX-License-Identifier: Apache-2.0 */
/* Operators that need not be called (graph/fold.h): whatever is said to be one gives the same bytes when it is left
 * out. All casts of all dtypes on all values of two bytes and on hostile ones of more; all u8 through normalize; crops
 * of all small sizes. */
#include "support/cm.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "graph/fold.h"
#include "ops/kernels/num.h"
#include "two_ops.h"

/* ---- what is folded ---- */

static struct cw_fold_op fold_of(const struct one_op *op)
{
    return (struct cw_fold_op){.op = op->checked.op,
                               .opts = op->checked.opts,
                               .in = &op->in,
                               .fields = op->checked.fields,
                               .fields_n = op->checked.fields_n};
}

static struct cw_spec spec_of(enum cw_dtype dtype, int64_t h, int64_t w)
{
    struct cw_spec spec = {0};
    const struct cw_field field = {
        .name = "x", .dtype = dtype, .rank = h == 0 ? 1 : 3, .dims = {h == 0 ? -1 : h, w, 3}};
    cw_spec_push(&spec, &field);
    return spec;
}

/* Whether the second of two operators does the work of the first, for a field of this kind. */
static bool takes_over(const char *first, const char *second, const struct cw_spec *spec)
{
    struct one_op a, b;
    one_op_parse(first, &a);
    one_op_parse(second, &b);
    bool folds = false;
    if (one_op_infer(&a, spec) == 0 && one_op_infer(&b, &a.checked.out) == 0) {
        const struct cw_fold_op x = fold_of(&a), y = fold_of(&b);
        folds = cw_fold_takes_over(&x, &y);
    }
    one_op_fini(&a);
    one_op_fini(&b);
    return folds;
}

static bool has_no_effect(const char *text, const struct cw_spec *spec)
{
    struct one_op a;
    one_op_parse(text, &a);
    assert_int_equal(one_op_infer(&a, spec), 0);
    const struct cw_fold_op x = fold_of(&a);
    const bool has_none = cw_fold_has_no_effect(&x);
    one_op_fini(&a);
    return has_none;
}

static void test_known(void **state)
{
    static const struct {
        const char *first, *second;
        enum cw_dtype dtype;
        int64_t h, w;
        bool folds;
    } cases[] = {
        {"cast {\"dtype\": \"f32\"}", "normalize {\"mean\": 100, \"std\": 50}", CW_DTYPE_U8, 4, 4,
         true},
        {"cast {\"dtype\": \"f64\"}", "normalize {\"mean\": 100, \"std\": 50}", CW_DTYPE_U8, 4, 4,
         false},
        {"cast {\"dtype\": \"f32\"}", "normalize {\"mean\": 100, \"std\": 50}", CW_DTYPE_I32, 4, 4,
         false},
        {"cast {\"dtype\": \"i32\"}", "cast {\"dtype\": \"f32\"}", CW_DTYPE_U8, 4, 4, true},
        {"cast {\"dtype\": \"u8\"}", "cast {\"dtype\": \"f32\"}", CW_DTYPE_I32, 4, 4, false},
        {"cast {\"dtype\": \"f32\"}", "cast {\"dtype\": \"u8\"}", CW_DTYPE_I16, 4, 4, false},
        {"center_crop {\"size\": [8, 8]}", "center_crop {\"size\": [4, 4]}", CW_DTYPE_U8, 12, 10,
         true},
        {"center_crop {\"size\": [4, 4]}", "center_crop {\"size\": [8, 8]}", CW_DTYPE_U8, 12, 10,
         false},
        {"center_crop {\"size\": [8, 8]}", "center_crop {\"size\": [4, 4]}", CW_DTYPE_U8, -1, 10,
         false},
        {"center_crop {\"size\": [8, 8]}", "center_crop {\"size\": [4, 4]}", CW_DTYPE_U8, 6, 10,
         false},
        {"random_flip {}", "center_crop {\"size\": [4, 4]}", CW_DTYPE_U8, 12, 10, false},
    };
    (void)state;
    for (size_t i = 0; i < CW_ARRAY_LEN(cases); i++) {
        struct cw_spec spec = spec_of(cases[i].dtype, cases[i].h, cases[i].w);
        if (takes_over(cases[i].first, cases[i].second, &spec) != cases[i].folds)
            fail_msg("%s, %s: should %sfold", cases[i].first, cases[i].second,
                     cases[i].folds ? "" : "not ");
        cw_spec_fini(&spec);
    }
}

static void test_no_effect(void **state)
{
    struct cw_spec spec = spec_of(CW_DTYPE_F32, 12, 10), any = spec_of(CW_DTYPE_F32, -1, 10);
    (void)state;
    assert_true(has_no_effect("random_flip {\"p\": 0}", &spec));
    assert_false(has_no_effect("random_flip {\"p\": 0.01}", &spec));
    assert_true(has_no_effect("cast {\"dtype\": \"f32\"}", &spec));
    assert_false(has_no_effect("cast {\"dtype\": \"f64\"}", &spec));
    assert_true(has_no_effect("inflate {\"factor\": 1}", &spec));
    assert_false(has_no_effect("inflate {\"factor\": 2}", &spec));
    assert_true(has_no_effect("center_crop {\"size\": [12, 10]}", &spec));
    assert_false(has_no_effect("center_crop {\"size\": [12, 10]}", &any));
    assert_false(has_no_effect("center_crop {\"size\": [10, 12]}", &spec));
    assert_false(has_no_effect("normalize {\"scale\": 1}", &spec)); /* -0.0 */
    cw_spec_fini(&spec);
    cw_spec_fini(&any);
}

/* ---- casts ---- */

#define VALUES 65536

static void fill(enum cw_dtype dtype, uint8_t *to)
{
    static const double ODD[] = {0,      -0.0,   1,       -1,    0.5,   255,  256,
                                 -129,   65504,  65520,   1e10,  -1e10, 3e38, 1e300,
                                 0x1p63, 0x1p64, -0x1p63, 1e-40, 5e-324};
    const size_t bytes = cw_dtype_bytes(dtype);
    for (uint32_t i = 0; i < VALUES; i++) {
        uint64_t bits = bytes <= 2 ? i : cw_mix64(i + 77);
        memcpy(to + i * bytes, &bits, bytes);
        if (bytes > 2 && i < CW_ARRAY_LEN(ODD) * 2)
            cw_num_put_f64(dtype, to, i, i % 2 ? (double)NAN : ODD[i / 2]);
        else if (bytes > 2 && i % 3 == 0)
            cw_num_put_f64(dtype, to, i, (double)(int64_t)bits * 0x1p-40);
    }
}

static bool is_equal(enum cw_dtype from, enum cw_dtype over, enum cw_dtype to,
                     const uint8_t *values, uint8_t *buffers)
{
    uint8_t *between = buffers, *twice = buffers + 8 * VALUES, *once = buffers + 16 * VALUES;
    cw_num_convert(over, between, from, values, VALUES);
    cw_num_convert(to, twice, over, between, VALUES);
    cw_num_convert(to, once, from, values, VALUES);
    return memcmp(once, twice, VALUES * cw_dtype_bytes(to)) == 0;
}

static void test_casts(void **state)
{
    uint8_t *values = cw_mem_new(32 * VALUES);
    size_t folded = 0, kept = 0;
    (void)state;
    for (enum cw_dtype from = 0; from < CW_DTYPE_N; from++) {
        if (from == CW_DTYPE_STR)
            continue;
        struct cw_spec spec = spec_of(from, 4, 4);
        fill(from, values);
        for (size_t pair = 0; pair < (size_t)CW_DTYPE_N * CW_DTYPE_N; pair++) {
            const enum cw_dtype over = (enum cw_dtype)(pair / CW_DTYPE_N),
                                to = (enum cw_dtype)(pair % CW_DTYPE_N);
            char first[64], second[64];
            if (over == CW_DTYPE_STR || to == CW_DTYPE_STR)
                continue;
            snprintf(first, sizeof(first), "cast {\"dtype\": \"%s\"}", cw_dtype_name(over));
            snprintf(second, sizeof(second), "cast {\"dtype\": \"%s\"}", cw_dtype_name(to));
            if (!takes_over(first, second, &spec)) {
                kept++;
                continue;
            }
            folded++;
            if (!is_equal(from, over, to, values, values + 8 * VALUES))
                fail_msg("%s > %s > %s is not %s > %s", cw_dtype_name(from), cw_dtype_name(over),
                         cw_dtype_name(to), cw_dtype_name(from), cw_dtype_name(to));
        }
        cw_spec_fini(&spec);
    }
    assert_in_range(folded, 300, 900);
    assert_in_range(kept, 300, 2000);
    cw_mem_free(values);
}

/* ---- on elements ---- */

/* Applies both operators, and the second one alone to what comes to the first. */
static bool is_same_without(const char *first, const char *second, const struct cw_spec *spec)
{
    struct one_op a, b;
    struct cw_arena *arena = cw_arena_new(1 << 16);
    const struct cw_field *field = &spec->fields[0];
    const size_t n = (size_t)cw_field_count(field);
    struct cw_element with = {.n = 1}, without;
    one_op_parse(first, &a);
    one_op_parse(second, &b);
    assert_int_equal(one_op_infer(&a, spec), 0);
    assert_int_equal(one_op_infer(&b, &a.checked.out), 0);
    with.fields[0] = (struct cw_view){.dtype = field->dtype,
                                      .rank = field->rank,
                                      .dims = {field->dims[0], field->dims[1], field->dims[2]},
                                      .bytes = n,
                                      .data = cw_arena_alloc(arena, n)};
    for (size_t i = 0; i < n; i++)
        ((uint8_t *)with.fields[0].data)[i] = (uint8_t)(i * 7 + i / 256);
    without = with;
    assert_int_equal(one_op_apply(&a, arena, 0, &with), KEPT);
    assert_int_equal(one_op_apply(&b, arena, 0, &with), KEPT);
    assert_int_equal(one_op_apply(&b, arena, 0, &without), KEPT);
    const bool same = same_elements(&with, &without);
    one_op_fini(&a);
    one_op_fini(&b);
    cw_arena_free(arena);
    return same;
}

static void test_normalize(void **state)
{
    static const char *const options[] = {
        "{}", "{\"mean\": 3.25, \"std\": 0.1}", "{\"scale\": 7}", "{\"scale\": 255, \"mean\": 0.4}",
        "{\"mean\": [0.485, 0.456, 0.406], \"std\": [0.229, 0.224, 0.225]}"};
    struct cw_spec spec = spec_of(CW_DTYPE_U8, 16, 32);
    (void)state;
    for (size_t i = 0; i < CW_ARRAY_LEN(options); i++) {
        cw_autofree char *second = cw_mem_printf("normalize %s", options[i]);
        assert_true(takes_over("cast {\"dtype\": \"f32\"}", second, &spec));
        if (!is_same_without("cast {\"dtype\": \"f32\"}", second, &spec))
            fail_msg("normalize %s", options[i]);
    }
    cw_spec_fini(&spec);
}

static void test_crops(void **state)
{
    size_t folded = 0, kept = 0;
    (void)state;
    for (int64_t have = 1; have <= 12; have++)
        for (int64_t first = 1; first <= 12; first++)
            for (int64_t second = 1; second <= 12; second++) {
                struct cw_spec spec = spec_of(CW_DTYPE_U8, have, 13 - have);
                cw_autofree char *a = cw_mem_printf("center_crop {\"size\": [%d, 1]}", (int)first);
                cw_autofree char *b = cw_mem_printf("center_crop {\"size\": [%d, 1]}", (int)second);
                if (takes_over(a, b, &spec)) {
                    folded++;
                    if (!is_same_without(a, b, &spec))
                        fail_msg("of %d: %s, %s", (int)have, a, b);
                } else {
                    kept++;
                }
                cw_spec_fini(&spec);
            }
    assert_true(folded > 200 && kept > 200);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_known), cmocka_unit_test(test_no_effect),
        cmocka_unit_test(test_casts), cmocka_unit_test(test_normalize),
        cmocka_unit_test(test_crops),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
