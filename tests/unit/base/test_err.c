/* SPDX-License-Identifier: Apache-2.0 */
#include "support/cm.h"

#include <errno.h>
#include <string.h>

#include "base/err.h"

static void sets_code_and_message(void **state)
{
    struct cw_err err = {0};

    (void)state;
    assert_int_equal(cw_err_set(&err, CW_E_NOT_FOUND, "no %s here", "file"), CW_E_NOT_FOUND);
    assert_int_equal(err.code, CW_E_NOT_FOUND);
    assert_string_equal(err.msg, "no file here");
    assert_int_equal(cw_err_set(NULL, CW_E_LIMIT, "%d", 1), CW_E_LIMIT);
}

static void wraps_in_front(void **state)
{
    struct cw_err err = {0};

    (void)state;
    (void)cw_err_set(&err, CW_E_IO, "disk is gone");
    assert_int_equal(cw_err_wrap(&err, "while reading %s", "a.rec"), CW_E_IO);
    assert_string_equal(err.msg, "while reading a.rec: disk is gone");
    assert_true(cw_err_wrap(NULL, "x") < 0);
    struct cw_err empty = {0};
    assert_int_equal(cw_err_wrap(&empty, "x"), CW_E_INTERNAL);
}

static void names_errno(void **state)
{
    struct cw_err err = {0};

    (void)state;
    assert_int_equal(cw_err_errno(&err, ENOENT, "cannot open %s", "/a"), CW_E_NOT_FOUND);
    assert_string_equal(err.msg, "cannot open /a: No such file or directory");
    assert_int_equal(cw_err_errno(NULL, EACCES, "x"), CW_E_DENIED);
    assert_int_equal(cw_err_errno(NULL, ECONNREFUSED, "x"), CW_E_UNAVAILABLE);
    assert_int_equal(cw_err_errno(NULL, EIO, "x"), CW_E_IO);
    assert_int_equal(cw_err_errno(NULL, EMFILE, "x"), CW_E_NOMEM);
}

/* Cut in the middle of a three-byte character, whatever the alignment, and never beyond the
 * array. */
static void cuts_long_messages_at_characters(void **state)
{
    char text[3 * sizeof(((struct cw_err *)0)->msg) + 4];

    (void)state;
    for (size_t lead = 0; lead < 3; lead++) {
        struct cw_err err = {0};
        size_t n = 0;
        memset(text, 'a', lead);
        for (n = lead; n + 3 < sizeof(text); n += 3)
            memcpy(text + n, "\xe2\x82\xac", 3);
        text[n] = '\0';
        (void)cw_err_set(&err, CW_E_IO, "%s", text);
        size_t len = strlen(err.msg);
        assert_true(len < sizeof(err.msg) && len + 3 >= sizeof(err.msg));
        assert_int_equal((len - lead) % 3, 0);
        (void)cw_err_wrap(&err, "bc");
        len = strlen(err.msg);
        assert_true(len < sizeof(err.msg));
        assert_int_equal((len - lead - 4) % 3, 0);
        assert_memory_equal(err.msg, "bc: ", 4);
    }
}

static void tables_agree(void **state)
{
    (void)state;
    for (int code = 0; code > -(int)CW_ORD_N; code--) {
        assert_string_not_equal(cw_err_name(code), "UNKNOWN");
        assert_true(strlen(cw_err_text(code)) > 0);
        int status = cw_err_to_grpc(code);
        assert_int_equal(cw_err_to_grpc(cw_err_from_grpc(status)), status);
    }
    assert_string_equal(cw_err_name(CW_E_NOT_FOUND), "NOT_FOUND");
    assert_string_equal(cw_err_name(1), "UNKNOWN");
    assert_int_equal(cw_err_from_grpc(14), CW_E_UNAVAILABLE);
    assert_int_equal(cw_err_from_grpc(2), CW_E_INTERNAL);
    assert_int_equal(cw_err_from_grpc(999), CW_E_INTERNAL);
    assert_true(cw_err_is_retryable(CW_E_UNAVAILABLE));
    assert_false(cw_err_is_retryable(CW_E_INVALID));
    assert_true(cw_err_is_of_data(CW_E_CORRUPT));
    assert_true(cw_err_is_of_data(CW_E_LIMIT));
    assert_false(cw_err_is_of_data(CW_E_IO));
    assert_false(cw_err_is_of_data(CW_E_NOT_FOUND));
    assert_false(cw_err_is_of_data(CW_E_NOMEM));
    assert_false(cw_err_is_of_data(0));
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(sets_code_and_message), cmocka_unit_test(wraps_in_front),
    cmocka_unit_test(names_errno),           cmocka_unit_test(cuts_long_messages_at_characters),
    cmocka_unit_test(tables_agree),
};
CW_TESTS_MAIN(tests)
