/* SPDX-License-Identifier: Apache-2.0 */
/* Messages in slices, and the reader of protobuf fields. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "rpc/pb.h"
#include "rpc/rpc.h"

static const char text[] = "the quick brown fox jumps over the lazy dog";
#define N (sizeof text - 1)

static void test_slices(void **state)
{
    (void)state;
    for (size_t piece = 1; piece <= N + 1; piece++) {
        struct cw_rpc_msg *msg = cw_rpc_msg_from(text, N, piece);
        char out[N];
        assert_int_equal(cw_rpc_msg_len(msg), N);
        for (size_t at = 0; at <= N; at += 5) {
            assert_int_equal(cw_rpc_msg_copy(msg, at, out, N - at), 0);
            assert_memory_equal(out, text + at, N - at);
        }
        assert_int_equal(cw_rpc_msg_copy(msg, 1, out, N), CW_E_INVALID);
        assert_int_equal(cw_rpc_msg_copy(msg, SIZE_MAX, out, 2), CW_E_INVALID);
        for (size_t n = 0; n <= N; n += 7)
            assert_memory_equal(cw_rpc_msg_flat(msg, n), text, n);
        assert_memory_equal(cw_rpc_msg_flat(msg, N), text, N);
        cw_rpc_msg_unref(cw_rpc_msg_ref(msg));
        cw_rpc_msg_unref(msg);
    }
}

static void test_reader(void **state)
{
    (void)state;
    struct cw_rpc_msg *msg = cw_rpc_msg_from(text, N, 4);
    struct cw_rpc_reader reader = {.msg = msg};
    char out[N];
    assert_int_equal(cw_rpc_reader_skip(&reader, 6), 6);
    assert_int_equal(cw_rpc_reader_read(&reader, out, 9), 9);
    assert_memory_equal(out, text + 6, 9);
    const void *p;
    assert_int_equal(cw_rpc_reader_next(&reader, 100, &p), 1); /* to the end of a slice */
    assert_memory_equal(p, text + 15, 1);
    assert_int_equal(reader.pos, 16);
    assert_int_equal(cw_rpc_reader_skip(&reader, 1000), N - 16);
    assert_int_equal(cw_rpc_reader_next(&reader, 1, &p), 0);
    assert_int_equal(cw_rpc_reader_read(&reader, out, 1), 0);
    cw_rpc_msg_unref(msg);
    msg = cw_rpc_msg_from("", 0, 1);
    assert_int_equal(cw_rpc_msg_len(msg), 0);
    assert_non_null(cw_rpc_msg_flat(msg, 0));
    cw_rpc_msg_unref(msg);
}

static void test_varints(void **state)
{
    static const uint64_t values[] = {0, 1, 127, 128, 300, 1u << 21, UINT32_MAX, UINT64_MAX};
    uint8_t bytes[10];
    uint64_t back;
    (void)state;
    for (size_t i = 0; i < CW_ARRAY_LEN(values); i++) {
        size_t n = cw_pb_put_varint(bytes, values[i]);
        assert_int_equal(cw_pb_varint(bytes, bytes + n, &back), n);
        assert_true(back == values[i]);
        assert_int_equal(cw_pb_varint(bytes, bytes + n - 1, &back), 0);
    }
}

static void test_fields(void **state)
{
    /* 1: varint 150; 2: "testing"; 3: fixed32; 4: fixed64 */
    static const uint8_t good[] = {0x08, 0x96, 0x01, 0x12, 0x07, 't', 'e', 's', 't',
                                   'i',  'n',  'g',  0x1d, 1,    2,   3,   4,   0x21,
                                   1,    2,    3,    4,    5,    6,   7,   8};
    const uint8_t *p = good, *end = good + sizeof good;
    struct cw_pb_field field;
    (void)state;
    assert_true(cw_pb_next(&p, end, &field));
    assert_int_equal(field.number, 1);
    assert_int_equal(field.value, 150);
    assert_true(cw_pb_next(&p, end, &field));
    assert_int_equal(field.value, 7);
    assert_memory_equal(field.data, "testing", 7);
    assert_true(cw_pb_next(&p, end, &field));
    assert_int_equal(field.data[3], 4);
    assert_true(cw_pb_next(&p, end, &field));
    assert_int_equal(field.number, 4);
    assert_false(cw_pb_next(&p, end, &field));
    assert_ptr_equal(p, end);
    for (size_t cut = 1; cut < sizeof good; cut++) { /* cut anywhere: never beyond the end */
        p = good;
        while (cw_pb_next(&p, good + cut, &field))
            ;
        assert_true(p <= good + cut);
    }
    static const uint8_t bad[][3] = {{0x00, 0x01, 0x00}, {0x0b, 0x01, 0x0c}, {0x12, 0x7f, 0x00}};
    for (size_t i = 0; i < CW_ARRAY_LEN(bad); i++) {
        p = bad[i];
        assert_false(cw_pb_next(&p, bad[i] + sizeof bad[i], &field));
        assert_ptr_equal(p, bad[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_slices),
        cmocka_unit_test(test_reader),
        cmocka_unit_test(test_varints),
        cmocka_unit_test(test_fields),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
