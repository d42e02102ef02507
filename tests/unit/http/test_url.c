/* SPDX-License-Identifier: Apache-2.0 */
/* What is logged of a URL has no secrets. */
#include "http/http_url.h"

#include "base/mem.h"
#include "support/cm.h"

static void what_may_be_logged(void **state)
{
    static const char *const cases[][2] = {
        {"http://host:80/a/b", "http://host:80/a/b"},
        {"https://me:secret@host/x", "https://host/x"},
        {"https://me:p@ss@host/x@y?key=secret", "https://host/x@y"},
        {"https://me@host#secret", "https://host"},
        {"https://host/?a=1#b", "https://host/"},
        {"me:secret@host/x", "host/x"},
        {"https://host?at=://me:secret@x", "https://host"},
        {"https://", "https://"},
        {"", ""},
    };
    (void)state;
    for (size_t i = 0; i < CW_ARRAY_LEN(cases); i++) {
        cw_autofree char *shown = cw_http_url_shown(cases[i][0]);
        assert_string_equal(shown, cases[i][1]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_may_be_logged)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
