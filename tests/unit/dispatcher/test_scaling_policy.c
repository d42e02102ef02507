/* SPDX-License-Identifier: Apache-2.0 */
/* Another policy for a job's workers, by request: from each to each. */
#include <math.h>
#include <string.h>

#include "dispatcher/scaling/scaling.h"
#include "unit/dispatcher/made_up.h"

struct request {
    const char *policy;
    bool place;
    const char *decides; /* of the policies; NULL = none does: it uses every worker */
};
static const struct request requests[] = {
    {"auto", false, "auto"},      {"cachew", false, "cachew"}, {"hpa", false, "hpa"},
    {"fixed:2", false, "fixed"},  {"fixed:1", false, "fixed"}, {"off", false, NULL},
    {"auto", true, "auto"},       {"pecan", true, "pecan"},    {"fixed:1,1", true, "fixed"},
    {"fixed:0,2", true, "fixed"},
};

static struct cw_job *begin_job(struct cw_client *client, bool local)
{
    made_up.options.autoscale = made_up.options.autoplace = "off";
    made_up.options.scale_window_ms = 100;
    assert_int_equal(cw_provision_find("none", &made_up.provision.kind, NULL), 0);
    made_up.options.provisioner = made_up.provision.kind;
    Cachew__V1__PlanInfo *info = cachew__v1__plan_info__unpack(NULL, 0, NULL);
    info->items = 100;
    info->item_bytes = -1;
    struct cw_job *job = made_up_job("j1", cachew__v1__job_options__unpack(NULL, 0, NULL), info);
    (void)made_up_worker(1, 2);
    (void)made_up_worker(2, 2);
    *client = (struct cw_client){.d = &made_up, .max_local = local ? 2 : 0};
    cw_job_add_client(job, client);
    client->local_sent = UINT32_MAX; /* as if it had been asked: it has no stream */
    return job;
}

static void change(struct cw_job *job, const struct request *to)
{
    struct cw_err err = {0};
    assert_int_equal(cw_scaling_change(job, to->policy, to->place, &err), 0);
    const struct cw_scaling *s = job->scaling;
    if (!to->decides) {
        assert_null(s);
        assert_true(cw_job_uses_all_workers(job));
    } else {
        assert_non_null(s);
        assert_string_equal(s->policy->name, to->decides);
        assert_true(s->policy->places == to->place);
        const char *colon = strchr(to->policy, ':');
        assert_true(colon ? strcmp(s->argument, colon + 1) == 0 : !s->argument);
    }
    (void)cw_scaling_assign(&made_up, 1000);
}

/* With a trainer that allows workers beside it. */
static void from_each_to_each(void **state)
{
    (void)state;
    struct cw_client client;
    struct cw_job *job = begin_job(&client, true);
    for (size_t i = 0; i < CW_ARRAY_LEN(requests); i++) {
        for (size_t k = 0; k < CW_ARRAY_LEN(requests); k++) {
            change(job, &requests[i]);
            change(job, &requests[k]);
        }
    }
    cw_job_remove_client(&client);
}

/* What is not to be placed any more is scaled as its options say, and by nothing when they say
 * nothing. */
static void placed_no_more(void **state)
{
    (void)state;
    static const struct request off = {"off", true, NULL};
    struct cw_client client;
    struct cw_job *job = begin_job(&client, true);
    for (size_t i = 0; i < CW_ARRAY_LEN(requests); i++) {
        change(job, &(struct request){"off", false, NULL});
        change(job, &requests[i]);
        if (requests[i].place)
            change(job, &off);
    }
    change(job, &(struct request){"fixed:2", false, "fixed"});
    change(job, &(struct request){"fixed:1,1", true, "fixed"});
    struct cw_err err = {0};
    assert_int_equal(cw_scaling_change(job, "off", true, &err), 0);
    assert_true(job->scaling && !job->scaling->policy->places &&
                strcmp(job->scaling->argument, "2") == 0);
    cw_job_remove_client(&client);
}

/* A trainer without local workers, and none at all. */
static void nothing_beside_it(void **state)
{
    (void)state;
    struct cw_client client;
    struct cw_err err = {0};
    struct cw_job *job = begin_job(&client, false);
    for (int with = 1; with >= 0; with--) {
        if (!with)
            cw_job_remove_client(&client);
        for (size_t i = 0; i < CW_ARRAY_LEN(requests); i++) {
            if (!requests[i].place)
                change(job, &requests[i]);
            else
                assert_int_equal(cw_scaling_change(job, requests[i].policy, true, &err),
                                 with ? CW_E_STATE : 0);
            assert_int_equal(cw_scaling_change(job, "off", true, &err), 0);
        }
        assert_int_equal(cw_scaling_change(job, "nonsense", false, &err), CW_E_INVALID);
        assert_int_equal(cw_scaling_change(job, "nonsense", true, &err), CW_E_INVALID);
        assert_int_equal(cw_scaling_change(job, "fixed", false, &err), CW_E_INVALID);
    }
}

/* A policy's constants: what the simulator knows (unit.policies.simulate) a job may name, too, and
 * the dispatcher for all jobs. */
static void constants_of_a_policy(void **state)
{
    (void)state;
    static const char published[] = "cachew:up=0.16,quirks=published";
    struct cw_client client;
    struct cw_err err = {0};
    struct cw_job *job = begin_job(&client, true);
    assert_int_equal(cw_scaling_check(published, &err), 0);
    assert_int_equal(cw_scaling_change(job, published, false, &err), 0);
    assert_true(job->scaling && strcmp(job->scaling->argument, strchr(published, ':') + 1) == 0);
    assert_int_equal(cw_scaling_check("cachew:quirks=mine", &err), CW_E_INVALID);
    assert_non_null(strstr(err.msg, "quirks=published"));
    assert_int_equal(cw_scaling_change(job, "cachew:quirks=mine", false, &err), CW_E_INVALID);
    assert_int_equal(cw_scaling_change(job, "off", false, &err), 0);
    cw_job_remove_client(&client);
}

/* A new plan says how many workers it needs; a policy that finds their number goes on from there. */
static void a_plan_needs_others(void **state)
{
    (void)state;
    struct cw_client client;
    struct cw_job *job = begin_job(&client, true);
    change(job, &(struct request){"fixed:2", false, "fixed"});
    assert_false(cw_scaling_may_jump(job));
    cw_scaling_jump(job, 1);
    assert_false(job->scaling->target < 2 || job->scaling->target > 2);
    change(job, &(struct request){"auto", true, "auto"});
    assert_false(cw_scaling_may_jump(job)); /* it also says where they run */
    change(job, &(struct request){"auto", false, "auto"});
    assert_true(cw_scaling_may_jump(job));
    job->scaling->target = 8;
    job->scaling->state.levels_n = 3;
    cw_scaling_jump(job, 8); /* it has as many */
    assert_true(job->scaling->target < 8.1 && job->scaling->state.levels_n == 3);
    cw_scaling_jump(job, 9);
    assert_true(job->scaling->target > 8.9 && job->scaling->state.remote > 8.9);
    assert_true(job->scaling->state.levels_n == 0);
    cw_scaling_jump(job, 5);
    assert_true(job->scaling->target > 4.9 && job->scaling->state.remote > 4.9);
    assert_true(job->scaling->state.levels_n == 0 && job->scaling->settling > 0);
    cw_job_remove_client(&client);
}

/* Local workers that give next to nothing are judged as soon as that shows, also if no batch ever comes. */
static void starved_windows(void **state)
{
    (void)state;
    struct cw_client client;
    struct cw_job *job = begin_job(&client, true);
    change(job, &(struct request){"auto", true, "auto"});
    struct cw_scaling *s = job->scaling;
    s->state.phase = CW_SCALE_REMOTE_UP;
    s->state.history[0] = (struct cw_scale_window){.seconds = 2, .batches = 20, .remote = 1};
    s->state.history_n = 1;
    s->state.remote = s->target = 0;
    s->state.local = s->local_target = 2;
    s->settling = 0;
    job->consumers[0].client = &client;
    s->begin_ms = 1000;
    cw_scaling_tick(&made_up, 1240); /* with one remote worker there would be 2.4 batches by now */
    assert_int_equal(s->begin_ms, 1000);
    job->consumers[0].ready = 1; /* the trainer does not wait */
    cw_scaling_tick(&made_up, 1400);
    assert_int_equal(s->begin_ms, 1000);
    job->consumers[0].ready = 0;
    cw_scaling_tick(&made_up, 1400);
    assert_int_equal(s->begin_ms, 1400);
    assert_true(fabs(s->last.seconds - 0.4) < 1e-9 && fabs(s->last.batches - 0.5) < 1e-9);
    assert_true(s->last.wait_share >= 1);
    /* one batch in half a second, of which it waited four fifths, and then none */
    cw_scaling_measured(
        job, &(Cachew__V1__Ack){.measure = &(Cachew__V1__Measure){
                                    .batches = 1, .ns = 500000000, .wait_ns = 400000000}});
    cw_scaling_tick(&made_up, 2140);
    assert_int_equal(s->begin_ms, 1400);
    cw_scaling_tick(&made_up, 2400);
    assert_int_equal(s->begin_ms, 2400);
    assert_true(fabs(s->last.seconds - 1) < 1e-9 && fabs(s->last.batches - 1) < 1e-9);
    assert_true(fabs(s->last.wait_share - 0.9) < 1e-9);
    /* who rests waits for whole windows */
    s->state.phase = CW_SCALE_STABLE;
    cw_scaling_tick(&made_up, 10000);
    assert_int_equal(s->begin_ms, 2400);
    job->consumers[0].client = NULL;
    cw_job_remove_client(&client);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(from_each_to_each, made_up_begin, made_up_end),
        cmocka_unit_test_setup_teardown(placed_no_more, made_up_begin, made_up_end),
        cmocka_unit_test_setup_teardown(constants_of_a_policy, made_up_begin, made_up_end),
        cmocka_unit_test_setup_teardown(nothing_beside_it, made_up_begin, made_up_end),
        cmocka_unit_test_setup_teardown(a_plan_needs_others, made_up_begin, made_up_end),
        cmocka_unit_test_setup_teardown(starved_windows, made_up_begin, made_up_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
