/* SPDX-License-Identifier: Apache-2.0 */
/* What Pods wait for, and who wrote a field. */
#include <string.h>

#include "kube/managed_fields.h"
#include "kube/pod.h"
#include "support/cm.h"

static void parse(const char *text, struct cw_value *value)
{
    struct cw_err err = {0};
    if (cw_value_parse(text, strlen(text), NULL, value, &err) != CW_OK)
        fail_msg("%s: %s", text, err.msg);
}

#define CONDITION(type, status, reason)                                                            \
    "{\"type\":\"" type "\",\"status\":\"" status "\",\"reason\":\"" reason                        \
    "\",\"message\":\"because\"}"
#define WAITING(reason)                                                                            \
    "{\"restartCount\":2,\"state\":{\"waiting\":{\"reason\":\"" reason                             \
    "\",\"message\":\"because\"}}}"

static void states(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        enum cw_kube_pod_state state;
        const char *reason;
        int restarts;
    } pods[] = {
        {"{}", CW_KUBE_POD_STARTS, "", 0},
        {"[]", CW_KUBE_POD_STARTS, "", 0},
        {"{\"status\":{\"phase\":\"Pending\",\"conditions\":[" CONDITION("PodScheduled", "False",
                                                                         "Unschedulable") "]}}",
         CW_KUBE_POD_WAITS, "Unschedulable", 0},
        {"{\"status\":{\"phase\":\"Pending\",\"conditions\":[" CONDITION("PodScheduled", "False",
                                                                         "SchedulingGated") "]}}",
         CW_KUBE_POD_WAITS, "SchedulingGated", 0},
        {"{\"status\":{\"phase\":\"Pending\",\"containerStatuses\":[" WAITING(
             "ContainerCreating") "]}}",
         CW_KUBE_POD_STARTS, "", 2},
        {"{\"status\":{\"phase\":\"Pending\",\"containerStatuses\":[" WAITING(
             "ContainerCreating") "," WAITING("ImagePullBackOff") "]}}",
         CW_KUBE_POD_WAITS, "ImagePullBackOff", 4},
        {"{\"status\":{\"phase\":\"Running\",\"containerStatuses\":[" WAITING(
             "CrashLoopBackOff") "],\"conditions\":[" CONDITION("Ready", "False", "") "]}}",
         CW_KUBE_POD_WAITS, "CrashLoopBackOff", 2},
        {"{\"status\":{\"phase\":\"Pending\",\"initContainerStatuses\":[" WAITING(
             "CreateContainerConfigError") "],\"containerStatuses\":[" WAITING("PodInitializin"
                                                                               "g") "]}}",
         CW_KUBE_POD_WAITS, "CreateContainerConfigError", 4},
        {"{\"status\":{\"phase\":\"Running\"}}", CW_KUBE_POD_RUNS, "", 0},
        {"{\"status\":{\"phase\":\"Running\",\"conditions\":[" CONDITION(
             "PodScheduled", "True", "") "," CONDITION("Ready", "True", "") "]}}",
         CW_KUBE_POD_READY, "", 0},
        {"{\"status\":{\"phase\":\"Running\",\"conditions\":[" CONDITION(
             "Ready", "True", "") "," CONDITION("DisruptionTarget", "True",
                                                "EvictionByEvictionAPI") "]}}",
         CW_KUBE_POD_GOES, "EvictionByEvictionAPI", 0},
        {"{\"metadata\":{\"deletionTimestamp\":\"2026-01-01T00:00:00Z\"},\"status\":{\"phase\":"
         "\"Running\",\"conditions\":[" CONDITION("Ready", "True", "") "]}}",
         CW_KUBE_POD_GOES, "", 0},
        {"{\"status\":{\"phase\":\"Failed\",\"reason\":\"Evicted\"}}", CW_KUBE_POD_ENDED, "Evicted",
         0},
        {"{\"status\":{\"phase\":7,\"conditions\":{\"type\":\"Ready\"},\"containerStatuses\":["
         "7]}}",
         CW_KUBE_POD_STARTS, "", 0},
    };
    for (size_t i = 0; i < CW_ARRAY_LEN(pods); i++) {
        struct cw_value v = {0};
        struct cw_kube_pod pod;
        parse(pods[i].text, &v);
        cw_kube_pod_read(&v, &pod);
        if (pod.state != pods[i].state || strcmp(pod.reason, pods[i].reason) != 0 ||
            pod.restarts != pods[i].restarts)
            fail_msg("%s: %d %s %d", pods[i].text, pod.state, pod.reason, (int)pod.restarts);
        cw_value_fini(&v);
    }
}

static void names(void **state)
{
    (void)state;
    struct cw_value v = {0};
    struct cw_kube_pod pod;
    parse("{\"metadata\":{\"name\":\"p\",\"uid\":\"u\",\"annotations\":{\"" CW_KUBE_DELETION_COST
          "\":\"-5\"}},\"spec\":{\"nodeName\":\"n\"},\"status\":{\"podIP\":\"10.0.0.1\"}}",
          &v);
    cw_kube_pod_read(&v, &pod);
    assert_string_equal(pod.name, "p");
    assert_string_equal(pod.uid, "u");
    assert_string_equal(pod.node, "n");
    assert_string_equal(pod.ip, "10.0.0.1");
    assert_string_equal(pod.deletion_cost, "-5");
    cw_value_fini(&v);
    cw_kube_pod_read(&v, &pod);
    assert_null(pod.deletion_cost);
    assert_string_equal(pod.name, "");
}

#define WROTE(manager, time, fields)                                                               \
    "{\"manager\":\"" manager "\",\"time\":\"" time "\",\"fieldsV1\":" fields "}"

static void who_wrote(void **state)
{
    (void)state;
    struct cw_value v = {0};
    const char *by = NULL;
    parse(
        "{\"metadata\":{\"managedFields\":["
        "{\"manager\":\"hpa\",\"subresource\":\"scale\",\"time\":\"2026-01-02T00:00:00Z\","
        "\"fieldsV1\":{\"f:spec\":{\"f:replicas\":{}}}}," WROTE(
            "kubectl", "2026-01-01T00:00:00Z",
            "{\"f:spec\":{\"f:replicas\":{},\"f:x\":{}}}") "," WROTE("odd", "never",
                                                                     "{\"f:spec\":{\"f:replicas\":{"
                                                                     "}}}") "," WROTE("other",
                                                                                      "2027-01-01T"
                                                                                      "00:00:00Z",
                                                                                      "{}") ",7]}}",
        &v);
    assert_string_equal(cw_kube_who_wrote(&v, "spec.replicas", &by), "hpa");
    assert_string_equal(by, "scale");
    assert_string_equal(cw_kube_who_wrote(&v, "spec.x", &by), "kubectl");
    assert_string_equal(by, "");
    assert_null(cw_kube_who_wrote(&v, "spec.y", &by));
    assert_string_equal(by, "");
    assert_null(cw_kube_who_wrote(NULL, "spec.y", NULL));
    cw_value_fini(&v);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(states),
        cmocka_unit_test(names),
        cmocka_unit_test(who_wrote),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
