/* SPDX-License-Identifier: Apache-2.0 */
/* Workloads and AdmissionChecks: what is read of them, and the patches of their status. */
#include "controller/kueue_facts.h"

#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "support/cm.h"

#define NOW_US ((int64_t)1795700000000000) /* 2026-11-26T13:33:20Z */

static struct cw_value parse(const char *text)
{
    struct cw_value value = {0};
    struct cw_err err = {0};
    if (cw_value_parse(text, strlen(text), "test", &value, &err) != 0)
        fail_msg("%s", err.msg);
    return value;
}

static struct cw_workload *read_workload(const char *text)
{
    struct cw_value value = parse(text);
    struct cw_workload *workload = cw_workload_read(&value);
    cw_value_fini(&value);
    return workload;
}

#define HEAD                                                                                       \
    "{\"metadata\":{\"namespace\":\"n\",\"name\":\"w\",\"uid\":\"u\",\"resourceVersion\":\"5\""
#define OWNERS                                                                                     \
    ",\"ownerReferences\":[{\"kind\":\"Pod\",\"name\":\"p\",\"uid\":\"1\"},{\"kind\":\"Job\","     \
    "\"name\":\"j\",\"uid\":\"2\",\"controller\":true}]"

static void answers_one_check_of_several(void **state)
{
    CW_STR_AUTO body = {0};
    struct cw_workload *workload = read_workload(
        HEAD OWNERS "},\"status\":{\"admissionChecks\":[{\"name\":\"other\",\"state\":\"Ready\","
                    "\"retryCount\":3},{\"name\":\"cachew\",\"state\":\"Pending\",\"message\":\"\","
                    "\"podSetUpdates\":[]}]}}");
    (void)state;
    assert_string_equal(workload->kind, "Job");
    assert_string_equal(workload->owner, "j");
    assert_string_equal(workload->owner_uid, "2");
    assert_true(cw_workload_waits(workload, "cachew"));
    assert_false(cw_workload_waits(workload, "other"));
    assert_false(cw_workload_waits(workload, "third"));
    cw_workload_answer(workload, "cachew", "it is ready", NOW_US, &body);
    assert_string_equal(
        cw_str_text(&body),
        "{\"metadata\":{\"resourceVersion\":\"5\"},\"status\":{\"admissionChecks\":[{\"name\":"
        "\"other\",\"retryCount\":3,\"state\":\"Ready\"},{\"lastTransitionTime\":"
        "\"2026-11-26T13:33:20Z\",\"message\":\"it is ready\",\"name\":\"cachew\","
        "\"podSetUpdates\":[],\"state\":\"Ready\"}]}}");
    cw_workload_free(workload);
}

static void reads_any_object(void **state)
{
    static const char *const texts[] = {
        "{}", "[]", "7", "{\"metadata\":7,\"status\":{\"admissionChecks\":7}}",
        "{\"status\":{\"admissionChecks\":[7,{\"name\":7}],\"conditions\":[7]}}"};
    (void)state;
    for (size_t i = 0; i < CW_ARRAY_LEN(texts); i++) {
        struct cw_value value = parse(texts[i]);
        struct cw_workload *workload = cw_workload_read(&value);
        struct cw_admission_check *check = cw_admission_check_read(&value);
        assert_string_equal(workload->kind, "");
        assert_false(cw_workload_waits(workload, "cachew"));
        assert_false(check->is_ours || check->is_active);
        cw_workload_free(workload);
        cw_admission_check_free(check);
        cw_value_fini(&value);
    }
    cw_workload_free(NULL);
    cw_admission_check_free(NULL);
}

/* A group of pods has an owner each, and none controls the Workload. */
static void takes_the_first_owner(void **state)
{
    struct cw_workload *workload =
        read_workload(HEAD ",\"ownerReferences\":[{\"kind\":\"Pod\",\"name\":\"p\"}]}}");
    (void)state;
    assert_string_equal(workload->kind, "Pod");
    assert_string_equal(workload->owner, "p");
    cw_workload_free(workload);
}

static void activates_its_own_check(void **state)
{
    CW_STR_AUTO body = {0};
    struct cw_value value =
        parse("{\"metadata\":{\"name\":\"cachew\",\"resourceVersion\":\"9\",\"generation\":2},"
              "\"spec\":{\"controllerName\":\"cachew.dev/cache\"},\"status\":{\"conditions\":["
              "{\"type\":\"Other\"},{\"type\":\"Active\",\"status\":\"False\"}]}}");
    struct cw_admission_check *check = cw_admission_check_read(&value);
    (void)state;
    assert_true(check->is_ours && !check->is_active);
    cw_admission_check_activate(check, NOW_US, &body);
    assert_string_equal(
        cw_str_text(&body),
        "{\"metadata\":{\"resourceVersion\":\"9\"},\"status\":{\"conditions\":[{\"type\":"
        "\"Other\"},{\"lastTransitionTime\":\"2026-11-26T13:33:20Z\",\"message\":"
        "\"cachew-controller answers it\",\"observedGeneration\":2,\"reason\":\"Active\","
        "\"status\":\"True\",\"type\":\"Active\"}]}}");
    cw_admission_check_free(check);
    cw_value_fini(&value);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_one_check_of_several),
        cmocka_unit_test(reads_any_object),
        cmocka_unit_test(takes_the_first_owner),
        cmocka_unit_test(activates_its_own_check),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
