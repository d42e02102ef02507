/* SPDX-License-Identifier: Apache-2.0 */
#include "support/cm.h"

#include "base/mem.h"
#include "support/batches.h"

static void frames_read_back(void **state)
{
    struct cw_batch *batch = cw_test_batch(), *back = NULL;
    CW_STR_AUTO out = {0};
    CW_STR_AUTO again = {0};
    struct cw_err err = {0};
    size_t used = 0;

    (void)state;
    cw_str_add(&out, "head"); /* frames are appended */
    assert_int_equal(cw_frame_encode(batch, &out, &err), CW_OK);
    size_t n = out.len - 4;
    cw_str_add(&out, "tail");
    assert_int_equal(cw_frame_decode(out.s + 4, out.len - 4, &back, &used, &err), CW_OK);
    assert_int_equal(used, n);
    assert_true(back->epoch == 4 && back->item == 5 && back->elements == 3 && back->skipped == 1 && back->n == 2);
    assert_memory_equal(cw_batch_data(back, 0), cw_batch_data(batch, 0), 12);
    assert_string_equal(back->tensors[1].field.name, "name");
    memset((char *)batch->buf->data + 12, 0x55, 52); /* what is between tensors does not count */
    assert_int_equal(cw_frame_encode(batch, &again, &err), CW_OK);
    assert_int_equal(again.len, n);
    assert_memory_equal(again.s, out.s + 4, n);
    cw_batch_unref(back);
    cw_batch_unref(batch);
}

static void an_empty_batch_has_a_frame(void **state)
{
    struct cw_batch *batch = cw_batch_new(), *back = NULL;
    CW_STR_AUTO out = {0};
    size_t used = 0;

    (void)state;
    assert_int_equal(cw_frame_encode(batch, &out, NULL), CW_OK);
    assert_int_equal(cw_frame_decode(out.s, out.len, &back, &used, NULL), CW_OK);
    assert_int_equal(back->n, 0);
    cw_batch_unref(batch);
    cw_batch_unref(back);
}

/* Every cut and every flipped bit is found; the copy is as long as the frame, so that tools see reads outside. */
static void damage_is_found(void **state)
{
    struct cw_batch *batch = cw_test_batch(), *back = NULL;
    CW_STR_AUTO out = {0};
    size_t used = 0;

    (void)state;
    assert_int_equal(cw_frame_encode(batch, &out, NULL), CW_OK);
    for (size_t n = 0; n < out.len; n++) {
        struct cw_err err = {0};
        cw_autofree char *cut = cw_mem_dup(out.s, n);
        assert_int_equal(cw_frame_decode(cut, n, &back, &used, &err), CW_E_CORRUPT);
        assert_true(strlen(err.msg) > 10);
    }
    for (size_t bit = 0; bit < 8 * out.len; bit++) {
        cw_autofree char *bad = cw_mem_dup(out.s, out.len);
        bad[bit / 8] = (char)(bad[bit / 8] ^ (1 << bit % 8));
        assert_int_equal(cw_frame_decode(bad, out.len, &back, &used, NULL), CW_E_CORRUPT);
    }
    assert_null(back);
    cw_batch_unref(batch);
}

static void broken_batches_have_no_frame(void **state)
{
    struct cw_batch *batch = cw_test_batch();
    CW_STR_AUTO out = {0};

    (void)state;
    batch->tensors[0].field.dims[0] = 100;
    assert_int_equal(cw_frame_encode(batch, &out, NULL), CW_E_CORRUPT);
    assert_int_equal(out.len, 0);
    cw_batch_unref(batch);
}

static const struct CMUnitTest tests[] = {cmocka_unit_test(frames_read_back), cmocka_unit_test(an_empty_batch_has_a_frame),
                                          cmocka_unit_test(damage_is_found), cmocka_unit_test(broken_batches_have_no_frame)};
CW_TESTS_MAIN(tests)
