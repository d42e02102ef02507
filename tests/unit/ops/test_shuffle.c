/* SPDX-License-Identifier: Apache-2.0 */
/* What a case file cannot say of shuffle: on what the order depends, and that a window keeps
 * neighbours. */
#include "support/cm.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "ops/op.h"

#define N 4096

/* Layout as in op_shuffle.c is not known here: options go through the parser. */
struct shuffle {
    const struct cw_op *op;
    uint64_t opts[16];
};

static void make(struct shuffle *s, const char *json)
{
    struct cw_value options = {0};
    struct cw_err err = {0};
    *s = (struct shuffle){.op = cw_op_find("shuffle")};
    assert_true(s->op->options_bytes <= sizeof(s->opts));
    assert_int_equal(cw_value_parse(json, strlen(json), "options", &options, &err), 0);
    assert_int_equal(cw_opt_parse(s->op->options, &options, s->opts, &err), 0);
    cw_value_fini(&options);
}

static void order(const struct shuffle *s, struct cw_at at, int64_t ret[N])
{
    const int64_t in_n = N;
    at.in_n = &in_n;
    at.n = N;
    for (int64_t i = 0; i < N; i++) {
        size_t input = 0;
        struct cw_at one = at;
        ret[i] = s->op->map(s->opts, NULL, &one, i, &input);
        assert_true(ret[i] >= 0 && ret[i] < N);
        assert_int_equal(one.rep, at.rep);
    }
}

static size_t equal_n(const int64_t a[N], const int64_t b[N])
{
    size_t equal = 0;
    for (size_t i = 0; i < N; i++)
        equal += a[i] == b[i];
    return equal;
}

static void order_depends_on_each_key(void **state)
{
    static const char *const variants[] = {"{}", "{\"window\":256}"};
    static int64_t base[N], other[N];
    (void)state;
    for (size_t v = 0; v < CW_ARRAY_LEN(variants); v++) {
        struct shuffle s;
        make(&s, variants[v]);
        const struct cw_at at = {.seed = 1, .epoch = 2, .tag = 3, .rep = 4};
        struct cw_at changed[5] = {at, at, at, at, at};
        changed[1].seed++;
        changed[2].epoch++;
        changed[3].tag++;
        changed[4].rep++;
        order(&s, at, base);
        order(&s, changed[0], other);
        assert_int_equal(equal_n(base, other), N);
        for (size_t k = 1; k < CW_ARRAY_LEN(changed); k++) {
            order(&s, changed[k], other);
            assert_true(equal_n(base, other) < N / 16);
        }
    }
}

static void own_seed_changes_the_order(void **state)
{
    static int64_t base[N], other[N];
    struct shuffle s;
    (void)state;
    make(&s, "{}");
    order(&s, (struct cw_at){.seed = 1}, base);
    make(&s, "{\"seed\":0}");
    order(&s, (struct cw_at){.seed = 1}, other);
    assert_int_equal(equal_n(base, other), N);
    make(&s, "{\"seed\":5}");
    order(&s, (struct cw_at){.seed = 1}, other);
    assert_true(equal_n(base, other) < N / 16);
}

/* A window of 256 has 16 blocks of 16: so it reads from at most 17 places (a ring's seam may cut
 * one). */
static void window_reads_few_places(void **state)
{
    static int64_t at[N];
    struct shuffle s;
    (void)state;
    make(&s, "{\"window\":256}");
    order(&s, (struct cw_at){.seed = 7, .epoch = 1}, at);
    for (size_t begin = 0; begin < N; begin += 256) {
        bool there[N + 1] = {false};
        size_t places = 0;
        for (size_t i = begin; i < begin + 256; i++)
            there[at[i] + 1] = true;
        for (size_t i = 1; i <= N; i++)
            places += there[i] && !there[i - 1];
        assert_true(places <= 17);
        assert_true(places >= 4);
    }
}

/* Mean distance between what neighbours in the output were in the input: a third of n when
 * uniform. */
static void order_is_far_from_sequential(void **state)
{
    static int64_t at[N];
    struct shuffle s;
    int64_t sum = 0;
    (void)state;
    make(&s, "{}");
    order(&s, (struct cw_at){.seed = 3}, at);
    for (size_t i = 1; i < N; i++)
        sum += llabs(at[i] - at[i - 1]);
    double mean = (double)sum / (N - 1);
    assert_true(mean > N * 0.30 && mean < N * 0.36);
}

/* Draws of the engine as it was when only single positions were mapped: a window's order stays. */
static void order_stays(void **state)
{
    static const struct {
        const char *json;
        uint64_t hash;
    } orders[] = {{"{}", UINT64_C(0x9f57058ea4150331)},
                  {"{\"window\":1}", UINT64_C(0x5744fe2c90fefdf)},
                  {"{\"window\":2}", UINT64_C(0x6dc84811ea800a8e)},
                  {"{\"window\":15}", UINT64_C(0x88316add9a4ad6b)},
                  {"{\"window\":16}", UINT64_C(0x8110c095ef3ea092)},
                  {"{\"window\":31}", UINT64_C(0x1fb8121e9dcd0f69)},
                  {"{\"window\":47}", UINT64_C(0x5e2860b839bcee11)},
                  {"{\"window\":300}", UINT64_C(0xf3394a5aae4fd9ce)},
                  {"{\"window\":4000}", UINT64_C(0x41bc0b3f14541431)},
                  {"{\"window\":4095}", UINT64_C(0x68a12425ac4f61d1)}};
    static int64_t at[N], run[N];
    (void)state;
    for (size_t k = 0; k < CW_ARRAY_LEN(orders); k++) {
        struct shuffle s;
        make(&s, orders[k].json);
        const int64_t in_n = N;
        const struct cw_at where = {
            .seed = 9, .epoch = 4, .tag = 2, .rep = 1, .n = N, .in_n = &in_n};
        order(&s, where, at);
        assert_int_equal(cw_hash_u64(at, sizeof(at)), orders[k].hash);
        for (int64_t i = 0; i < N; i++)
            run[i] = i;
        s.op->map_run(s.opts, NULL, &where, run, N);
        assert_memory_equal(run, at, sizeof(at));
        for (int64_t i = 0; i < N; i++)
            run[i] = i * 17 % N; /* one window after the other, and back */
        s.op->map_run(s.opts, NULL, &where, run, N);
        for (int64_t i = 0; i < N; i++)
            assert_int_equal(run[i], at[i * 17 % N]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(order_depends_on_each_key),
        cmocka_unit_test(own_seed_changes_the_order),
        cmocka_unit_test(window_reads_few_places),
        cmocka_unit_test(order_is_far_from_sequential),
        cmocka_unit_test(order_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
