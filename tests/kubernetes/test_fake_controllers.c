/* SPDX-License-Identifier: Apache-2.0 */
/* What runs beside the fake API server: Deployments and their pods, the scheduler, Jobs, quotas, RBAC. */
#include "kubernetes/fk_ask.h"
#include <stdio.h>

static void make_deployment(struct ask *ask, const char *name, int replicas, const char *more)
{
    cw_autofree char *body = cw_mem_printf(
        "{\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\",\"metadata\":{\"name\":\"%s\"},"
        "\"spec\":{\"replicas\":%d,%s\"selector\":{\"matchLabels\":{\"app\":\"%s\"}},\"template\":{"
        "\"metadata\":{\"labels\":{\"app\":\"%s\"}},\"spec\":{\"containers\":[{\"name\":\"w\","
        "\"image\":\"x:1\"}]}}}}",
        name, replicas, more, name, name);
    assert_int_equal(ask_do(ask, "POST " DEPLOYMENTS, body), 201);
    ask_pass(ask, 100);
}

static void make_node(struct ask *ask, const char *name, int room)
{
    cw_autofree char *body = cw_mem_printf(
        "{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"metadata\":{\"name\":\"%s\"}}", name);
    cw_autofree char *line = cw_mem_printf("PATCH /api/v1/nodes/%s/status", name);
    cw_autofree char *status = cw_mem_printf(
        "{\"status\":{\"allocatable\":{\"pods\":\"%d\"},\"conditions\":[{\"type\":\"Ready\","
        "\"status\":\"True\"}]}}",
        room);
    assert_int_equal(ask_do(ask, "POST /api/v1/nodes", body), 201);
    assert_int_equal(ask_do(ask, line, status), 200);
    ask_pass(ask, 100);
}

/* The pods that are not on their way out; new reference. */
static json_t *pods_of(struct ask *ask)
{
    json_auto_t *all = fk_server_objects(ask->server, "", "pods");
    json_t *ret = json_array();
    size_t i;
    json_t *pod;
    json_array_foreach (all, i, pod)
        if (!fk_at(pod, "metadata.deletionTimestamp"))
            json_array_append(ret, pod);
    return ret;
}

static size_t count_pods(struct ask *ask)
{
    json_auto_t *pods = pods_of(ask);
    return json_array_size(pods);
}

static char *nth_pod(struct ask *ask, size_t n)
{
    json_auto_t *pods = pods_of(ask);
    return cw_mem_strdup(fk_text(json_array_get(pods, n), "metadata.name"));
}

static void set_ready(struct ask *ask, const char *pod, bool ready, const char *since)
{
    cw_autofree char *line = cw_mem_printf("PATCH " PODS "/%s/status", pod);
    cw_autofree char *body = cw_mem_printf(
        "{\"status\":{\"phase\":\"Running\",\"conditions\":[{\"type\":\"Ready\",\"status\":\"%s\","
        "\"lastTransitionTime\":\"%s\"}]}}",
        ready ? "True" : "False", since);
    assert_int_equal(ask_do(ask, line, body), 200);
}

static void annotate(struct ask *ask, const char *pod, const char *cost)
{
    cw_autofree char *line = cw_mem_printf("PATCH " PODS "/%s", pod);
    cw_autofree char *body = cw_mem_printf("{\"metadata\":{\"annotations\":{\"controller."
                                           "kubernetes.io/pod-deletion-cost\":\"%s\"}}}",
                                           cost);
    assert_int_equal(ask_do(ask, line, body), 200);
}

static void scale(struct ask *ask, const char *name, int replicas)
{
    cw_autofree char *line = cw_mem_printf("PATCH " DEPLOYMENTS "/%s/scale", name);
    cw_autofree char *body = cw_mem_printf("{\"spec\":{\"replicas\":%d}}", replicas);
    assert_int_equal(ask_do(ask, line, body), 200);
    ask_pass(ask, 100);
}

static bool has_pod(struct ask *ask, const char *name)
{
    json_auto_t *pods = pods_of(ask);
    size_t i;
    json_t *pod;
    json_array_foreach (pods, i, pod)
        if (cw_str_eq(fk_text(pod, "metadata.name"), name))
            return true;
    return false;
}

/* Six pods on two nodes; each step takes the one that has to go next. */
static void test_victims_go_in_order(void **state)
{
    (void)state;
    struct ask ask = ask_new((struct fk_options){0});
    make_node(&ask, "n0", 3);
    make_node(&ask, "n1", 2);
    make_deployment(&ask, "w", 6, ""); /* five have a node, one waits */
    char *names[6];
    for (size_t i = 0; i < 6; i++)
        names[i] = nth_pod(&ask, i);
    json_auto_t *pods = pods_of(&ask);
    size_t waiting = 6, on_n0[3], n = 0, on_n1[2], m = 0;
    for (size_t i = 0; i < 6; i++) {
        const char *node = fk_text(json_array_get(pods, i), "spec.nodeName");
        if (!node)
            waiting = i;
        else if (cw_str_eq(node, "n0"))
            on_n0[n++] = i;
        else
            on_n1[m++] = i;
    }
    assert_true(waiting < 6 && n == 3 && m == 2);
    set_ready(&ask, names[on_n0[0]], true, "2026-01-01T00:00:00Z");
    set_ready(&ask, names[on_n0[1]], true, "2026-01-01T00:00:00Z");
    set_ready(&ask, names[on_n0[2]], true, "2026-01-01T00:10:00Z");
    set_ready(&ask, names[on_n1[0]], false, "2026-01-01T00:00:00Z");
    set_ready(&ask, names[on_n1[1]], true, "2026-01-01T00:00:00Z");
    annotate(&ask, names[on_n0[0]], "100");
    annotate(&ask, names[on_n1[1]], "-1");
    const size_t ORDER[] = {waiting, on_n1[0], on_n1[1], on_n0[2], on_n0[1]};
    for (size_t i = 0; i < 5; i++) {
        scale(&ask, "w", 5 - (int)i);
        assert_int_equal(count_pods(&ask), 5 - i);
        assert_false(has_pod(&ask, names[ORDER[i]]));
    }
    for (size_t i = 0; i < 6; i++)
        cw_mem_free(names[i]);
    ask_fini(&ask);
}

static void test_status_of_a_deployment(void **state)
{
    (void)state;
    struct ask ask = ask_new((struct fk_options){0});
    make_deployment(&ask, "w", 2, "");
    cw_autofree char *pod = nth_pod(&ask, 0);
    set_ready(&ask, pod, true, "2026-01-01T00:00:00Z");
    ask_pass(&ask, 100);
    ask_do(&ask, "GET " DEPLOYMENTS "/w", NULL);
    assert_int_equal(fk_int(ask.json, "status.replicas", 0), 2);
    assert_int_equal(fk_int(ask.json, "status.readyReplicas", 0), 1);
    assert_int_equal(fk_int(ask.json, "status.unavailableReplicas", 0), 1);
    assert_int_equal(fk_int(ask.json, "status.observedGeneration", 0), 1);
    assert_true(fk_has_condition(ask.json, "Available", "False"));
    ask_fini(&ask);
}

/* Makes all pods ready, and notes how many there are at most. */
static void settle_rollout(struct ask *ask, size_t *ret_most, size_t *ret_fewest_ready)
{
    for (int round = 0; round < 40; round++) {
        json_auto_t *pods = pods_of(ask);
        size_t i, ready = 0;
        json_t *pod, *waits = NULL;
        json_array_foreach (pods, i, pod) {
            ready += fk_has_condition(pod, "Ready", "True");
            waits = fk_has_condition(pod, "Ready", "True") ? waits : pod;
        }
        *ret_most = json_array_size(pods) > *ret_most ? json_array_size(pods) : *ret_most;
        *ret_fewest_ready = ready < *ret_fewest_ready ? ready : *ret_fewest_ready;
        if (waits)
            set_ready(ask, fk_text(waits, "metadata.name"), true, "2026-01-01T00:00:00Z");
        ask_pass(ask, 100);
    }
}

static void test_rolling_update_keeps_its_bounds(void **state)
{
    (void)state;
    struct ask ask = ask_new((struct fk_options){0});
    make_deployment(
        &ask, "w", 4,
        "\"strategy\":{\"rollingUpdate\":{\"maxSurge\":\"25%\",\"maxUnavailable\":0}},");
    size_t most = 0, fewest = 0;
    settle_rollout(&ask, &most, &fewest);
    assert_int_equal(most, 4);
    most = 0;
    fewest = 100;
    assert_int_equal(ask_do(&ask, "PATCH " DEPLOYMENTS "/w",
                            "{\"spec\":{\"template\":{\"metadata\":{\"labels\":{\"v\":\"2\"}}}}}"),
                     200);
    ask_pass(&ask, 100);
    settle_rollout(&ask, &most, &fewest);
    assert_int_equal(most, 5);
    assert_int_equal(fewest, 4);
    json_auto_t *pods = pods_of(&ask);
    assert_int_equal(json_array_size(pods), 4);
    assert_string_equal(fk_label(json_array_get(pods, 0), "v"), "2");
    ask_do(&ask, "GET " DEPLOYMENTS "/w", NULL);
    assert_int_equal(fk_int(ask.json, "status.updatedReplicas", 0), 4);
    assert_string_equal(fk_annotation(ask.json, "deployment.kubernetes.io/revision"), "2");
    ask_fini(&ask);
}

static void test_quota_is_a_replica_failure(void **state)
{
    (void)state;
    struct ask ask = ask_new((struct fk_options){0});
    assert_int_equal(ask_do(&ask, "POST /api/v1/namespaces/default/resourcequotas",
                            "{\"apiVersion\":\"v1\",\"kind\":\"ResourceQuota\",\"metadata\":{"
                            "\"name\":\"q\"},\"spec\":{\"hard\":{\"pods\":\"1\"}}}"),
                     201);
    assert_int_equal(ask_do(&ask, "PATCH /api/v1/namespaces/default/resourcequotas/q",
                            "{\"spec\":{\"hard\":{\"pods\":\"2\"}}}"),
                     200);
    make_deployment(&ask, "w", 3, "");
    assert_int_equal(count_pods(&ask), 2);
    ask_do(&ask, "GET " DEPLOYMENTS "/w", NULL);
    assert_true(fk_has_condition(ask.json, "ReplicaFailure", "True"));
    const json_t *failure = fk_condition(ask.json, "ReplicaFailure");
    assert_string_equal(fk_text(failure, "reason"), "FailedCreate");
    assert_non_null(strstr(fk_text(failure, "message"), "exceeded quota: q"));
    ask_do(&ask, "DELETE /api/v1/namespaces/default/resourcequotas/q", NULL);
    ask_pass(&ask, 100);
    assert_int_equal(count_pods(&ask), 3);
    ask_do(&ask, "GET " DEPLOYMENTS "/w", NULL);
    assert_false(fk_has_condition(ask.json, "ReplicaFailure", "True"));
    ask_fini(&ask);
}

static void test_pods_wait_for_room(void **state)
{
    (void)state;
    struct ask ask = ask_new((struct fk_options){0});
    make_node(&ask, "n0", 1);
    make_deployment(&ask, "w", 2, "");
    json_auto_t *pods = pods_of(&ask);
    size_t i, waiting = 0;
    json_t *pod;
    json_array_foreach (pods, i, pod) {
        const json_t *scheduled = fk_condition(pod, "PodScheduled");
        waiting += cw_str_eq(fk_text(scheduled, "reason"), "Unschedulable");
    }
    assert_int_equal(waiting, 1);
    make_node(&ask, "n1", 5);
    json_auto_t *later = pods_of(&ask);
    json_array_foreach (later, i, pod)
        assert_non_null(fk_text(pod, "spec.nodeName"));
    ask_fini(&ask);
}

static void test_gates_hold_pods(void **state)
{
    (void)state;
    struct ask ask = ask_new((struct fk_options){0});
    make_node(&ask, "n0", 5);
    assert_int_equal(ask_do(&ask, "POST " PODS,
                            "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"g\"},"
                            "\"spec\":{\"schedulingGates\":[{\"name\":\"cachew.dev/cache\"}],"
                            "\"containers\":[{\"name\":\"w\",\"image\":\"x:1\"}]}}"),
                     201);
    ask_pass(&ask, 100);
    ask_do(&ask, "GET " PODS "/g", NULL);
    assert_null(fk_text(ask.json, "spec.nodeName"));
    ask_do(&ask, "PATCH " PODS "/g", "{\"spec\":{\"schedulingGates\":null}}");
    ask_pass(&ask, 100);
    ask_do(&ask, "GET " PODS "/g", NULL);
    assert_string_equal(fk_text(ask.json, "spec.nodeName"), "n0");
    ask_fini(&ask);
}

static void test_job_ends_with_its_pods(void **state)
{
    (void)state;
    struct ask ask = ask_new((struct fk_options){0});
    static const char JOBS[] = "/apis/batch/v1/namespaces/default/jobs";
    char line[200];
    snprintf(line, sizeof(line), "POST %s", JOBS);
    assert_int_equal(ask_do(&ask, line,
                            "{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"metadata\":{\"name\":"
                            "\"j\"},\"spec\":{\"suspend\":true,\"template\":{\"spec\":{"
                            "\"restartPolicy\":\"Never\",\"containers\":[{\"name\":\"t\"}]}}}}"),
                     201);
    ask_pass(&ask, 100);
    assert_int_equal(count_pods(&ask), 0);
    snprintf(line, sizeof(line), "PATCH %s/j", JOBS);
    ask_do(&ask, line, "{\"spec\":{\"suspend\":false}}");
    ask_pass(&ask, 100);
    assert_int_equal(count_pods(&ask), 1);
    cw_autofree char *pod = nth_pod(&ask, 0);
    cw_autofree char *status = cw_mem_printf("PATCH " PODS "/%s/status", pod);
    ask_do(&ask, status, "{\"status\":{\"phase\":\"Succeeded\"}}");
    ask_pass(&ask, 100);
    snprintf(line, sizeof(line), "GET %s/j", JOBS);
    ask_do(&ask, line, NULL);
    assert_true(fk_has_condition(ask.json, "Complete", "True"));
    assert_int_equal(count_pods(&ask), 1);
    ask_fini(&ask);
}

static void test_roles_can_be_taken_away(void **state)
{
    (void)state;
    struct ask ask = ask_new((struct fk_options){0});
    struct cw_err err = {0};
    static const char ROLES[] =
        "apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\nmetadata: {name: r, namespace: "
        "default}\nrules:\n- {apiGroups: [''], resources: [configmaps], verbs: [list]}\n---\n"
        "apiVersion: rbac.authorization.k8s.io/v1\nkind: RoleBinding\nmetadata: {name: r, "
        "namespace: default}\nroleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: r}\n"
        "subjects:\n- {kind: ServiceAccount, name: a, namespace: default}\n";
    assert_int_equal(fk_server_load(ask.server, 0, ROLES, sizeof(ROLES) - 1, &err), 0);
    fk_server_set_token(ask.server, "t", "system:serviceaccount:default:a", NULL);
    ask.token = "t";
    assert_int_equal(ask_do(&ask, "GET " CONFIGS, NULL), 200);
    assert_int_equal(ask_do(&ask, "GET " CONFIGS "?watch=1", NULL), 403);
    assert_int_equal(ask_do(&ask, "GET /api/v1/configmaps", NULL), 403);
    ask.token = NULL;
    assert_int_equal(
        ask_do(&ask, "DELETE /apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings/r",
               NULL),
        200);
    ask.token = "t";
    assert_int_equal(ask_do(&ask, "GET " CONFIGS, NULL), 403);
    assert_int_equal(fk_server_counts(ask.server).refused, 3);
    ask_fini(&ask);
}

static void test_load_says_what_is_wrong(void **state)
{
    (void)state;
    struct ask ask = ask_new((struct fk_options){0});
    static const char *const BAD[][2] = {
        {"apiVersion: v1\nkind: Nothing\nmetadata: {name: x}\n", "no such kind"},
        {"apiVersion: v1\nkind: ConfigMap\n", "no name"},
        {"a: [1\n", "line"},
        {"apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\n"
         "metadata: {name: x}\nspec: {group: g}\n",
         "without group, names or stored version"},
    };
    for (size_t i = 0; i < sizeof(BAD) / sizeof(*BAD); i++) {
        struct cw_err err = {0};
        assert_true(fk_server_load(ask.server, 0, BAD[i][0], strlen(BAD[i][0]), &err) < 0);
        if (!strstr(err.msg, BAD[i][1]))
            fail_msg("%s", err.msg);
    }
    ask_fini(&ask);
}

/* Who applies the same again, later, changes nothing: not even the time in managedFields. */
static void test_the_same_applied_later_is_no_change(void **state)
{
    (void)state;
    struct ask ask = ask_new((struct fk_options){0});
    static const char LINE[] = "PATCH " CONFIGS "/s?fieldManager=m1";
    static const char BODY[] = "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{"
                               "\"name\":\"s\"},\"data\":{\"a\":\"1\"}}";
    ask.patch_type = "application/apply-patch+yaml";
    assert_int_equal(ask_do(&ask, LINE, BODY), 201);
    uint64_t version = fk_server_version(ask.server);
    ask_pass(&ask, 5000);
    assert_int_equal(ask_do(&ask, LINE, BODY), 200);
    assert_int_equal(fk_server_version(ask.server), version);
    assert_string_equal(
        fk_text(json_array_get(fk_at(ask.json, "metadata.managedFields"), 0), "time"),
        "2026-01-01T00:00:00Z");
    ask_fini(&ask);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_victims_go_in_order),
        cmocka_unit_test(test_status_of_a_deployment),
        cmocka_unit_test(test_rolling_update_keeps_its_bounds),
        cmocka_unit_test(test_quota_is_a_replica_failure),
        cmocka_unit_test(test_pods_wait_for_room),
        cmocka_unit_test(test_gates_hold_pods),
        cmocka_unit_test(test_job_ends_with_its_pods),
        cmocka_unit_test(test_roles_can_be_taken_away),
        cmocka_unit_test(test_load_says_what_is_wrong),
        cmocka_unit_test(test_the_same_applied_later_is_no_change),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
