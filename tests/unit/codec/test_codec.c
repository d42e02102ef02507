/* SPDX-License-Identifier: Apache-2.0 */
/* Frames that come from a peer or a file: what is none, is too large, or is damaged, is refused. */
#include <string.h>

#include "base/mem.h"
#include "codec/codec.h"
#include "support/cm.h"

#define TEXT "what is written here is written here is written here"

static void there_and_back(void **state)
{
    (void)state;
    static const char *const texts[] = {"", "x", TEXT};
    for (size_t i = 0; i < CW_ARRAY_LEN(texts); i++) {
        struct cw_err err = {0};
        size_t n = strlen(texts[i]);
        struct cw_buf *packed = cw_codec_pack(texts[i], n), *got = NULL;
        assert_non_null(packed);
        assert_true(cw_codec_content_is(packed->data, packed->len, n));
        assert_false(cw_codec_content_is(packed->data, packed->len, n + 1));
        assert_int_equal(cw_codec_unpack(packed->data, packed->len, n, "text", &got, &err), 0);
        assert_int_equal(got->len, n);
        assert_string_equal(got->data, texts[i]); /* with a zero behind it */
        cw_buf_unref(got);
        cw_buf_unref(packed);
    }
    assert_false(cw_codec_content_is("", 0, 0));
}

static void what_is_no_frame(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        size_t n;
    } cases[] = {
        {"", 0},
        {"no frame", 8},
        {"\x28\xb5\x2f\xfd", 4},                     /* its beginning */
        {"\x28\xb5\x2f\xfd\x00\x58\x01\x00\x00", 9}, /* one that does not say how large it is */
    };
    for (size_t i = 0; i < CW_ARRAY_LEN(cases); i++) {
        struct cw_err err = {0};
        struct cw_buf *got = NULL;
        assert_int_equal(cw_codec_unpack(cases[i].bytes, cases[i].n, 100, "text", &got, &err),
                         CW_E_CORRUPT);
        assert_string_equal(err.msg, "text: is not compressed data");
        assert_null(got);
    }
}

static void what_is_too_large_or_damaged(void **state)
{
    (void)state;
    struct cw_err err = {0};
    struct cw_buf *packed = cw_codec_pack(TEXT, strlen(TEXT)), *got = NULL;
    char to[sizeof(TEXT)];
    assert_int_equal(
        cw_codec_unpack(packed->data, packed->len, strlen(TEXT) - 1, "text", &got, &err),
        CW_E_LIMIT);
    assert_non_null(strstr(err.msg, "text: would have 52 bytes, the limit is 51"));
    assert_int_equal(cw_codec_unpack(packed->data, packed->len - 3, 100, "text", &got, &err),
                     CW_E_CORRUPT);
    assert_string_equal(err.msg, "text: cannot be decompressed");
    assert_null(got);
    assert_int_equal(cw_codec_unpack_to(to, strlen(TEXT), packed->data, packed->len, "text", &err),
                     0);
    /* it has fewer bytes than was said, or more */
    assert_int_equal(cw_codec_unpack_to(to, sizeof(to), packed->data, packed->len, "text", &err),
                     CW_E_CORRUPT);
    assert_int_equal(cw_codec_unpack_to(to, 10, packed->data, packed->len, "text", &err),
                     CW_E_CORRUPT);
    cw_buf_unref(packed);
}

static void pieces(void **state)
{
    (void)state;
    struct cw_err err = {0};
    char frame[256], to[sizeof(TEXT)];
    struct cw_codec_packer *packer = cw_codec_packer_new(3);
    size_t n = cw_codec_pack_to(packer, frame, sizeof(frame), TEXT, strlen(TEXT));
    assert_true(n > 0 && n <= cw_codec_bound(strlen(TEXT)));
    assert_int_equal(cw_codec_unpack_to(to, strlen(TEXT), frame, n, "text", &err), 0);
    assert_memory_equal(to, TEXT, strlen(TEXT));
    assert_int_equal(cw_codec_pack_to(packer, frame, n - 1, TEXT, strlen(TEXT)), 0); /* no room */
    assert_int_equal(cw_codec_pack_to(packer, frame, sizeof(frame), TEXT, strlen(TEXT)), n);
    cw_codec_packer_free(packer);
    cw_codec_packer_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(there_and_back),
        cmocka_unit_test(what_is_no_frame),
        cmocka_unit_test(what_is_too_large_or_damaged),
        cmocka_unit_test(pieces),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
