/* SPDX-License-Identifier: Apache-2.0 */
/* Rules of tenants, admission, and what is charged to whom. */
#include <string.h>

#include "dispatcher/scaling/scaling.h"
#include "unit/dispatcher/made_up.h"

static struct cw_arg_list rules_of(const char *const *texts)
{
    struct cw_arg_list rules = {.n = 0};
    for (; *texts; texts++)
        rules.v[rules.n++] = *texts;
    return rules;
}

static void test_rules(void **state)
{
    (void)state;
    const struct cw_arg_list rules = rules_of(
        (const char *const[]){"a:weight=2,max-jobs=3", "*:max-jobs=5,max-memory=1G,cache-quota=2K",
                              "b.c_d-1:max-workers=7,weight=0.5", NULL});
    struct cw_err err = {0};
    assert_int_equal(cw_tenant_rules_check(&rules, &err), 0);
    struct cw_tenant_limits a = cw_tenant_limits_of(&rules, "a"),
                            b = cw_tenant_limits_of(&rules, "b.c_d-1"),
                            other = cw_tenant_limits_of(&rules, "x");
    assert_true(a.weight == 2 && b.weight == 0.5 && other.weight == 1);
    /* what its own rule does not say is as for all */
    assert_true(a.max_jobs == 3 && b.max_jobs == 5 && other.max_jobs == 5);
    assert_true(a.max_memory == 1u << 30 && a.cache_quota == 2048);
    assert_true(b.max_workers == 7 && other.max_workers == CW_NO_LIMIT);
    assert_true(cw_tenant_rules_have_quota(&rules));
    const struct cw_arg_list none = {.n = 0};
    struct cw_tenant_limits free = cw_tenant_limits_of(&none, "a");
    assert_true(free.weight == 1 && free.max_jobs == CW_NO_LIMIT &&
                free.max_memory == CW_NO_LIMIT && free.cache_quota == CW_NO_LIMIT);
    assert_false(cw_tenant_rules_have_quota(&none));
}

/* Every error names the rule and what is wrong with it. */
static void test_bad_rules(void **state)
{
    (void)state;
    static const struct {
        const char *rule, *says;
    } bad[] = {
        {"", "not NAME:KEY=VALUE"},
        {"team", "not NAME:KEY=VALUE"},
        {"team:", "not NAME:KEY=VALUE"},
        {":weight=1", "not NAME:KEY=VALUE"},
        {"te am:weight=1", "\"te am\" is no name"},
        {".team:weight=1", "\".team\" is no name"},
        {"**:weight=1", "\"**\" is no name"},
        {"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx:weight=1",
         "at most 64"},
        {"team:weight", "\"weight\" is not KEY=VALUE"},
        {"team:weight=1,", "\"\" is not KEY=VALUE"},
        {"team:weigt=1", "no \"weigt\" (did you mean weight?)"},
        {"team:colour=red", "no \"colour\"; there are weight"},
        {"team:weight=0", "weight: \"0\" is not a number above 0"},
        {"team:weight=-1", "weight: \"-1\""},
        {"team:weight=nan", "weight: \"nan\""},
        {"team:weight=1e7", "at most 1e6"},
        {"team:max-workers=0", "max-workers: \"0\" is not a number, at least 1"},
        {"team:max-workers=2.5", "max-workers: \"2.5\""},
        {"team:max-jobs=-1", "max-jobs: \"-1\""},
        {"team:max-memory=lots", "max-memory: \"lots\" is not bytes"},
        {"team:cache-quota=0", "cache-quota: \"0\""},
        {"team:weight=1,weight=2", "weight is given twice"},
    };
    for (size_t i = 0; i < CW_ARRAY_LEN(bad); i++) {
        const struct cw_arg_list rules = rules_of((const char *const[]){bad[i].rule, NULL});
        struct cw_err err = {0};
        assert_int_equal(cw_tenant_rules_check(&rules, &err), CW_E_INVALID);
        if (!strstr(err.msg, bad[i].says) || !strstr(err.msg, "--tenant") ||
            !strstr(err.msg, bad[i].rule))
            fail_msg("%s: %s", bad[i].rule, err.msg);
    }
    const struct cw_arg_list twice =
        rules_of((const char *const[]){"a:weight=1", "b:weight=1", "a:max-jobs=1", NULL});
    struct cw_err err = {0};
    assert_int_equal(cw_tenant_rules_check(&twice, &err), CW_E_INVALID);
    assert_non_null(strstr(err.msg, "there is one for a already"));
}

static Cachew__V1__JobOptions *options_of(const char *tenant, uint64_t buffer, uint32_t consumers)
{
    Cachew__V1__JobOptions *options = cachew__v1__job_options__unpack(NULL, 0, NULL);
    options->tenant = cw_mem_strdup(tenant);
    options->buffer_bytes = buffer;
    options->consumers = consumers;
    options->mode =
        consumers > 1 ? CACHEW__V1__CONSUMER_MODE__COORDINATED : CACHEW__V1__CONSUMER_MODE__SINGLE;
    return options;
}

static struct cw_job *add_job(const char *id, const char *tenant, uint64_t buffer,
                              uint32_t consumers)
{
    Cachew__V1__PlanInfo *info = cachew__v1__plan_info__unpack(NULL, 0, NULL);
    info->items = 10;
    info->item_bytes = -1;
    return made_up_job(id, options_of(tenant, buffer, consumers), info);
}

static int admits(const char *tenant, uint64_t buffer, uint32_t consumers, struct cw_err *err)
{
    Cachew__V1__JobOptions *options = options_of(tenant, buffer, consumers);
    *err = (struct cw_err){0};
    int rc = cw_tenant_admits(&made_up, options, err);
    cachew__v1__job_options__free_unpacked(options, NULL);
    return rc;
}

static void test_admission(void **state)
{
    (void)state;
    struct cw_err err;
    made_up.options.tenants = rules_of(
        (const char *const[]){"a:max-jobs=2", "b:max-memory=1000", "nobody:max-jobs=0", NULL});
    assert_int_equal(admits("nobody", 0, 1, &err), CW_E_LIMIT);
    assert_int_equal(admits("a", 0, 1, &err), 0);
    struct cw_job *first = add_job("j1", "a", 0, 1);
    assert_int_equal(admits("a", 0, 1, &err), 0);
    struct cw_job *second = add_job("j2", "a", 0, 1);
    second->status = CW_JOB_PREPARING;
    assert_int_equal(admits("a", 0, 1, &err), CW_E_LIMIT);
    assert_non_null(strstr(err.msg, "tenant a has 2 jobs, and may have 2 (--tenant, max-jobs)"));
    assert_int_equal(admits("", 0, 1, &err), 0); /* another's */
    first->status = CW_JOB_FINISHED;
    assert_int_equal(admits("a", 0, 1, &err), 0);
    /* Memory: every consumer has a buffer of its own, and one that says nothing has the default. */
    assert_int_equal(admits("b", 1000, 1, &err), 0);
    assert_int_equal(admits("b", 1001, 1, &err), CW_E_LIMIT);
    assert_int_equal(admits("b", 0, 1, &err), CW_E_LIMIT);
    assert_int_equal(admits("b", 334, 3, &err), CW_E_LIMIT);
    assert_int_equal(admits("b", UINT64_MAX / 2, 4, &err), CW_E_LIMIT);
    add_job("j3", "b", 200, 4);
    assert_int_equal(admits("b", 200, 1, &err), 0);
    assert_int_equal(admits("b", 201, 1, &err), CW_E_LIMIT);
    assert_non_null(strstr(err.msg, "may buffer 1000 bytes in all (--tenant, max-memory): its "
                                    "other jobs have 800, this one asks for 201"));
}

static void check(const struct cw_job *job, double remote_s, double local_s, double client_s,
                  double cost)
{
    const struct cw_usage *u = &job->usage;
    if (u->remote_s != remote_s || u->local_s != local_s || u->client_s != client_s ||
        u->cost != cost)
        fail_msg("%s: %g %g %g %g", job->id, u->remote_s, u->local_s, u->client_s, u->cost);
}

static void test_usage(void **state)
{
    (void)state;
    made_up.options.worker_price = 3600;
    made_up.options.client_price = 1800;
    struct cw_job *a = add_job("a", "t", 0, 1), *b = add_job("b", "t", 0, 1);
    struct cw_worker *w1 = made_up_worker(1, 1), *w2 = made_up_worker(2, 1),
                     *own = made_up_worker(3, 1);
    cw_mem_free(own->only_job);
    own->only_job = cw_mem_strdup("a");
    cw_share_get(a, w1)->slice = 0.75;
    cw_share_get(b, w1)->slice = 0.25;
    cw_share_get(b, w2);
    cw_share_get(a, own);
    struct cw_client client = {.d = &made_up};
    a->consumers[0].client = &client;
    cw_accounting_tick(&made_up, 1000);
    check(a, 0, 0, 0, 0); /* that was the beginning */
    cw_accounting_tick(&made_up, 5000);
    check(a, 3, 4, 4, 3 + 2); /* a worker beside the trainer has no price of its own */
    check(b, 5, 0, 0, 5);
    /* A job without clients has no workers; the other has all of it. A price of its own. */
    b->no_client_ms = 1;
    a->options->client_price = 7200;
    cw_accounting_tick(&made_up, 6000);
    check(a, 4, 5, 5, 5 + 1 + 2);
    check(b, 5, 0, 0, 5);
    cw_accounting_tick(&made_up, 6000);
    cw_accounting_tick(&made_up, 5000); /* a clock that stands, and one that goes back */
    check(a, 4, 5, 5, 8);
    struct cw_usage sum = {.elements = 1, .cost = 2};
    cw_usage_add(&sum, &a->usage);
    cw_usage_add(&sum, &b->usage);
    assert_true(sum.elements == 1 && sum.remote_s == 9 && sum.local_s == 5 && sum.client_s == 5 &&
                sum.cost == 15);
    a->consumers[0].client = NULL;
    /* A job that gets a worker pays nothing for the worker's time before. */
    struct cw_job *c = add_job("c", "t", 0, 1);
    cw_accounting_tick(&made_up, 7000);
    cw_share_get(c, w2);
    cw_accounting_worker(w2, 9000);
    check(c, 0, 0, 0, 0);
    cw_accounting_worker(w2, 10000);
    check(c, 1, 0, 0, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rules),
        cmocka_unit_test(test_bad_rules),
        cmocka_unit_test_setup_teardown(test_admission, made_up_begin, made_up_end),
        cmocka_unit_test_setup_teardown(test_usage, made_up_begin, made_up_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
