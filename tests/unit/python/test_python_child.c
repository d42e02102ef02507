/* SPDX-License-Identifier: Apache-2.0 */
/* Children with functions of Python's own, in the Python of Debian. Without NumPy there the test is skipped. */
#include "support/cm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "python/python_child.h"
#include "python/python_setup.h"

#define PYTHON "/usr/bin/python3"
/* pickle.dumps(([], function), 4) as base64 */
#define DICT "gASVGQAAAAAAAABdlIwIYnVpbHRpbnOUjARkaWN0lJOUhpQu"
#define LEN "gASVGAAAAAAAAABdlIwIYnVpbHRpbnOUjANsZW6Uk5SGlC4="
#define BOOL "gASVGQAAAAAAAABdlIwIYnVpbHRpbnOUjARib29slJOUhpQu"
#define SLEEP "gASVFgAAAAAAAABdlIwEdGltZZSMBXNsZWVwlJOUhpQu"
#define EXIT "gASVFwAAAAAAAABdlIwFcG9zaXiUjAVfZXhpdJSTlIaULg=="
#define ONES "gASVFgAAAAAAAABdlIwFbnVtcHmUjARvbmVzlJOUhpQu"

static char version[8];
static struct cw_str_list none, on_x;

static struct cw_python_function function_of(const char *code)
{
    return (struct cw_python_function){.code = code,
                                       .version = version,
                                       .packages = &none,
                                       .on = &none,
                                       .timeout_s = 60,
                                       .memory_bytes = (int64_t)4 << 30};
}

static struct cw_spec spec_of(const char *text)
{
    struct cw_spec spec = {0};
    assert_int_equal(cw_spec_add_text(&spec, text, NULL), 0);
    return spec;
}

static struct cw_python_child *start(const struct cw_python_function *function,
                                     const struct cw_spec *out)
{
    CW_SPEC_AUTO in = spec_of("x: i64");
    struct cw_python_child *child = NULL;
    struct cw_err err = {0};
    if (cw_python_child_start(function, NULL, &child, &err) != 0 ||
        cw_python_child_tell(child, &in, out, NULL, &err) != 0)
        fail_msg("%s", err.msg);
    return child;
}

static struct cw_view number(int64_t *value)
{
    return (struct cw_view){.data = value, .bytes = sizeof(*value), .dtype = CW_DTYPE_I64};
}

/* Calls with a number; returns what cw_python_child_call does. */
static int call(struct cw_python_child *child, int64_t value, const struct cw_stop *stop,
                struct cw_view *ret_view, struct cw_err *err)
{
    struct cw_view in = number(&value), out[CW_FIELDS_MAX] = {0};
    size_t n = 0;
    int rc = cw_python_child_call(child, &in, 1, 0, stop, out, &n, err);
    if (rc == 0 && ret_view)
        *ret_view = out[0];
    return rc;
}

static int64_t value_of(const struct cw_view *view)
{
    int64_t value;
    assert_int_equal(view->bytes, sizeof(value));
    memcpy(&value, view->data, sizeof(value));
    return value;
}

static void calls(void **state)
{
    CW_SPEC_AUTO out = spec_of("x: i64");
    const struct cw_python_function same = function_of(DICT), length = function_of(LEN);
    struct cw_python_child *child = start(&same, &out);
    struct cw_view view = {0};
    struct cw_err err = {0};
    (void)state;
    for (int64_t i = 0; i < 5; i++) {
        assert_int_equal(call(child, 100 + i, NULL, &view, &err), 0);
        assert_int_equal(value_of(&view), 100 + i);
        assert_true(cw_python_child_cpu_ns(child) > 0);
    }
    cw_python_child_free(child);
    child = start(&length, NULL); /* it says itself what it gives */
    assert_int_equal(call(child, 0, NULL, &view, &err), 0);
    assert_int_equal(value_of(&view), 1);
    assert_string_equal(cw_python_child_names(child), "[\"x\"]");
    cw_python_child_free(child);
}

/* The result needs more memory than there is, and then more than is allowed. */
static void large_results(void **state)
{
    CW_SPEC_AUTO out = spec_of("x: f64[?]");
    struct cw_python_function ones = function_of(ONES);
    ones.on = &on_x;
    ones.memory_bytes = (int64_t)2 << 30;
    struct cw_python_child *child = start(&ones, &out);
    struct cw_view view = {0};
    struct cw_err err = {0};
    (void)state;
    for (int64_t n = 1; n <= 4000000; n *= 1000) {
        assert_int_equal(call(child, n, NULL, &view, &err), 0);
        assert_int_equal(view.dims[0], n);
        assert_true(((double *)view.data)[n - 1] == 1.0);
    }
    assert_int_equal(call(child, (int64_t)1 << 40, NULL, &view, &err), CW_E_INVALID);
    assert_non_null(strstr(err.msg, "MemoryError"));
    assert_false(cw_python_child_runs(child));
    cw_python_child_free(child);
}

static void filters(void **state)
{
    struct cw_python_function truth = function_of(BOOL);
    truth.filters = true;
    truth.on = &on_x;
    struct cw_python_child *child = start(&truth, NULL);
    (void)state;
    assert_int_equal(call(child, 0, NULL, NULL, NULL), 1);
    assert_int_equal(call(child, 3, NULL, NULL, NULL), 0);
    cw_python_child_free(child);
}

static void ends(void **state)
{
    CW_SPEC_AUTO out = spec_of("x: i64");
    struct cw_python_function leaves = function_of(EXIT), sleeps = function_of(SLEEP);
    struct cw_stop stop = {0};
    struct cw_err err = {0};
    (void)state;
    leaves.on = sleeps.on = &on_x;
    struct cw_python_child *child = start(&leaves, &out);
    assert_int_equal(call(child, 5, NULL, NULL, &err), CW_E_INVALID);
    assert_non_null(strstr(err.msg, "exited with status 5"));
    assert_false(cw_python_child_runs(child));
    cw_python_child_free(child);
    sleeps.timeout_s = 0.05;
    child = start(&sleeps, &out);
    assert_int_equal(call(child, 1000000, NULL, NULL, &err), CW_E_INVALID);
    assert_non_null(strstr(err.msg, "more than 0.05 s"));
    cw_python_child_free(child);
    sleeps.timeout_s = 1000;
    child = start(&sleeps, &out);
    cw_stop_set(&stop);
    assert_int_equal(call(child, 1000000, &stop, NULL, &err), CW_E_CANCELLED);
    assert_false(cw_python_child_runs(child));
    cw_python_child_free(child);
}

static void not_started(void **state)
{
    struct cw_python_function damaged = function_of("AAAA"), other = function_of(DICT);
    struct cw_python_child *child = NULL;
    struct cw_err err = {0};
    (void)state;
    assert_true(cw_python_child_start(&damaged, NULL, &child, &err) < 0);
    assert_non_null(strstr(err.msg, "Unpickling"));
    other.version = "3.99";
    assert_true(cw_python_child_start(&other, NULL, &child, &err) < 0);
    assert_non_null(strstr(err.msg, "made by Python 3.99"));
    cw_python_forbid();
    assert_int_equal(cw_python_child_start(&damaged, NULL, &child, &err), CW_E_DENIED);
    assert_int_equal(cw_python_allow("/no/such/python", CW_PYTHON_SANDBOX_AUTO, &err),
                     CW_E_NOT_FOUND);
    assert_int_equal(cw_python_allow("/bin/true", CW_PYTHON_SANDBOX_AUTO, &err), 0);
    assert_true(cw_python_child_start(&damaged, NULL, &child, &err) < 0);
    assert_non_null(strstr(err.msg, "/bin/true"));
    cw_python_forbid();
    assert_null(child);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(calls), cmocka_unit_test(large_results), cmocka_unit_test(filters),
    cmocka_unit_test(ends),  cmocka_unit_test(not_started),
};

int main(void)
{
    static char x[] = "x";
    char *names[] = {x};
    struct cw_err err = {0};
    FILE *asked =
        popen(PYTHON " -c 'import numpy, sys; print(\"%d.%d\" % sys.version_info[:2])'", "re");
    if (!asked || !fgets(version, sizeof(version), asked) || pclose(asked) != 0)
        return 77;
    version[strcspn(version, "\n")] = '\0';
    on_x = (struct cw_str_list){names, 1};
    if (cw_python_allow(PYTHON, CW_PYTHON_SANDBOX_AUTO, &err) != 0) {
        printf("skipped: %s\n", err.msg);
        return 77;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
