/* SPDX-License-Identifier: Apache-2.0 */
/* The provisioner of Kubernetes, on virtual time. */
#include "fake_http.h"
#include "kubernetes/jpath.h"
#include "pods_world.h"
#include "sim.h"
#include "support/cm.h"

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

int sim_program_main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_of_writes),
        cmocka_unit_test(the_chosen_one_goes),
        cmocka_unit_test(annotations_are_refused),
        cmocka_unit_test(work_comes_back),
        cmocka_unit_test(a_start_lowers_nothing_at_once),
        cmocka_unit_test(deleted_pods_get_no_leases),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
