/* SPDX-License-Identifier: Apache-2.0 */
#include "support/cm.h"

#include <string.h>

#include "base/hash.h"

/* XXH3's own values, so that nobody changes what is in stored fingerprints. */
static void gives_xxh3(void **state)
{
    char text[CW_HASH_TEXT_BYTES];

    (void)state;
    cw_hash_text(cw_hash_bytes(NULL, 0), text);
    assert_string_equal(text, "99aa06d3014798d86001c324468d497f");
    assert_int_equal(cw_hash_u64("", 0), UINT64_C(0x2d06800538d394c2));
}

static void streams_equal_one_shot(void **state)
{
    unsigned char data[5000];
    struct cw_hasher *hasher = cw_hasher_new();

    (void)state;
    for (size_t i = 0; i < sizeof(data); i++)
        data[i] = (unsigned char)(i * 31 >> 3);
    for (int turn = 0; turn < 2; turn++) {
        cw_hasher_reset(hasher);
        for (size_t at = 0, n = 1; at < sizeof(data); at += n, n = n * 2 + 1) {
            n = CW_MIN(n, sizeof(data) - at);
            cw_hasher_add(hasher, data + at, n);
        }
        assert_true(cw_hash_eq(cw_hasher_get(hasher), cw_hash_bytes(data, sizeof(data))));
        assert_true(cw_hasher_get_u64(hasher) == cw_hash_u64(data, sizeof(data)));
    }
    cw_hasher_reset(hasher);
    cw_hasher_add_str(hasher, "ab");
    cw_hasher_add_str(hasher, NULL);
    assert_true(
        cw_hash_eq(cw_hasher_get(hasher), cw_hash_bytes("\2\0\0\0\0\0\0\0ab\0\0\0\0\0\0\0\0", 18)));
    cw_hasher_free(hasher);
    cw_hasher_free(NULL);
}

static void text_reads_back(void **state)
{
    struct cw_hash hash = {0x0123456789abcdefu, 0xfedcba9876543210u}, back = {0};
    char text[CW_HASH_TEXT_BYTES];

    (void)state;
    cw_hash_text(hash, text);
    assert_string_equal(text, "0123456789abcdeffedcba9876543210");
    assert_true(cw_hash_parse(text, &back) && cw_hash_eq(hash, back));
    assert_false(cw_hash_parse("0123", &back));
    assert_false(cw_hash_parse("0123456789abcdeffedcba987654321g", &back));
    assert_false(cw_hash_parse(NULL, &back));
}

static const struct CMUnitTest tests[] = {cmocka_unit_test(gives_xxh3),
                                          cmocka_unit_test(streams_equal_one_shot),
                                          cmocka_unit_test(text_reads_back)};
CW_TESTS_MAIN(tests)
