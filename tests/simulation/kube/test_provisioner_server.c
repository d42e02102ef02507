/* SPDX-License-Identifier: Apache-2.0 */
/* The provisioner of Kubernetes, on virtual time, and an API server that is wiped, restored from
 * a backup, allows less than it did, or has Deployments that are paused or select others' pods. */
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

static void begin_with_workers(const char *const *deployments, double wanted)
{
    world_begin(deployments, 0);
    world_make_node("n0", 20);
    world.wanted = wanted;
    world_pass(20000);
}

static void check_all_is_well(int workers)
{
    assert_int_equal(world_replicas("w"), workers);
    assert_int_equal(world_pods(), workers);
    assert_int_equal(world_workers(false), workers);
    assert_int_equal(world_workers(true), 0);
    assert_int_equal(world_annotated(), 0);
}

/* The server is restored from a backup: the Deployment has its old uid and an older version,
 * pods that were made later are gone. What was read and written before is forgotten, nobody is
 * taken for a foreign writer, and the number is written again. */
static void restored_from_a_backup(void **state)
{
    (void)state;
    begin_with_workers(one, 2);
    json_auto_t *saved = fk_server_save(world.server);
    for (int i = 0; i < 5; i++) {
        world.wanted = 5 - i % 2;
        world_pass(MINUTE);
    }
    check_all_is_well(5);
    fk_server_restore(world.server, cw_clock_ms(), saved);
    world_pass(2 * MINUTE);
    check_all_is_well(5);
    assert_int_equal(world_events("ReplicasChanged"), 0);
    world.wanted = 1;
    world_pass(MINUTE);
    check_all_is_well(1);
    world_scale("w", 3); /* who writes it afterwards is seen */
    world_pass(3000);
    assert_int_equal(world_events("ReplicasChanged"), 1);
    world_end();
}

/* All objects are gone, and made anew by others: with other uids, and versions that begin where
 * they did. */
static void wiped_and_made_anew(void **state)
{
    (void)state;
    world_begin(one, 0);
    json_auto_t *empty = fk_server_save(world.server);
    world_make_node("n0", 20);
    json_object_del(json_object_get(empty, "objects"), "deployments.apps");
    for (int i = 0; i < 5; i++) {
        world.wanted = 3 + i % 2;
        world_pass(MINUTE);
    }
    check_all_is_well(3);
    fk_server_restore(world.server, cw_clock_ms(), empty);
    world_pass(2 * MINUTE);
    assert_int_equal(world_workers(false), 0);
    struct cw_cluster_deployment row;
    size_t i = 0;
    assert_true(cw_cluster_next_deployment(&made, &i, &row));
    assert_string_equal(row.state, "there is no such Deployment");
    world_make_node("n1", 20);
    world_make_deployment("w", 0);
    world_pass(2 * MINUTE);
    check_all_is_well(3);
    world.wanted = 4;
    world_pass(MINUTE);
    check_all_is_well(4);
    world_end();
}

/* What may be done is taken away and given back: nothing is written meanwhile, workers go on,
 * and then it is as it should be. */
static void rights_taken_away(void **state)
{
    (void)state;
    begin_with_workers(one, 2);
    fk_server_set_token(world.server, "dispatcher", "system:serviceaccount:ns0:cachew-dispatcher",
                        "system:nobody");
    world.wanted = 3;
    world_pass(10 * MINUTE);
    check_all_is_well(2);
    struct cw_cluster_deployment row;
    size_t i = 0;
    assert_true(cw_cluster_next_deployment(&made, &i, &row));
    assert_non_null(strstr(row.state, "Forbidden"));
    fk_server_set_token(world.server, "dispatcher", "system:serviceaccount:ns0:cachew-dispatcher",
                        "system:masters");
    world_pass(MINUTE);
    check_all_is_well(3);
    world_end();
}

/* ---- pods that cannot even be made ---- */

#define QUOTAS "/api/v1/namespaces/ns0/resourcequotas"

static uint64_t decisions(void)
{
    uint64_t n = 0;

    for (size_t i = 0; i < CW_ARRAY_LEN(made.counts.decisions); i++)
        n += made.counts.decisions[i];
    return n;
}

static void check_unmade(uint64_t not_to_be_had)
{
    struct cw_cluster_waiting waiting;
    struct cw_cluster_reason reason;
    struct cw_cluster_deployment row;
    size_t i = 0, k = 0;

    assert_true(cw_cluster_next_waiting(&made, &i, &waiting));
    assert_string_equal(waiting.pod, "");
    assert_string_equal(waiting.deployment, "cheap");
    assert_string_equal(waiting.reason, "FailedCreate");
    assert_non_null(strstr(waiting.message, "exceeded quota: few, requested: pods=1"));
    assert_int_equal(waiting.not_to_be_had, not_to_be_had > 0);
    assert_int_equal(cw_cluster_reasons(&made, &reason, 1), 1);
    assert_string_equal(reason.reason, "FailedCreate");
    assert_true(cw_cluster_next_deployment(&made, &k, &row));
    assert_int_equal(row.waiting, 2);
    assert_int_equal(row.not_to_be_had, not_to_be_had);
}

/* A quota forbids two of three pods (the Deployment's ReplicaFailure): they are counted and
 * named in the cluster's own words at once, count as not to be had after a minute, which a
 * decision and an Event say, and come when the quota is gone. */
static void a_quota(void **state)
{
    (void)state;
    static const char *const two[] = {"cheap,max=3,price=1", "dear,max=5,price=3", NULL};
    static const char few[] = "{\"metadata\":{\"name\":\"few\"},\"spec\":{\"hard\":{\"pods\":1}}}";
    world_begin(two, 0);
    world_make_node("n0", 20);
    assert_int_equal(world_ask("POST", QUOTAS, few), 201);
    world.wanted = 3;
    world_pass(20000);
    assert_int_equal(world_replicas("cheap"), 3);
    assert_int_equal(world_workers(false), 1);
    check_unmade(0);
    assert_int_equal(world_events("PodsWait"), 0);
    uint64_t before = decisions();
    world_pass(MINUTE);
    check_unmade(2);
    assert_int_equal(world_events("PodsWait"), 1);
    assert_int_equal(decisions() - before,
                     2); /* that they are not to be had, and what is asked for elsewhere */
    assert_int_equal(world_replicas("dear"), 2);
    world_pass(2 * MINUTE);
    assert_int_equal(world_events("PodsWait"), 2);
    assert_true(cw_workers_possible(&made) < 1.1);
    assert_int_equal(world_ask("DELETE", QUOTAS "/few", NULL), 200);
    world_pass(2 * MINUTE);
    assert_int_equal(world_replicas("cheap"), 3);
    assert_int_equal(world_replicas("dear"), 0);
    assert_int_equal(world_workers(false), 3);
    assert_int_equal(world_events("PodsCame"), 2);
    world_end();
}

/* A Deployment that is paused makes no new template's pods, and has the number that is written all the same. */
static void it_is_paused(void **state)
{
    (void)state;
    struct cw_cluster_deployment row;
    size_t i = 0;
    begin_with_workers(one, 2);
    assert_int_equal(world_ask("PATCH", DEPLOYMENTS "/w", "{\"spec\":{\"paused\":true}}"), 200);
    world.wanted = 3;
    world_pass(MINUTE);
    assert_true(cw_cluster_next_deployment(&made, &i, &row));
    assert_string_equal(row.state, "paused");
    assert_int_equal(world_replicas("w"), 3);
    world_end();
}

/* Its selector chooses pods of others, too: these are nobody's workers, and none of them is written. */
static void it_selects_others(void **state)
{
    (void)state;
    static const char others[] = "{\"metadata\":{\"name\":\"foreign\",\"labels\":{\"app\":\"w\"}},"
                                 "\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}";
    struct cw_cluster_deployment row;
    size_t i = 0;
    begin_with_workers(one, 2);
    assert_int_equal(world_ask("POST", "/api/v1/namespaces/ns0/pods", others), 201);
    world_pass(3000);
    assert_true(cw_cluster_next_deployment(&made, &i, &row));
    assert_int_equal(row.ready + row.waiting, 2);
    world.wanted = 0;
    world_pass(2 * MINUTE);
    assert_int_equal(world_replicas("w"), 0);
    assert_int_equal(world_annotated(), 0);
    assert_int_equal(world_ask("GET", "/api/v1/namespaces/ns0/pods/foreign", NULL), 200);
    world_end();
}

/* A million by hand, of which a quota lets a few be made: it comes down, and the workers that are used stay. */
static void a_million_by_hand(void **state)
{
    (void)state;
    static const char few[] = "{\"metadata\":{\"name\":\"few\"},\"spec\":{\"hard\":{\"pods\":8}}}";
    begin_with_workers(one, 2);
    assert_int_equal(world_ask("POST", QUOTAS, few), 201);
    world_scale("w", 1000000);
    world_pass(10 * MINUTE);
    assert_int_equal(world_events("ReplicasChanged"), 1);
    check_all_is_well(2);
    world_end();
}

int sim_program_main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(restored_from_a_backup), cmocka_unit_test(wiped_and_made_anew),
        cmocka_unit_test(rights_taken_away),      cmocka_unit_test(a_quota),
        cmocka_unit_test(a_million_by_hand),      cmocka_unit_test(it_is_paused),
        cmocka_unit_test(it_selects_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
