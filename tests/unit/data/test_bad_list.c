/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of bad elements: what remains of too many does not depend on the order in which they come. */
#include "support/cm.h"

#include <string.h>
#include "base/limits.h"
#include "base/mem.h"
#include "data/bad_list.h"

static struct cw_bad_element element(int64_t position, const char *reason)
{
    return (struct cw_bad_element){
        .elements = 1, .position = position, .record = -1, .source = "s", .reason = reason};
}

static void add(struct cw_bad_list *list, int64_t row, const char *reason)
{
    struct cw_bad_element one = element(row * 10, reason);
    cw_bad_list_add(list, row, &one);
}

static void rows_are_in_order(void **state)
{
    struct cw_bad_list *list = cw_bad_list_new();
    (void)state;
    add(list, 7, "c");
    add(list, 2, "a");
    add(list, 5, "b");
    assert_int_equal(cw_bad_list_n(list), 3);
    for (size_t i = 0; i < 3; i++)
        assert_string_equal(cw_bad_list_at(list, i)->reason, ((const char *[]){"a", "b", "c"})[i]);
    assert_int_equal(cw_bad_list_at(list, 1)->position, 50);
    assert_string_equal(cw_bad_list_at(list, 0)->file, ""); /* it was not given */
    assert_string_equal(cw_bad_list_at(list, 0)->source, "s");
    assert_ptr_equal(cw_bad_list_ref(list), list);
    assert_null(cw_bad_list_unref(list));
    assert_true(cw_bad_list_held(list) > 3 * sizeof(struct cw_bad_element));
    assert_null(cw_bad_list_unref(list));
    assert_null(cw_bad_list_unref(NULL));
    assert_null(cw_bad_list_ref(NULL));
    assert_int_equal(cw_bad_list_n(NULL), 0);
    assert_int_equal(cw_bad_list_held(NULL), 0);
}

/* Adds rows [0, n) in the order of 0, step, 2 step ... modulo n, with texts of different length. */
static struct cw_bad_list *scattered(int64_t n, int64_t step, size_t len)
{
    struct cw_bad_list *list = cw_bad_list_new();
    cw_autofree char *text = cw_mem_new(len + 200);
    for (int64_t i = 0; i < n; i++) {
        int64_t row = i * step % n;
        size_t more = (size_t)(row * 37 % 100);
        memset(text, 'x', len + more);
        text[len + more] = '\0';
        add(list, row, text);
    }
    return list;
}

static void what_remains_does_not_depend_on_the_order(void **state)
{
    static const int64_t steps[] = {1, 2999, 1013, 7};
    static const size_t lens[] = {0, 300};
    (void)state;
    for (size_t l = 0; l < CW_ARRAY_LEN(lens); l++) {
        size_t want = 0;
        for (size_t k = 0; k < CW_ARRAY_LEN(steps); k++) {
            struct cw_bad_list *list = scattered(3000, steps[k], lens[l]);
            size_t n = cw_bad_list_n(list);
            want = k == 0 ? n : want;
            assert_int_equal(n, want);
            for (size_t i = 0; i < n; i++)
                assert_int_equal(cw_bad_list_at(list, i)->position, (int64_t)i * 10);
            assert_false(cw_bad_list_takes(list, (int64_t)n));
            assert_true(cw_bad_list_takes(list, (int64_t)n - 1));
            cw_bad_list_unref(list);
        }
        if (lens[l] == 0)
            assert_int_equal(want, CW_BAD_LISTED_MAX);
        else
            assert_true(want < CW_BAD_LISTED_MAX && want > CW_BAD_LIST_BYTES / 400);
    }
}

static void long_texts_end_with_a_character(void **state)
{
    struct cw_bad_list *list = cw_bad_list_new();
    char text[CW_BAD_TEXT_MAX + 10];
    (void)state;
    memset(text, 'x', sizeof text);
    memcpy(text + CW_BAD_TEXT_MAX - 1, "\xc3\xa4", 2); /* lies across the limit */
    text[sizeof text - 1] = '\0';
    add(list, 0, text);
    assert_int_equal(strlen(cw_bad_list_at(list, 0)->reason), CW_BAD_TEXT_MAX - 1);
    cw_bad_list_unref(list);
}

static void lists_are_put_together(void **state)
{
    struct cw_bad_list *list = cw_bad_list_new(), *more = scattered(600, 1, 0);
    (void)state;
    cw_bad_list_append(list, NULL);
    cw_bad_list_append(list, more);
    cw_bad_list_append(list, more);
    assert_int_equal(cw_bad_list_n(list), CW_BAD_LISTED_MAX);
    assert_int_equal(cw_bad_list_at(list, 599)->position, 5990);
    assert_int_equal(cw_bad_list_at(list, 600)->position, 0);
    cw_bad_list_unref(list);
    cw_bad_list_unref(more);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_in_order),
        cmocka_unit_test(what_remains_does_not_depend_on_the_order),
        cmocka_unit_test(long_texts_end_with_a_character),
        cmocka_unit_test(lists_are_put_together),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
