/* SPDX-License-Identifier: Apache-2.0 */
/* Deployments and Scales, and what a server might say instead of them. */
#include <string.h>

#include "kube/deployment.h"
#include "support/cm.h"

static void parse(const char *text, struct cw_value *value)
{
    struct cw_err err = {0};
    if (cw_value_parse(text, strlen(text), NULL, value, &err) != CW_OK)
        fail_msg("%s: %s", text, err.msg);
}

static int read_one(const char *text, struct cw_value *v, struct cw_kube_deployment *d)
{
    struct cw_err err = {0};
    parse(text, v);
    int rc = cw_kube_deployment_read(v, d, &err);
    assert_true((rc == CW_OK) == (err.msg[0] == '\0'));
    return rc;
}

static void reads(void **state)
{
    (void)state;
    struct cw_kube_deployment d;
    struct cw_value v = {0};
    assert_int_equal(
        read_one("{\"metadata\":{\"resourceVersion\":\"7\",\"uid\":\"u\",\"annotations\":{"
                 "\"cachew.dev/hands-off\":\"true\"}},\"spec\":{\"replicas\":3,\"paused\":true},"
                 "\"status\":{\"replicas\":5,\"updatedReplicas\":2,\"readyReplicas\":4,"
                 "\"conditions\":[{\"type\":\"Available\",\"status\":\"True\"},{\"type\":"
                 "\"ReplicaFailure\",\"status\":\"True\",\"reason\":\"FailedCreate\",\"message\":"
                 "\"exceeded quota\"}]}}",
                 &v, &d),
        CW_OK);
    assert_true(d.replicas == 3 && d.pods == 5 && d.updated == 2 && d.ready == 4);
    assert_true(d.paused && d.hands_off);
    assert_string_equal(d.failure_reason, "FailedCreate");
    assert_string_equal(d.failure_message, "exceeded quota");
    assert_string_equal(d.version, "7");
    assert_string_equal(d.uid, "u");
    cw_value_fini(&v);
    assert_int_equal(read_one("{\"metadata\":{\"annotations\":{\"cachew.dev/hands-off\":true}},"
                              "\"status\":{\"conditions\":[{\"type\":\"ReplicaFailure\",\"status\":"
                              "\"False\",\"reason\":\"x\"}]}}",
                              &v, &d),
                     CW_OK);
    assert_true(d.replicas == 1 && d.pods == 0 && !d.paused && !d.hands_off);
    assert_string_equal(d.failure_reason, "");
    cw_value_fini(&v);
    static const char *const bad[] = {
        "{\"spec\":{\"replicas\":\"3\"}}", "{\"spec\":{\"replicas\":-1}}",
        "{\"spec\":{\"replicas\":2147483648}}", "{\"spec\":{\"replicas\":1.0}}",
        "{\"status\":{\"readyReplicas\":{}}}"};
    for (size_t i = 0; i < CW_ARRAY_LEN(bad); i++) {
        assert_int_equal(read_one(bad[i], &v, &d), CW_E_CORRUPT);
        cw_value_fini(&v);
    }
}

static void selectors(void **state)
{
    (void)state;
    static const struct {
        const char *selector, *text;
        int code;
    } cases[] = {
        {"{\"matchLabels\":{\"app\":\"x\",\"b\":\"\"}}", "app=x,b=", CW_OK},
        {"{\"matchLabels\":{\"app\":\"x\"},\"matchExpressions\":[{\"key\":\"t\",\"operator\":"
         "\"In\",\"values\":[\"a\",\"b\"]},{\"key\":\"u\",\"operator\":\"NotIn\",\"values\":["
         "\"c\"]},{\"key\":\"v\",\"operator\":\"Exists\"},{\"key\":\"w\",\"operator\":"
         "\"DoesNotExist\"}]}",
         "app=x,t in (a,b),u notin (c),v,!w", CW_OK},
        {"{\"matchExpressions\":[{\"key\":\"t\",\"operator\":\"Like\"}]}", "", CW_E_UNSUPPORTED},
        {"{\"matchExpressions\":[{\"operator\":\"In\"}]}", "", CW_E_UNSUPPORTED},
        {"{\"matchLabels\":{\"app\":7}}", "", CW_E_INVALID},
        {"{}", "", CW_E_INVALID},
        {"7", "", CW_E_INVALID},
    };
    for (size_t i = 0; i < CW_ARRAY_LEN(cases); i++) {
        CW_STR_AUTO text = {0};
        CW_STR_AUTO out = {0};
        struct cw_value v = {0};
        cw_str_addf(&text, "{\"spec\":{\"selector\":%s}}", cases[i].selector);
        parse(text.s, &v);
        assert_int_equal(cw_kube_deployment_selector(&v, &out, NULL), cases[i].code);
        if (cases[i].code == CW_OK)
            assert_string_equal(cw_str_text(&out), cases[i].text);
        cw_value_fini(&v);
    }
}

static int read_scale(const char *text, int64_t *replicas)
{
    struct cw_value v = {0};
    const char *version = NULL;
    parse(text, &v);
    int rc = cw_kube_scale_read(&v, replicas, &version, NULL);
    if (rc == CW_OK)
        assert_string_equal(version, "219");
    cw_value_fini(&v);
    return rc;
}

static void scales(void **state)
{
    (void)state;
    int64_t replicas = 9;
    CW_STR_AUTO out = {0};
    assert_int_equal(read_scale("{\"kind\":\"Scale\",\"metadata\":{\"resourceVersion\":\"219\"},"
                                "\"spec\":{\"replicas\":4}}",
                                &replicas),
                     CW_OK);
    assert_int_equal(replicas, 4);
    assert_int_equal(
        read_scale("{\"kind\":\"Scale\",\"metadata\":{\"resourceVersion\":\"219\"},\"spec\":{}}",
                   &replicas),
        CW_OK);
    assert_int_equal(replicas, 0);
    static const char *const bad[] = {
        "{}", "{\"kind\":\"Scale\",\"spec\":{\"replicas\":4}}",
        "{\"kind\":\"Deployment\",\"metadata\":{\"resourceVersion\":\"219\"}}",
        "{\"kind\":\"Scale\",\"metadata\":{\"resourceVersion\":\"1\"},\"spec\":{\"replicas\":{}}}"};
    for (size_t i = 0; i < CW_ARRAY_LEN(bad); i++)
        assert_int_equal(read_scale(bad[i], &replicas), CW_E_CORRUPT);
    cw_kube_scale_patch(12, "2\"19", &out);
    assert_string_equal(
        out.s, "{\"metadata\":{\"resourceVersion\":\"2\\\"19\"},\"spec\":{\"replicas\":12}}");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads),
        cmocka_unit_test(selectors),
        cmocka_unit_test(scales),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
