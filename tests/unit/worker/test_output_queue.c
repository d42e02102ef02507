/* SPDX-License-Identifier: Apache-2.0 */
/* The heap of outputs: order, and taking out of the middle. What an output is counted with. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <malloc.h>
#include <string.h>

#include "base/mem.h"
#include "worker/model/state.h"

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
        assert_true(i == 0 || cw_item_before(epoch, item, o->epoch, o->item));
        epoch = o->epoch;
        item = o->item;
    }
    assert_null(cw_outq_first(&q));
    cw_mem_free(q.v);
    cw_mem_free(all);
}

static struct cw_batch *numbers(size_t tensors, size_t n)
{
    struct cw_batch *batch = cw_batch_new(tensors);
    struct cw_err err = {0};
    size_t bytes = 0;
    for (size_t i = 0; i < tensors; i++) {
        struct cw_field *field = &batch->tensors[i].field;
        *field =
            (struct cw_field){.name = "x0", .dtype = CW_DTYPE_I64, .rank = 1, .dims = {(int64_t)n}};
        field->name[1] = (char)('a' + i);
    }
    assert_int_equal(cw_batch_layout(batch, &bytes, &err), 0);
    batch->buf = cw_buf_new(bytes);
    assert_non_null(batch->buf);
    memset(batch->buf->data, 0, bytes);
    return batch;
}

/* All pieces of memory of an output, as the allocator says. */
static size_t pieces_of(const struct cw_output *o)
{
    size_t bytes = malloc_usable_size((void *)(uintptr_t)o) + sizeof(o);
    if (o->batch)
        bytes += malloc_usable_size(o->batch) + malloc_usable_size(o->batch->buf);
    return bytes;
}

/* The allocator leaves a piece whole when 16 bytes would be left over. */
#define LEFT_OVER (3 * 16)
/* Of two large pieces each is counted in pages, which the allocator may or may not map for it alone. */
#define MAPPED ((size_t)128 << 10)
#define PAGES (2 * 4096)

/* What an output is counted with is what it takes; and a small one takes little. */
static void test_held(void **state)
{
    static const size_t lengths[] = {0, 1, 8, 9, 120, 128, 129, 1000, 4000, 4095, 200000};
    (void)state;
    for (size_t tensors = 1; tensors <= CW_FIELDS_MAX; tensors += tensors < 20 ? 5 : 98)
        for (size_t i = 0; i < CW_ARRAY_LEN(lengths); i++) {
            struct cw_output *o =
                cw_output_new(numbers(tensors, lengths[i]), (struct cw_lease_id){1, 2});
            size_t pieces = pieces_of(o);
            assert_in_range(o->held + LEFT_OVER, pieces,
                            pieces + pieces / 50 + 250 + (pieces > MAPPED ? PAGES : 0));
            assert_int_equal(o->bytes, tensors * CW_ALIGN_UP(8 * lengths[i], (size_t)64));
            assert_true((o->batch == NULL) == (o->bytes <= 1024));
            if (tensors == 1 && lengths[i] == 1)
                assert_in_range(o->held, 0, 300);
            cw_output_free(o);
        }
    /* One without anything: all its elements were left out. */
    struct cw_output *o = cw_output_new(cw_batch_new(0), (struct cw_lease_id){1, 2});
    assert_in_range(o->held + LEFT_OVER, pieces_of(o), 250);
    cw_output_free(o);
    /* Wrapped memory, as a slot of shared memory is, counts as far as it goes. */
    static char slot[100000];
    struct cw_batch *batch = cw_batch_new(0);
    batch->buf = cw_buf_wrap(slot, sizeof(slot), NULL, NULL);
    batch->buf->len = 50000;
    o = cw_output_new(batch, (struct cw_lease_id){1, 2});
    assert_int_equal(o->bytes, 50000);
    assert_in_range(o->held + LEFT_OVER, sizeof(slot) + pieces_of(o),
                    sizeof(slot) + pieces_of(o) + 150);
    cw_output_free(o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_order), cmocka_unit_test(test_held)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
