/* SPDX-License-Identifier: Apache-2.0 */
/* Several threads draw from more epochs at a time than sample keeps orders of, and each gets what one thread alone
 * gets. */
#include "support/cm.h"

#include <string.h>

#include "base/thread.h"
#include "ops/op.h"

enum { N = 9, EPOCHS = 7, THREADS = 4, DRAWS = 20000 };

struct sample {
    const struct cw_op *op;
    uint64_t opts[32];
    void *state;
};

static void sample_init(struct sample *s)
{
    static const char json[] = "{\"weights\":[5,0,0.25,3,1,1,0,2,9],\"replacement\":false}";
    const struct cw_op_open how = {.manifest = NULL};
    struct cw_value options = {0};
    struct cw_err err = {0};
    *s = (struct sample){.op = cw_op_find("sample")};
    assert_true(s->op->options_bytes <= sizeof(s->opts));
    assert_int_equal(cw_value_parse(json, strlen(json), "options", &options, &err), 0);
    assert_int_equal(cw_opt_parse(s->op->options, &options, s->opts, &err), 0);
    assert_int_equal(s->op->open(s->opts, &how, &s->state, &err), 0);
    cw_value_fini(&options);
}

static void sample_fini(struct sample *s)
{
    s->op->close(s->state);
    cw_opt_fini(s->op->options, s->opts);
}

static int64_t draw(const struct sample *s, uint64_t epoch, int64_t pos)
{
    static const int64_t in_n = N;
    struct cw_at at = {.seed = 3, .epoch = epoch, .tag = 5, .in_n = &in_n, .n = 7};
    size_t input = 0;
    return s->op->map(s->opts, s->state, &at, pos, &input);
}

struct drawer {
    struct cw_thread thread;
    const struct sample *sample;
    uint64_t id;
    int64_t (*want)[7];
    int wrong;
};

static void draw_many(void *arg)
{
    struct drawer *d = arg;
    for (uint64_t k = 0; k < DRAWS; k++) { /* mostly of an epoch, and others between */
        const uint64_t epoch = k % 11 == 0 ? (k / 11 + d->id) % EPOCHS : k / 997 % EPOCHS;
        const int64_t pos = (int64_t)((k * 5 + d->id) % 7);
        d->wrong += draw(d->sample, epoch, pos) != d->want[epoch][pos];
    }
}

static void threads_agree(void **state)
{
    static int64_t want[EPOCHS][7];
    struct sample one, all;
    struct drawer drawers[THREADS];
    (void)state;
    sample_init(&one);
    for (uint64_t epoch = 0; epoch < EPOCHS; epoch++) {
        unsigned seen = 0;
        for (int64_t pos = 0; pos < 7; pos++) {
            want[epoch][pos] = draw(&one, epoch, pos);
            assert_in_range(want[epoch][pos], 0, N - 1);
            seen |= 1U << want[epoch][pos];
        }
        assert_int_equal(seen, 0x1bd); /* each that has a weight */
    }
    assert_memory_not_equal(want[0], want[1], sizeof(want[0]));
    sample_init(&all);
    for (size_t i = 0; i < THREADS; i++) {
        drawers[i] = (struct drawer){.sample = &all, .id = i, .want = want};
        cw_thread_start(&drawers[i].thread, "drawer", draw_many, &drawers[i]);
    }
    for (size_t i = 0; i < THREADS; i++) {
        cw_thread_join(&drawers[i].thread);
        assert_int_equal(drawers[i].wrong, 0);
    }
    sample_fini(&one);
    sample_fini(&all);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(threads_agree)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
