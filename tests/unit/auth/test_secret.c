/* SPDX-License-Identifier: Apache-2.0 */
/* Secrets: they differ from each other, and only equal ones are equal. */
#include "support/cm.h"

#include <string.h>

#include "auth/secret.h"
#include "base/compiler.h"

static void test_made(void **state)
{
    unsigned char a[CW_SECRET_BYTES] = {0}, b[CW_SECRET_BYTES] = {0};
    char text[CW_SECRET_TEXT_BYTES];
    (void)state;
    cw_secret_make(a, sizeof(a));
    cw_secret_make(b, sizeof(b));
    assert_memory_not_equal(a, b, sizeof(a));
    a[0] = 0x0f;
    a[CW_SECRET_BYTES - 1] = 0xa0;
    cw_secret_text(a, text);
    assert_int_equal(strlen(text), 2 * CW_SECRET_BYTES);
    assert_memory_equal(text, "0f", 2);
    assert_string_equal(&text[2 * CW_SECRET_BYTES - 2], "a0");
}

static void test_equal(void **state)
{
    static const struct {
        const char *given, *secret;
        bool equal;
    } rows[] = {
        {"abc", "abc", true},     {"abd", "abc", false}, {"ab", "abc", false},
        {"", "abc", false},       {"abc", "", false},    {"", "", false},
        {"abcabc", "abc", false}, {"Abc", "abc", false}, {"abcd", "abc", false},
    };
    (void)state;
    for (size_t i = 0; i < CW_ARRAY_LEN(rows); i++)
        assert_int_equal(cw_secret_equal(rows[i].given, strlen(rows[i].given), rows[i].secret,
                                         strlen(rows[i].secret)),
                         rows[i].equal);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_made), cmocka_unit_test(test_equal)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
