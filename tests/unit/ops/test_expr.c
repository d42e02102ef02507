/* SPDX-License-Identifier: Apache-2.0 */
/* Expressions: what the golden cases (tests/ops/eval.json) do not reach: long tensors, limits,
 * garbage. */
#include "support/cm.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "ops/expr/expr.h"

struct fixture {
    struct cw_arena *arena;
    struct cw_spec spec;
    struct cw_element element;
};

static void fixture_init(struct fixture *f, void *data, enum cw_dtype dtype, int64_t count)
{
    *f = (struct fixture){.arena = cw_arena_new(1 << 16)};
    assert_int_equal(cw_spec_add(&f->spec, "v", dtype, 1, &count, NULL), 0);
    f->element.n = 1;
    f->element.fields[0] = (struct cw_view){.data = data,
                                            .bytes = (size_t)count * cw_dtype_bytes(dtype),
                                            .dtype = dtype,
                                            .rank = 1,
                                            .dims = {count}};
}

static void eval(struct fixture *f, const char *text, struct cw_view *ret)
{
    struct cw_expr *expr = NULL;
    struct cw_err err = {0};
    const struct cw_op_ctx ctx = {.arena = f->arena, .in = &f->spec};
    if (cw_expr_parse(text, &expr, &err) < 0 || cw_expr_bind(expr, &f->spec, &err) < 0 ||
        cw_expr_eval(expr, &ctx, &f->element, ret, &err) < 0)
        fail_msg("%s: %s", text, err.msg);
    cw_expr_free(expr);
}

/* Longer than a block, and not a multiple of it. */
static void long_tensors(void **state)
{
    enum { N = 1000 };
    static int32_t v[N];
    struct fixture f;
    struct cw_view got;
    (void)state;
    for (int32_t i = 0; i < N; i++)
        v[i] = i - 500;
    fixture_init(&f, v, CW_DTYPE_I32, N);
    eval(&f, "max(abs(v) * 3 - 7, 0) % 11 + (v > 3)", &got);
    assert_int_equal(got.dtype, CW_DTYPE_I64);
    assert_int_equal(got.dims[0], N);
    const int64_t *r = got.data;
    for (int64_t i = 0; i < N; i++) {
        int64_t x = i - 500, a = (x < 0 ? -x : x) * 3 - 7;
        assert_int_equal(r[i], (a > 0 ? a : 0) % 11 + (x > 3));
    }
    cw_arena_free(f.arena);
    cw_spec_fini(&f.spec);
}

static void parse_errors(const char *text, const char *want)
{
    struct cw_expr *expr = NULL;
    struct cw_err err = {0};
    assert_true(cw_expr_parse(text, &expr, &err) < 0);
    assert_null(expr);
    if (!strstr(err.msg, want))
        fail_msg("%s: %s", text, err.msg);
}

static void limits(void **state)
{
    CW_STR_AUTO deep = {0};
    CW_STR_AUTO text = {0};
    (void)state;
    for (int i = 0; i < 300; i++)
        cw_str_add(&text, i ? " + x" : "x");
    parse_errors(cw_str_text(&text), "too long an expression");
    for (int i = 0; i < 1000; i++)
        cw_str_add(&deep, "2 ** ");
    cw_str_add(&deep, "2");
    parse_errors(cw_str_text(&deep), "longer than");
    deep.s[1000] = '\0';
    parse_errors(deep.s, "nested too deeply");
    parse_errors("abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz", "too long a name");
}

/* Any mix of tokens is either an expression or an error with a column, and never anything else. */
static void mixed_tokens(void **state)
{
    static const char *const tokens[] = {
        "x",  "1",  "2.5", "+",  "-",   "*",   "/",      "%",    "**",    "(",   ")",    ",", "<",
        "<=", "==", "and", "or", "not", "min", "max",    "clip", "abs",   "log", "true", "(", ")",
        "x[", "[",  "]",   "]",  ":",   "...", "where(", "len(", "isnan", "0",   "atan2"};
    int64_t v[3] = {1, -2, 0};
    struct fixture f;
    struct cw_rng rng;
    size_t good = 0;
    (void)state;
    fixture_init(&f, v, CW_DTYPE_I64, 3);
    for (uint64_t round = 0; round < 20000; round++) {
        CW_STR_AUTO text = {0};
        struct cw_expr *expr = NULL;
        struct cw_err err = {0};
        struct cw_view got;
        const struct cw_op_ctx ctx = {.arena = f.arena, .in = &f.spec};
        cw_rng_init(&rng, 1, 2, 3, 4, round);
        uint64_t n = cw_rng_below(&rng, 0, 9) + 1;
        for (uint32_t i = 0; i < n; i++)
            cw_str_addf(&text, "%s ", tokens[cw_rng_below(&rng, i + 1, CW_ARRAY_LEN(tokens))]);
        if (cw_expr_parse(text.s, &expr, &err) < 0) {
            assert_non_null(strstr(err.msg, "column"));
            continue;
        }
        if (cw_expr_bind(expr, &f.spec, &err) < 0 ||
            cw_expr_eval(expr, &ctx, &f.element, &got, &err) < 0)
            assert_true(strstr(err.msg, "column") || strstr(err.msg, "different shapes"));
        good++;
        cw_expr_free(expr);
        cw_arena_reset(f.arena);
    }
    assert_true(good > 100);
    cw_arena_free(f.arena);
    cw_spec_fini(&f.spec);
}

static void powers(void **state)
{
    double v[] = {4, -8, 0, (double)INFINITY, 1e-300};
    struct fixture f;
    struct cw_view got;
    (void)state;
    fixture_init(&f, v, CW_DTYPE_F64, 5);
    eval(&f, "v ** 0.5", &got);
    const double *r = got.data;
    assert_true(r[0] == 2 && isnan(r[1]) && r[2] == 0 && r[3] > 1e308);
    eval(&f, "v ** 3", &got);
    r = got.data;
    assert_true(r[0] == 64 && r[1] == -512 && r[2] == 0 && isinf(r[3]) && r[4] == 0);
    eval(&f, "v ** 0.25", &got);
    r = got.data;
    assert_true(fabs(r[0] - sqrt(2)) < 1e-12 && isnan(r[1]) && r[2] == 0 && isinf(r[3]) &&
                fabs(r[4] / 1e-75 - 1) < 1e-10);
    eval(&f, "v ** -1.5", &got);
    r = got.data;
    assert_true(fabs(r[0] - 0.125) < 1e-12 && isinf(r[2]) && r[3] == 0);
    cw_arena_free(f.arena);
    cw_spec_fini(&f.spec);
}

/* A batch of strings has a table of where each begins before their bytes. */
static void lengths_of_a_batch(void **state)
{
    struct {
        int64_t begins[4];
        char text[8];
    } batch = {{0, 5, 5, 7}, "helloxy"};
    struct fixture f;
    struct cw_view got;
    (void)state;
    fixture_init(&f, &batch, CW_DTYPE_STR, 3);
    f.element.fields[0].bytes = sizeof(batch.begins) + 7;
    eval(&f, "len(v) * 2", &got);
    assert_int_equal(got.rank, 1);
    assert_int_equal(got.dims[0], 3);
    const int64_t *r = got.data;
    assert_true(r[0] == 10 && r[1] == 0 && r[2] == 4);
    cw_arena_free(f.arena);
    cw_spec_fini(&f.spec);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(long_tensors), cmocka_unit_test(limits),
                                       cmocka_unit_test(mixed_tokens), cmocka_unit_test(powers),
                                       cmocka_unit_test(lengths_of_a_batch)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
