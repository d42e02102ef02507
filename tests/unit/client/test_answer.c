/* SPDX-License-Identifier: Apache-2.0 */
/* What answers of the dispatcher mean, decided by codes and times alone. */
#include "support/cm.h"

#include "base/err.h"
#include "client/session/answer.h"

#define MS INT64_C(1000000)

static void a_refusal_before_the_welcome_is_final(void **state)
{
    static const int final[] = {CW_E_INVALID, CW_E_DENIED,     CW_E_UNSUPPORTED, CW_E_LIMIT,
                                CW_E_STATE,   CW_E_OTHER_FILE, CW_E_EXISTS,      CW_E_NOT_FOUND};
    static const int passing[] = {0, CW_E_UNAVAILABLE, CW_E_TIMEOUT, CW_E_INTERNAL, CW_E_CORRUPT};
    (void)state;
    for (size_t i = 0; i < CW_ARRAY_LEN(final); i++) {
        assert_int_equal(cw_answer_to_close(final[i], false), CW_ANSWER_FAIL);
        assert_int_equal(cw_answer_to_close(final[i], true), CW_ANSWER_RETRY);
    }
    for (size_t i = 0; i < CW_ARRAY_LEN(passing); i++) {
        assert_int_equal(cw_answer_to_close(passing[i], false), CW_ANSWER_RETRY);
        assert_int_equal(cw_answer_to_close(passing[i], true), CW_ANSWER_RETRY);
    }
}

static void a_job_error_ends_the_job_unless_it_passes(void **state)
{
    (void)state;
    for (int can = 0; can < 2; can++) {
        assert_int_equal(cw_answer_to_error(CW_E_UNAVAILABLE, can != 0), CW_ANSWER_RETRY);
        assert_int_equal(cw_answer_to_error(CW_E_INVALID, can != 0), CW_ANSWER_FAIL);
        assert_int_equal(cw_answer_to_error(CW_E_INTERNAL, can != 0), CW_ANSWER_FAIL);
    }
    assert_int_equal(cw_answer_to_error(CW_E_NOT_FOUND, true), CW_ANSWER_RESTART);
    assert_int_equal(cw_answer_to_error(CW_E_NOT_FOUND, false), CW_ANSWER_FAIL);
}

/* A dispatcher of a later version may send codes that this one does not know. */
static void unknown_codes_are_internal(void **state)
{
    (void)state;
    assert_int_equal(cw_answer_code(CW_E_NOT_FOUND), CW_E_NOT_FOUND);
    assert_int_equal(cw_answer_code(0), CW_E_INTERNAL);
    assert_int_equal(cw_answer_code(7), CW_E_INTERNAL);
    assert_int_equal(cw_answer_code(-100000), CW_E_INTERNAL);
}

static void the_limit_counts_from_what_last_moved(void **state)
{
    const int64_t now = 1000 * MS, timeout = 100;
    (void)state;
    assert_int_equal(cw_answer_start_limit(5, now, timeout, 0), 1100 * MS);
    assert_int_equal(cw_answer_start_limit(5, now, timeout, 30), 1070 * MS);
    /* It never comes nearer, and nothing that stands still puts it off. */
    assert_int_equal(cw_answer_start_limit(1200 * MS, now, timeout, 0), 1200 * MS);
    assert_int_equal(cw_answer_start_limit(5, now, timeout, CW_SESSION_STUCK), 5);
    /* also where the limit is longer than any time that is told */
    assert_int_equal(cw_answer_start_limit(5, now, INT64_C(48) * 3600 * 1000, CW_SESSION_STUCK), 5);
    assert_int_equal(cw_answer_start_limit(5, now, timeout, CW_SESSION_STUCK - 1), 5);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_refusal_before_the_welcome_is_final),
    cmocka_unit_test(a_job_error_ends_the_job_unless_it_passes),
    cmocka_unit_test(unknown_codes_are_internal),
    cmocka_unit_test(the_limit_counts_from_what_last_moved)};
CW_TESTS_MAIN(tests)
