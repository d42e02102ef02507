/* SPDX-License-Identifier: Apache-2.0 */
/* Files that element operators read for themselves are part of a job: of its manifest, its fingerprint and
 * the keys of what is cached behind them. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/mem.h"
#include "plan/plan_nodes.h"
#include "support/checked.h"

static char path[] = "/tmp/cw_test_model_XXXXXX";

static void write_vocab(const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0 && fclose(file) == 0);
}

static int open_plan(const struct cw_value *manifest, struct cw_plan **ret_plan, struct cw_err *err)
{
    cw_autofree char *nodes =
        cw_mem_printf("{\"op\":\"from_values\",\"values\":[\"a\",\"b\"]},{\"op\":\"vocab_lookup\","
                      "\"vocab\":\"%s\"},{\"op\":\"cast\",\"dtype\":\"i64\"}",
                      path);
    struct cw_checked *checked = cw_test_must_check(nodes);
    int rc = cw_plan_new(checked, 1, manifest, ret_plan, err);
    cw_checked_unref(checked);
    return rc;
}

static struct cw_plan *must_open(const struct cw_value *manifest)
{
    struct cw_plan *plan = NULL;
    struct cw_err err = {0};
    if (open_plan(manifest, &plan, &err) < 0)
        fail_msg("%s", err.msg);
    return plan;
}

struct seen {
    struct cw_hash fingerprint, keys[3];
};

static struct seen see(const char *vocab)
{
    struct seen seen;
    write_vocab(vocab);
    struct cw_plan *plan = must_open(NULL);
    seen.fingerprint = cw_plan_info(plan)->fingerprint;
    for (size_t i = 0; i < 3; i++) {
        struct cw_plan_cacheable said;
        cw_plan_cacheable(plan, i, &said);
        seen.keys[i] = said.key;
    }
    cw_plan_unref(plan);
    return seen;
}

static void test_content_decides(void **state)
{
    (void)state;
    const struct seen a = see("a\nb\n"), same = see("a\nb\n"), other = see("b\na\n");
    assert_true(cw_hash_eq(a.fingerprint, same.fingerprint));
    assert_false(cw_hash_eq(a.fingerprint, other.fingerprint));
    for (size_t i = 0; i < 3; i++) {
        assert_true(cw_hash_eq(a.keys[i], same.keys[i]));
        /* what stands before the operator does not depend on its file */
        assert_int_equal(cw_hash_eq(a.keys[i], other.keys[i]), i == 0);
    }
}

static void test_all_workers_have_the_same_file(void **state)
{
    (void)state;
    struct cw_value manifest = {0};
    struct cw_plan *plan = NULL;
    struct cw_err err = {0};
    write_vocab("a\nb\n");
    plan = must_open(NULL);
    cw_plan_manifest(plan, &manifest);
    cw_plan_unref(plan);
    cw_plan_unref(must_open(&manifest));
    write_vocab("b\na\n");
    assert_int_equal(open_plan(&manifest, &plan, &err), CW_E_OTHER_FILE);
    assert_non_null(strstr(err.msg, path));
    cw_value_fini(&manifest);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_content_decides),
        cmocka_unit_test(test_all_workers_have_the_same_file),
    };
    const int fd = mkstemp(path);
    if (fd < 0)
        return 1;
    close(fd);
    const int rc = cmocka_run_group_tests(tests, NULL, NULL);
    unlink(path);
    return rc;
}
