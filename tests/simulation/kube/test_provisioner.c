/* SPDX-License-Identifier: Apache-2.0 */
/* The provisioner of Kubernetes, on virtual time. */
#include "fake_http.h"
#include "kubernetes/jpath.h"
#include "pods_world.h"
#include "sim.h"
#include "support/cm.h"

#include <stdio.h>
#include <string.h>

int sim_program_main(void);

static const char *const one[] = {"w", NULL};
#define MINUTE 60000
#define HOUR (60 * MINUTE)
/* From the wish to go to the write: the surplus must last, and a tick sees it. */
#define SCALE_IN (WORLD_SCALE_IN_MS + 3000)

static void begin(const char *const *deployments, int replicas)
{
    world_begin(deployments, replicas);
    world_make_node("n0", 20);
    world_pass(20000);
}

/* One write for a step out, two for a step in, and an Event each; nothing is read but by the watches, and
 * while nothing changes nothing is written. */
static void counts_of_writes(void **state)
{
    (void)state;
    begin(one, 0);
    assert_int_equal(world_requests("list"), 2); /* the Deployment, and its pods */
    assert_int_equal(world_requests("patch") + world_requests("create"), 0);
    world.wanted = 2;
    world_pass(10000);
    assert_int_equal(world_replicas("w"), 2);
    assert_int_equal(world_workers(false), 2);
    assert_int_equal(world_requests("patch"), 1);
    assert_int_equal(world_requests("create"), 1);
    assert_int_equal(world_events("ScaledOut"), 1);
    world_forget_requests();
    world.wanted = 1;
    world_pass(SCALE_IN);
    assert_int_equal(world_replicas("w"), 1);
    assert_int_equal(world_requests("patch"), 2);
    assert_int_equal(world_requests("create"), 1);
    assert_int_equal(world_events("ScaledIn"), 1);
    world_pass(10000);
    assert_int_equal(world_workers(false), 1);
    assert_int_equal(world_workers(true), 0);
    world_forget_requests();
    world_pass(HOUR);
    assert_int_equal(world_requests("patch") + world_requests("create") + world_requests("get"), 0);
    assert_int_equal(world_requests("list"), 0);
    assert_int_equal(world_workers(false), 1);
    world_end();
}

/* From the decision to the wire it is one turn of the loop: no timer lies between. Before the dispatcher knows the
 * number that there is, it has to read it. */
static void a_decision_goes_out_at_once(void **state)
{
    (void)state;
    begin(one, 0);
    assert_string_not_equal(fake_http_last_begun(), "PATCH");
    world.wanted = 2;
    world_aim();
    assert_string_equal(fake_http_last_begun(), "PATCH");
    world_pass(10000);
    assert_int_equal(world_replicas("w"), 2);
    world_end();
}

/* The youngest of those with nothing to do goes, and it gets no leases before the number is written. */
static void check_that_victims_leave_first(void)
{
    if (world_replicas("w") == 3)
        return;
    for (const struct cw_worker *w = made.workers; w; w = w->next)
        assert_int_equal(w->leaving, w->id == 4);
    world.each = NULL;
}

static void the_chosen_one_goes(void **state)
{
    (void)state;
    begin(one, 0);
    world.wanted = 2;
    world_pass(20000);
    world.wanted = 3;
    world_pass(20000);
    assert_int_equal(world_workers(false), 3);
    world.wanted = 4;
    world_pass(20000);
    world.wanted = 3;
    world_pass(WORLD_SCALE_IN_MS - 1000);
    assert_int_equal(world_replicas("w"), 4);
    assert_int_equal(world_workers(true), 0);
    world.drain_ms = 5000;
    world_pass(4000);
    assert_int_equal(world_replicas("w"), 3);
    world.each = check_that_victims_leave_first;
    world_pass(1000);
    world.each = NULL;
    world_pass(20000);
    for (const struct cw_worker *w = made.workers; w; w = w->next)
        assert_true(w->id <= 3 && !w->leaving);
    assert_int_equal(world_pods(), 3);
    assert_int_equal(world_annotated(), 0);
    world_end();
}

/* A pod cannot be annotated: the number goes down all the same, whoever goes drains, and who was to go
 * and stays gets leases again. */
static void annotations_are_refused(void **state)
{
    (void)state;
    json_auto_t *order = json_pack("{s:s, s:s, s:s, s:i}", "fault", "403", "verb", "patch",
                                   "resource", "pods", "times", 1000);
    begin(one, 0);
    world.wanted = 4;
    world_pass(20000);
    json_object_set_new(order, "user", json_string("system:serviceaccount:ns0:cachew-dispatcher"));
    assert_int_equal(fk_server_order(world.server, order, NULL), CW_OK);
    world.wanted = 2;
    world_pass(SCALE_IN + 10000);
    assert_int_equal(world_replicas("w"), 2);
    assert_int_equal(world_workers(false), 2);
    assert_int_equal(world_workers(true), 0);
    world_end();
}

/* Work comes back before the number is written: so do the victims, and their annotation goes. */
static void work_comes_back(void **state)
{
    (void)state;
    json_auto_t *order =
        json_pack("{s:s, s:s, s:s}", "fault", "silence", "verb", "patch", "resource", "pods");
    begin(one, 0);
    world.wanted = 3;
    world_pass(20000);
    assert_int_equal(fk_server_order(world.server, order, NULL), CW_OK);
    world.wanted = 1;
    world_pass(SCALE_IN);
    assert_int_equal(world_replicas("w"), 3);
    assert_int_equal(world_workers(true), 2);
    assert_int_equal(world_annotated(), 1);
    world.wanted = 3;
    world_pass(2000);
    assert_int_equal(world_workers(true), 0);
    world_pass(2 * MINUTE);
    assert_int_equal(world_replicas("w"), 3);
    assert_int_equal(world_annotated(), 0);
    assert_int_equal(world_workers(false), 3);
    world_end();
}

/* A dispatcher that starts takes the number that it finds, and lowers nothing before jobs had time to
 * come back. */
static void a_start_lowers_nothing_at_once(void **state)
{
    (void)state;
    world_begin(one, 3);
    world_make_node("n0", 20);
    world_pass(WORLD_GRACE_MS + WORLD_SCALE_IN_MS - 1000);
    assert_int_equal(world_replicas("w"), 3);
    assert_int_equal(world_requests("patch") + world_requests("create"), 0);
    world_pass(5000);
    assert_int_equal(world_replicas("w"), 0);
    world.wanted = 2;
    world_pass(20000);
    world_restart_dispatcher();
    world_pass(MINUTE);
    assert_int_equal(world_replicas("w"), 2);
    assert_int_equal(world_requests("patch") + world_requests("create"), 0);
    world_end();
}

/* Pods on their way out for whatever reason get no leases from then on. */
static void deleted_pods_get_no_leases(void **state)
{
    (void)state;
    begin(one, 0);
    world.wanted = 2;
    world_pass(20000);
    cw_autofree char *path =
        cw_mem_printf("/api/v1/namespaces/ns0/pods/%s", made.workers->pod_name);
    world.drain_ms = 20000;
    assert_int_equal(world_ask("DELETE", path, NULL), 200);
    world_pass(500);
    assert_int_equal(world_workers(true), 1);
    assert_true(made.workers->leaving || made.workers->next->leaving);
    world_pass(40000);
    assert_int_equal(world_workers(false), 2);
    assert_int_equal(world_workers(true), 0);
    assert_int_equal(world_replicas("w"), 2);
    world_end();
}

/* The cheapest Deployment first; what does not come within a minute goes to the next one, policies stop
 * counting on it, and when it comes after all, the dearer pods go. */
static void what_does_not_come(void **state)
{
    (void)state;
    static const char *const two[] = {"cheap,max=3,price=1", "dear,max=5,price=3", NULL};
    begin(two, 0);
    world.stuck = "cheap";
    world.wanted = 2;
    world_pass(30000);
    assert_int_equal(world_replicas("cheap"), 2);
    assert_int_equal(world_replicas("dear"), 0);
    assert_true(cw_workers_possible(&made) > 7.9);
    struct cw_cluster_reason reason;
    assert_int_equal(cw_cluster_reasons(&made, &reason, 1), 1);
    assert_string_equal(reason.reason, "ImagePullBackOff");
    assert_int_equal(reason.n, 2);
    world_pass(MINUTE);
    assert_int_equal(world_replicas("dear"), 2);
    assert_int_equal(world_replicas("cheap"), 2);
    assert_int_equal(world_workers(false), 2);
    assert_int_equal(world_events("PodsWait"), 1);
    assert_true(cw_workers_possible(&made) < 5.1);
    assert_true(made.provision.price > 2.9);
    world.stuck = NULL;
    world_pass(MINUTE);
    assert_int_equal(world_replicas("cheap"), 2);
    assert_int_equal(world_replicas("dear"), 0);
    assert_int_equal(world_workers(false), 2);
    world.wanted = 5;
    world_pass(20000);
    assert_int_equal(world_replicas("cheap"), 3);
    assert_int_equal(world_replicas("dear"), 2);
    assert_true(made.provision.price > 2.9 && made.workers->has_price);
    world_end();
}

/* Pods run, and their workers never come: they are told, and not counted on. */
static void workers_do_not_come(void **state)
{
    (void)state;
    begin(one, 0);
    world.without_workers = true;
    world.wanted = 2;
    world_pass(2 * MINUTE);
    assert_int_equal(world_replicas("w"), 2);
    assert_int_equal(world_events("PodsWait"), 1);
    assert_true(cw_workers_possible(&made) < 0.1);
    world.without_workers = false;
    world_pass(5000);
    assert_int_equal(world_workers(false), 2);
    assert_true(cw_workers_possible(&made) > 99);
    world_end();
}

/* Somebody else sets the number: it is put back at once, then a minute later, then left alone until
 * nobody has set it for ten minutes. */
static void somebody_else_writes(void **state)
{
    (void)state;
    begin(one, 0);
    world.wanted = 2;
    world_pass(MINUTE);
    world_scale("w", 0);
    world_pass(3000);
    assert_int_equal(world_replicas("w"), 2);
    assert_int_equal(world_events("ReplicasChanged"), 1);
    world_scale("w", 0);
    world_pass(50000);
    assert_int_equal(world_replicas("w"), 0);
    world_pass(12000);
    assert_int_equal(world_replicas("w"), 2);
    assert_int_equal(world_events("LeftAlone"), 0);
    world_scale("w", 1);
    world_pass(9 * MINUTE);
    assert_int_equal(world_replicas("w"), 1);
    assert_int_equal(world_events("LeftAlone"), 1);
    struct cw_cluster_deployment row;
    size_t i = 0;
    assert_true(cw_cluster_next_deployment(&made, &i, &row));
    assert_true(row.held && row.wanted == 1); /* its number is taken as it is */
    world_pass(2 * MINUTE);
    assert_int_equal(world_replicas("w"), 2);
    world_end();
}

static void hold_and_check(const char *how)
{
    world_pass(3000);
    world_scale("w", 0);
    world_pass(3000);
    world_forget_requests();
    world_pass(HOUR);
    if (world_replicas("w") != 0 || world_requests("patch") + world_requests("create") != 0)
        fail_msg("%s: %d replicas, %d writes", how, world_replicas("w"), world_requests("patch"));
}

/* Who scales to 0 in an emergency is not corrected. */
static void hands_off(void **state)
{
    (void)state;
    begin(one, 0);
    world.wanted = 2;
    world_pass(MINUTE);
    assert_int_equal(cw_cluster_hold(&made, true, NULL), CW_OK);
    hold_and_check("by an operator");
    assert_int_equal(cw_cluster_hold(&made, false, NULL), CW_OK);
    world_pass(3000);
    assert_int_equal(world_replicas("w"), 2);
    assert_int_equal(world_ask("PATCH", DEPLOYMENTS "/w",
                               "{\"metadata\":{\"annotations\":{\"" CW_KUBE_HANDS_OFF
                               "\":\"true\"}}}"),
                     200);
    hold_and_check("by an annotation");
    assert_int_equal(world_ask("PATCH", DEPLOYMENTS "/w",
                               "{\"metadata\":{\"annotations\":{\"" CW_KUBE_HANDS_OFF "\":null}}}"),
                     200);
    world_pass(3000);
    assert_int_equal(world_replicas("w"), 2);
    assert_true(world_events("HandsOff") > 0 && world_events("HandsOn") > 0);
    world_end();
}

static int most_pods;

static void count_in_update(void)
{
    struct cw_pod *pod;

    most_pods = CW_MAX(most_pods, world_pods());
    for (size_t i = 0; (pod = cw_cluster_next_pod(world_cluster(), &i));)
        assert_int_equal(pod->victim, CW_VICTIM_NOT);
    assert_int_equal(world_replicas("w"), 4);
}

/* A rolling update has more pods than replicas for a while, which is no surplus. */
static void an_update_is_no_surplus(void **state)
{
    (void)state;
    begin(one, 0);
    world.wanted = 4;
    world_pass(MINUTE);
    world_forget_requests();
    world.boot_ms = 20000;
    world.each = count_in_update;
    most_pods = 0;
    assert_int_equal(
        world_ask("PATCH", DEPLOYMENTS "/w",
                  "{\"spec\":{\"template\":{\"metadata\":{\"labels\":{\"version\":\"2\"}}}}}"),
        200);
    world_pass(5 * MINUTE);
    assert_true(most_pods > 4);
    assert_int_equal(world_workers(false), 4);
    assert_int_equal(world_pods(), 4);
    assert_int_equal(world_requests("patch") + world_requests("create"), 0);
    world_end();
}

/* The API server is away: all goes on with the workers that there are, and then as it should. */
static void the_server_is_away(void **state)
{
    (void)state;
    begin(one, 0);
    world.wanted = 2;
    world_pass(MINUTE);
    fake_http_set_away(true);
    world.wanted = 3;
    world_pass(2 * MINUTE);
    assert_int_equal(world_workers(false), 2);
    fake_http_set_away(false);
    world_pass(MINUTE);
    assert_int_equal(world_replicas("w"), 3);
    assert_int_equal(world_workers(false), 3);
    world_end();
}

/* Requests and watches fail at random, and so do pods: in the end all is as it should be. */
static void faults(void **state)
{
    (void)state;
    begin(one, 0);
    fk_server_set_fault_rate(world.server, 0.1);
    for (int i = 0; i < 60; i++) {
        world.wanted = (double)sim_below(8);
        world_pass(sim_between(100, 2 * MINUTE));
        if (sim_one_in(10))
            fk_server_compact(world.server);
        if (sim_one_in(10))
            world_restart_dispatcher();
    }
    fk_server_set_fault_rate(world.server, 0);
    world_pass(10 * MINUTE);
    assert_int_equal(world_replicas("w"), (int)world.wanted);
    assert_int_equal(world_pods(), (int)world.wanted);
    assert_int_equal(world_workers(false), (int)world.wanted);
    assert_int_equal(world_workers(true), 0);
    assert_int_equal(world_annotated(), 0);
    world_end();
}

/* There is no such Deployment, or it comes and goes. */
static void it_does_not_exist(void **state)
{
    (void)state;
    begin(one, 0);
    world.wanted = 2;
    world_pass(MINUTE);
    assert_int_equal(world_ask("DELETE", DEPLOYMENTS "/w", NULL), 200);
    world_pass(MINUTE);
    struct cw_cluster_deployment row;
    size_t i = 0;
    assert_true(cw_cluster_next_deployment(&made, &i, &row));
    assert_string_equal(row.state, "there is no such Deployment");
    assert_int_equal(world_workers(false), 0);
    world_end();
}

static int evicted_code;
static char evicted_says[512];

static void on_evicted(void *arg, int code, const char *msg)
{
    (void)arg;
    evicted_code = code;
    snprintf(evicted_says, sizeof(evicted_says), "%s", msg);
}

/* A worker that is drained by request: its pod is evicted, and another one comes. A disruption budget may
 * refuse that, in its own words. */
static void drained_by_request(void **state)
{
    (void)state;
    static const char budget[] =
        "{\"metadata\":{\"name\":\"b\"},\"spec\":{\"minAvailable\":2,\"selector\":{"
        "\"matchLabels\":{\"app\":\"w\"}}}}";
    begin(one, 0);
    world.wanted = 2;
    world_pass(MINUTE);
    uint64_t id = made.workers->id;
    evicted_code = -1;
    assert_true(cw_cluster_evict(made.workers, on_evicted, NULL));
    world_pass(500);
    assert_int_equal(evicted_code, CW_OK);
    assert_int_equal(world_workers(true), 1);
    world_pass(MINUTE);
    assert_int_equal(world_workers(false), 2);
    assert_true(made.workers->id != id && made.workers->next->id != id);
    assert_int_equal(
        world_ask("POST", "/apis/policy/v1/namespaces/ns0/poddisruptionbudgets", budget), 201);
    assert_true(cw_cluster_evict(made.workers, on_evicted, NULL));
    world_pass(1000);
    assert_true(evicted_code != CW_OK);
    assert_non_null(strstr(evicted_says, "disruption budget"));
    assert_int_equal(world_workers(false), 2);
    assert_true(cw_cluster_evict(made.workers, on_evicted, NULL));
    cw_cluster_stop(&made);
    assert_int_equal(evicted_code, CW_E_UNAVAILABLE);
    world_end();
}

static void order(const char *fault, const char *more)
{
    cw_autofree char *text =
        cw_mem_printf("{\"fault\":\"%s\",\"verb\":\"patch\",\"resource\":\"deployments/scale\","
                      "\"user\":\"system:serviceaccount:ns0:cachew-dispatcher\"%s}",
                      fault, more);
    json_auto_t *json = json_loads(text, 0, NULL);
    assert_int_equal(fk_server_order(world.server, json, NULL), CW_OK);
}

/* A server that refuses, lies, or answers nothing: nothing is invented, and it is tried again. */
static void answers_that_are_none(void **state)
{
    (void)state;
    static const char *const lies[] = {
        "{\\\"kind\\\":\\\"Scale\\\",\\\"metadata\\\":{\\\"resourceVersion\\\":\\\"9\\\"}}",
        "{\\\"kind\\\":\\\"Scale\\\",\\\"spec\\\":{\\\"replicas\\\":2}}",
        ("{\\\"kind\\\":\\\"Scale\\\",\\\"metadata\\\":{\\\"resourceVersion\\\":\\\"9\\\"},"
         "\\\"spec\\\":{\\\"replicas\\\":\\\"2\\\"}}"),
        "<html>no</html>"};
    struct cw_cluster_deployment row;
    begin(one, 0);
    order("403", ",\"times\":20");
    world.wanted = 2;
    world_pass(10000);
    size_t i = 0;
    assert_int_equal(world_replicas("w"), 0);
    assert_true(cw_cluster_next_deployment(&made, &i, &row));
    assert_non_null(strstr(row.state, "Forbidden"));
    assert_true(world_requests("patch") <= 4);
    world_pass(20 * MINUTE);
    assert_int_equal(world_replicas("w"), 2);
    for (size_t k = 0; k < CW_ARRAY_LEN(lies); k++) {
        cw_autofree char *more = cw_mem_printf(",\"status\":200,\"body\":\"%s\"", lies[k]);
        order("answer", more);
        world.wanted = 3 + (double)k;
        world_pass(MINUTE);
        assert_int_equal(world_replicas("w"), 3 + (int)k);
    }
    order("done", "");
    world.wanted = 8;
    world_pass(MINUTE);
    assert_int_equal(world_replicas("w"), 8);
    assert_int_equal(world_events("ReplicasChanged"), 0); /* an own write of which no answer came */
    world_end();
}

/* Another dispatcher was told to drive the same Deployment: that is said, and ends in peace. */
static void two_dispatchers(void **state)
{
    (void)state;
    static const char path[] = DEPLOYMENTS "/w/scale?fieldManager=cachew-dispatcher";
    begin(one, 0);
    world.wanted = 2;
    world_pass(MINUTE);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(world_ask("PATCH", path, "{\"spec\":{\"replicas\":5}}"), 200);
        world_pass(90000);
    }
    assert_int_equal(world_events("LeftAlone"), 1);
    assert_int_equal(world_replicas("w"), 5);
    world_end();
}

/* The number is set far too high by hand: it comes down in steps, and the fleet's limit holds. */
static void far_too_many_by_hand(void **state)
{
    (void)state;
    begin(one, 0);
    world.wanted = 2;
    world_pass(MINUTE);
    world_scale("w", 200);
    world_pass(5 * MINUTE);
    assert_int_equal(world_replicas("w"), 2);
    world_pass(MINUTE);
    assert_int_equal(world_pods(), 2);
    assert_int_equal(world_workers(false), 2);
    world_end();
}

/* A worker that claims another's pod: the one counts that has the pod's address, and who drains the
 * other one evicts nobody's pod. */
static void another_claims_the_pod(void **state)
{
    (void)state;
    begin(one, 0);
    world.wanted = 1;
    world_pass(MINUTE);
    struct cw_worker *real = made.workers, *other = world_claim(real);
    struct cw_pod *pod = cw_cluster_pod_of(world_cluster(), real);
    world_pass(3000);
    assert_ptr_equal(pod->worker, real);
    assert_false(cw_cluster_evict(other, on_evicted, NULL));
    assert_true(cw_cluster_evict(real, on_evicted, NULL));
    world_pass(1000);
    assert_true(evicted_code == CW_OK && pod->seen->state == CW_KUBE_POD_GOES);
    world_unclaim(other);
    world_end();
}

int sim_program_main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_of_writes),
        cmocka_unit_test(a_decision_goes_out_at_once),
        cmocka_unit_test(the_chosen_one_goes),
        cmocka_unit_test(annotations_are_refused),
        cmocka_unit_test(work_comes_back),
        cmocka_unit_test(a_start_lowers_nothing_at_once),
        cmocka_unit_test(deleted_pods_get_no_leases),
        cmocka_unit_test(what_does_not_come),
        cmocka_unit_test(workers_do_not_come),
        cmocka_unit_test(somebody_else_writes),
        cmocka_unit_test(hands_off),
        cmocka_unit_test(an_update_is_no_surplus),
        cmocka_unit_test(the_server_is_away),
        cmocka_unit_test(faults),
        cmocka_unit_test(it_does_not_exist),
        cmocka_unit_test(drained_by_request),
        cmocka_unit_test(answers_that_are_none),
        cmocka_unit_test(two_dispatchers),
        cmocka_unit_test(another_claims_the_pod),
        cmocka_unit_test(far_too_many_by_hand),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
