/* SPDX-License-Identifier: Apache-2.0 */
/* The heap of outputs: order, and taking out of the middle. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/mem.h"
#include "worker/worker_int.h"

static bool drop_odd(void *arg, struct cw_output *output)
{
    if (output->item % 2 == 0)
        return false;
    ++*(size_t *)arg;
    return true;
}

static void test_order(void **state)
{
    (void)state;
    enum { N = 1000 };
    struct cw_output *all = CW_NEW_ARRAY(struct cw_output, N);
    struct cw_outq q = {0};
    for (size_t i = 0; i < N; i++) {
        size_t k = (i * 617) % N; /* coprime: every number once */
        all[i].epoch = k / 300;
        all[i].item = k % 300;
        cw_outq_push(&q, &all[i]);
    }
    size_t dropped = 0;
    cw_outq_filter(&q, drop_odd, &dropped);
    assert_int_equal(dropped, N / 2);
    assert_int_equal(q.n, N / 2);
    uint64_t epoch = 0, item = 0;
    for (size_t i = 0; q.n > 0; i++) {
        assert_ptr_equal(cw_outq_first(&q), q.v[0]);
        struct cw_output *o = cw_outq_pop(&q);
        assert_true(i == 0 || cw_outq_before(epoch, item, o->epoch, o->item));
        epoch = o->epoch;
        item = o->item;
    }
    assert_null(cw_outq_first(&q));
    cw_mem_free(q.v);
    cw_mem_free(all);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_order)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
