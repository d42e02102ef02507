/* SPDX-License-Identifier: Apache-2.0 */
#include "support/cm.h"

#include <string.h>

#include "format/crc32c.h"

/* RFC 3720, B.4. */
static void known_values(void **state)
{
    uint8_t bytes[32];
    (void)state;
    memset(bytes, 0, sizeof(bytes));
    assert_int_equal(cw_crc32c_plain(0, bytes, sizeof(bytes)), 0x8a9136aa);
    memset(bytes, 0xff, sizeof(bytes));
    assert_int_equal(cw_crc32c_plain(0, bytes, sizeof(bytes)), 0x62a8ab43);
    for (int i = 0; i < 32; i++)
        bytes[i] = (uint8_t)i;
    assert_int_equal(cw_crc32c_plain(0, bytes, sizeof(bytes)), 0x46dd794e);
    assert_int_equal(cw_crc32c(0, "123456789", 9), 0xe3069283);
    assert_int_equal(cw_crc32c(0, "", 0), 0);
}

static void both_ways_agree(void **state)
{
    static uint8_t bytes[600];
    uint32_t x = 1;
    (void)state;
    if (!cw_crc32c_has_sse42())
        skip();
    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (uint8_t)((x = x * 1664525u + 1013904223u) >> 24);
    for (size_t at = 0; at < 9; at++) {
        for (size_t n = 0; n + at <= sizeof(bytes); n += n < 40 ? 1 : 37) {
            uint32_t plain = cw_crc32c_plain(7, bytes + at, n);
            assert_int_equal(plain, cw_crc32c_sse42(7, bytes + at, n));
            /* in two parts */
            assert_int_equal(
                plain, cw_crc32c(cw_crc32c(7, bytes + at, n / 3), bytes + at + n / 3, n - n / 3));
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(known_values),
                                       cmocka_unit_test(both_ways_agree)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
