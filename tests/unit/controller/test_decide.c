/* SPDX-License-Identifier: Apache-2.0 */
/* What is decided for each situation of a CacheBackend's life. */
#include "unit/controller/sight.h"

#define LOCALFS "{\"cacheEngine\":{\"localfs\":{}}}"
#define WITH(more) "{\"cacheEngine\":{\"localfs\":{}}," more "}"
#define READY                                                                                      \
    "\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\",\"reason\":\"CacheReady\","           \
    "\"lastTransitionTime\":\"2026-11-26T12:33:20Z\"}]"

static void decide(struct world *w)
{
    cw_decide(&w->s, &w->plan);
}

static void expect(struct world *w, const char *word, unsigned todo)
{
    decide(w);
    assert_string_equal(w->plan.word, word);
    assert_int_equal(w->plan.todo, todo);
}

static void expect_condition(const struct world *w, const char *type, bool is_true,
                             const char *reason)
{
    const struct cw_condition *c = condition(w, type);
    assert_true(c && c->status == (is_true ? CW_TRUE : CW_FALSE));
    assert_string_equal(c ? c->reason : NULL, reason);
}

/* ---- it comes to life ---- */

static void comes_to_life(void **state)
{
    struct world w;
    (void)state;
    set_up(&w, "", LOCALFS, "{}");
    w.b->has_finalizer = false;
    expect(&w, "", CW_DO_ADD_FINALIZER);
    w.b->has_finalizer = true;
    w.s.cache = NULL;
    w.s.map = CW_MAP_NONE;
    expect(&w, "CacheCreating", CW_DO_PREPARE);
    w.s.prepare.state = CW_STEP_RUNS;
    expect(&w, "CacheCreating", 0);
    w.s.prepare.state = CW_STEP_DONE;
    expect(&w, "CacheCreating", CW_DO_ATTACH);
    expect_condition(&w, "EngineReady", false, "Creating");
    w.s.attach.state = CW_STEP_DONE; /* the dispatcher has not told of it yet */
    expect(&w, "CacheCreating", 0);
    w.s.attach.state = CW_STEP_NONE;
    w.s.cache = &w.cache;
    expect(&w, "CacheCreating", CW_DO_WRITE_MAP);
    expect_condition(&w, "Ready", false, "ConfigMapMissing");
    w.s.map = CW_MAP_RIGHT;
    expect(&w, "CacheReady", 0);
    expect_condition(&w, "Accepted", true, "Understood");
    expect_condition(&w, "EngineReady", true, "Attached");
    expect_condition(&w, "Ready", true, "CacheReady");
    tear_down(&w);
}

/* A controller that has just begun does nothing before the dispatcher has answered. */
static void waits_for_the_dispatcher(void **state)
{
    struct world w;
    (void)state;
    set_up(&w, "", LOCALFS, "{" READY "}");
    w.s.dispatcher_known = false;
    w.s.cache = NULL;
    expect(&w, "", 0);
    w.s.dispatcher_away = true;
    w.s.dispatcher_why = "the dispatcher at x: no";
    expect(&w, "Degraded", 0);
    expect_condition(&w, "EngineReady", false, "DispatcherUnreachable");
    tear_down(&w);
}

static void memory_asks_nobody(void **state)
{
    struct world w;
    (void)state;
    set_up(&w, "", "{\"cacheEngine\":{\"memory\":{}}}", "{}");
    w.place.url[0] = '\0';
    w.s.cache = NULL;
    w.s.dispatcher_known = false;
    expect(&w, "CacheReady", 0);
    tear_down(&w);
}

static void changes_quotas(void **state)
{
    struct world w;
    (void)state;
    set_up(&w, "", WITH("\"capacity\":{\"quota\":\"1Gi\"}"), "{" READY "}");
    expect(&w, "CacheReady", 0);
    w.cache.quota = 5;
    expect(&w, "Degraded", CW_DO_ATTACH);
    tear_down(&w);
}

static void tries_again_later(void **state)
{
    struct world w;
    (void)state;
    set_up(&w, "", LOCALFS, "{}");
    w.s.cache = NULL;
    w.s.prepare = (struct cw_step){CW_STEP_RETRY, 1, NOW_MS + 5, "VolumeNotFound", "no volume"};
    expect(&w, "CacheCreating", 0);
    expect_condition(&w, "EngineReady", false, "VolumeNotFound");
    assert_int_equal(w.plan.again_ms, NOW_MS + 5);
    w.s.prepare.retry_ms = NOW_MS;
    expect(&w, "CacheCreating", CW_DO_PREPARE);
    w.s.prepare.tries = 30;
    expect(&w, "CacheFailed", 0);
    expect_condition(&w, "EngineReady", false, "BackoffLimitExceeded");
    w.s.prepare = (struct cw_step){CW_STEP_REFUSED, 0, 0, "NotOurs", "another's"};
    expect(&w, "CacheFailed", 0);
    expect_condition(&w, "EngineReady", false, "NotOurs");
    tear_down(&w);
}

static void is_not_accepted(void **state)
{
    struct world w;
    (void)state;
    set_up(&w, "", WITH("\"capacity\":{\"quota\":[1]}"), "{}");
    expect(&w, "CacheFailed", 0);
    expect_condition(&w, "Accepted", false, "QuotaInvalid");
    tear_down(&w);
    set_up(&w, "", "{\"cacheEngine\":{\"nfs\":{}}}", "{}");
    w.s.engine = NULL;
    w.s.engine_why = "no such engine";
    expect(&w, "CacheFailed", 0);
    expect_condition(&w, "Accepted", false, "EngineUnknown");
    assert_string_equal(w.plan.message, "no such engine");
    tear_down(&w);
    set_up(&w, "", WITH("\"mountPath\":\"/data\""), "{}");
    expect(&w, "CacheFailed", 0);
    expect_condition(&w, "Accepted", false, "VolumeUnsupported");
    tear_down(&w);
}

static void troubles(void **state)
{
    struct world w;
    (void)state;
    set_up(&w, "", LOCALFS, "{" READY "}");
    w.cache.why = lit("the disk hangs");
    expect(&w, "Degraded", 0);
    expect_condition(&w, "EngineReady", false, "HealthCheckFailed");
    w.cache.why = lit("");
    w.cache.url = lit("dir:/elsewhere/c-u1");
    expect(&w, "Degraded", 0);
    expect_condition(&w, "EngineReady", false, "PlaceChanged");
    w.s.cache = NULL;
    w.s.another = &w.cache;
    expect(&w, "Degraded", 0);
    expect_condition(&w, "EngineReady", false, "NameTaken");
    w.s.cache = &w.cache;
    w.cache.url = lit(URL);
    w.s.map = CW_MAP_TAKEN;
    expect(&w, "Degraded", 0);
    expect_condition(&w, "Ready", false, "ConfigMapTaken");
    tear_down(&w);
}

static void is_suspended(void **state)
{
    struct world w;
    (void)state;
    set_up(&w, "", WITH("\"suspend\":true"), "{}");
    w.s.cache = NULL;
    expect(&w, "Pending", 0);
    tear_down(&w);
}

static void binds_a_volume(void **state)
{
    struct world w;
    (void)state;
    set_up(&w, "", WITH("\"mountPath\":\"/data\""), "{}");
    w.s.claim = CW_CLAIM_NONE;
    expect(&w, "PVCCreating", CW_DO_MAKE_CLAIM);
    expect_condition(&w, "Ready", false, "VolumeNotBound");
    w.s.claim = CW_CLAIM_PENDING;
    expect(&w, "PVCCreating", 0);
    expect_condition(&w, "VolumeBound", false, "PVCPending");
    w.s.claim = CW_CLAIM_BOUND;
    expect(&w, "PVCCreated", 0);
    expect_condition(&w, "VolumeBound", true, "Bound");
    w.s.claim = CW_CLAIM_TAKEN;
    expect(&w, "PVCCreating", 0);
    expect_condition(&w, "VolumeBound", false, "ClaimTaken");
    w.b->deleting = true;
    w.s.owns.state = w.s.erase.state = CW_STEP_DONE;
    w.s.cache = NULL;
    expect(&w, "Terminating", CW_DO_DELETE_MAP); /* another's claim is not deleted */
    w.s.claim = CW_CLAIM_BOUND;
    expect(&w, "Terminating", CW_DO_DELETE_CLAIM);
    tear_down(&w);
}

/* ---- the job ---- */

#define JOB "\"jobRef\":{\"name\":\"train\"}"

static void releases_its_job_once(void **state)
{
    struct world w;
    (void)state;
    set_up(&w, "", WITH(JOB), "{}");
    expect(&w, "CacheReady", 0);
    expect_condition(&w, "JobReleased", false, "JobNotFound");
    w.s.job = &w.job;
    w.s.map = CW_MAP_NONE;
    expect(&w, "CacheCreating", CW_DO_WRITE_MAP);
    expect_condition(&w, "JobReleased", false, "CacheNotReady");
    w.s.map = CW_MAP_RIGHT;
    expect(&w, "CacheReady", CW_DO_RELEASE_JOB);
    assert_true(w.plan.job_is_user);
    w.job.suspended = false;
    expect(&w, "CacheReady", 0);
    expect_condition(&w, "JobReleased", true, "Released");
    assert_string_equal(w.plan.released_job, "j1");
    tear_down(&w);
    /* Suspended again, it is left alone; another job of its name is another one. */
    set_up(&w, "", WITH(JOB), "{\"releasedJob\":\"j1\"}");
    w.s.job = &w.job;
    expect(&w, "CacheReady", 0);
    w.job.uid = lit("j2");
    expect(&w, "CacheReady", CW_DO_RELEASE_JOB);
    tear_down(&w);
}

static void leaves_jobs_of_others_alone(void **state)
{
    struct world w;
    (void)state;
    set_up(&w, "", WITH(JOB), "{}");
    w.s.job = &w.job;
    w.job.wants = lit("another");
    expect(&w, "CacheReady", 0);
    expect_condition(&w, "JobReleased", false, "NotNamed");
    assert_false(w.plan.job_is_user);
    w.job.wants = lit("c");
    w.job.is_owned = true;
    expect(&w, "CacheReady", 0);
    expect_condition(&w, "JobReleased", false, "HasOwner");
    w.job.is_owned = false;
    w.job.managed_by = lit("somebody/else");
    expect(&w, "CacheReady", 0);
    expect_condition(&w, "JobReleased", false, "ManagedByOther");
    w.job.managed_by = lit("");
    w.job.is_queued = true;
    expect(&w, "CacheReady", 0);
    expect_condition(&w, "JobReleased", false, "UnderKueue");
    tear_down(&w);
}

/* ---- prefetch ---- */

#define PREFETCH                                                                                   \
    JOB ",\"dataset\":{\"dataSources\":[{\"location\":\"file:///d\",\"subDirName\":\"d\"}]},"      \
        "\"prefetch\":{\"enabled\":true,\"readyPercent\":20}"

static void prefetches(void **state)
{
    struct world w;
    (void)state;
    set_up(&w, "", WITH(PREFETCH), "{}");
    w.s.job = &w.job;
    expect(&w, "CacheCreating", CW_DO_PREFETCH);
    expect_condition(&w, "Prefetched", false, "PrefetchRunning");
    /* It is tried for ever: a night without workers does not leave the job waiting. */
    w.s.prefetch = (struct cw_step){CW_STEP_RETRY, 30, NOW_MS + 5, "PrefetchFailed", "no worker"};
    expect(&w, "CacheCreating", 0);
    expect_condition(&w, "Prefetched", false, "PrefetchFailed");
    assert_int_equal(w.plan.again_ms, NOW_MS + 5);
    w.s.prefetch.retry_ms = NOW_MS;
    expect(&w, "CacheCreating", CW_DO_PREFETCH);
    w.s.prefetch = (struct cw_step){.state = CW_STEP_RUNS};
    w.s.prefetch_percent = 19;
    expect(&w, "CacheCreating", 0);
    expect_condition(&w, "Ready", false, "PrefetchRunning");
    w.s.prefetch_percent = 20;
    expect(&w, "CacheReady", CW_DO_RELEASE_JOB);
    w.s.prefetch.state = CW_STEP_DONE;
    w.job.suspended = false;
    expect(&w, "CacheReady", 0);
    expect_condition(&w, "Prefetched", true, "Complete");
    tear_down(&w);
    /* Another controller goes on with what was ready. */
    set_up(&w, "", WITH(PREFETCH), "{\"prefetch\":{\"phase\":\"Executing\"}," READY "}");
    expect(&w, "CacheReady", CW_DO_PREFETCH);
    tear_down(&w);
    set_up(&w, "", WITH(PREFETCH), "{\"prefetch\":{\"phase\":\"Complete\"}}");
    expect(&w, "CacheReady", 0);
    tear_down(&w);
    /* What had no room is told, and stays told. */
    set_up(&w, "", WITH(PREFETCH), "{}");
    w.s.prefetch = (struct cw_step){.state = CW_STEP_DONE, .message = "40 % did not fit"};
    expect(&w, "CacheReady", 0);
    assert_string_equal(condition(&w, "Prefetched")->message, "40 % did not fit");
    tear_down(&w);
    set_up(&w, "", WITH(PREFETCH),
           "{\"prefetch\":{\"phase\":\"Complete\"},\"conditions\":[{\"type\":\"Prefetched\","
           "\"status\":\"True\",\"message\":\"40 % did not fit\"}]}");
    expect(&w, "CacheReady", 0);
    assert_string_equal(condition(&w, "Prefetched")->message, "40 % did not fit");
    tear_down(&w);
}

/* ---- expiry ---- */

#define IDLE JOB ",\"options\":{\"idleTime\":\"1h\"}"
#define HOUR_MS ((int64_t)3600000)

static void expires(void **state)
{
    struct world w;
    (void)state;
    set_up(&w, "", WITH(IDLE), "{" READY "}"); /* ready for an hour, to the second */
    expect(&w, "Idle", CW_DO_CLOSE);
    assert_int_equal(w.plan.expire_ms, NOW_MS);
    w.s.now_ms--;
    expect(&w, "Idle", 0);
    assert_int_equal(w.plan.again_ms, NOW_MS);
    w.s.now_ms++;
    w.cache.used_ms = NOW_MS - 1000;
    expect(&w, "Idle", 0);
    assert_int_equal(w.plan.expire_ms, NOW_MS - 1000 + HOUR_MS);
    w.users[0] = lit("trainer");
    w.cache.users_n = 1;
    expect(&w, "CacheReady", 0);
    assert_int_equal(w.plan.expire_ms, 0);
    w.cache.users_n = 0;
    w.cache.used_ms = 0;
    w.s.job = &w.job; /* it counts until it has finished */
    w.job.suspended = false;
    expect(&w, "CacheReady", 0);
    w.job.finished = true;
    w.job.finished_ms = NOW_MS - HOUR_MS + 5;
    expect(&w, "Idle", 0);
    expect_condition(&w, "JobReleased", true, "Finished");
    assert_int_equal(w.plan.expire_ms, NOW_MS + 5);
    w.job.wants = lit("another");
    expect(&w, "Idle", CW_DO_CLOSE);
    tear_down(&w);
}

static void the_last_user_is_seen_to_go(void **state)
{
    struct world w;
    (void)state;
    set_up(&w, "", WITH(IDLE), "{\"usedNum\":1,\"usedBy\":[\"train\"]," READY "}");
    expect(&w, "Idle", 0);
    assert_int_equal(w.plan.expire_ms, NOW_MS + HOUR_MS);
    assert_int_equal(w.plan.last_used_ms, NOW_MS);
    tear_down(&w);
    set_up(&w, "", WITH(IDLE), "{\"lastUsedTime\":\"2026-11-26T13:33:00Z\"," READY "}");
    expect(&w, "Idle", 0);
    assert_int_equal(w.plan.expire_ms, NOW_MS - 20000 + HOUR_MS);
    tear_down(&w);
}

static void stays_for_ever(void **state)
{
    struct world w;
    (void)state;
    set_up(&w, "", LOCALFS, "{" READY "}");
    w.s.now_ms += 1000 * HOUR_MS;
    expect(&w, "CacheReady", 0);
    tear_down(&w);
}

/* ---- it goes ---- */

#define GOES "\"deletionTimestamp\":\"2026-11-26T13:33:20Z\""

static void goes_step_by_step(void **state)
{
    struct world w;
    (void)state;
    set_up(&w, GOES, LOCALFS, "{}");
    expect(&w, "Terminating", CW_DO_OWNS);
    w.s.owns.state = CW_STEP_DONE;
    expect(&w, "Terminating", CW_DO_DETACH);
    assert_false(w.plan.detach_keeps);
    w.cache.leaving = true;
    expect(&w, "Terminating", 0);
    expect_condition(&w, "Ready", false, "DeletingFiles");
    w.s.cache = NULL;
    expect(&w, "Terminating", CW_DO_ERASE);
    w.s.erase.state = CW_STEP_DONE;
    expect(&w, "Terminating", CW_DO_DELETE_MAP);
    w.s.map = CW_MAP_NONE;
    expect(&w, "Terminating", CW_DO_DROP_FINALIZER);
    w.s.map = CW_MAP_TAKEN; /* another's is not deleted */
    expect(&w, "Terminating", CW_DO_DROP_FINALIZER);
    w.b->has_finalizer = false;
    expect(&w, "", 0);
    tear_down(&w);
}

static void keeps_what_is_to_stay(void **state)
{
    struct world w;
    (void)state;
    set_up(&w, GOES, WITH("\"options\":{\"deletionPolicy\":\"Retain\"}"), "{}");
    w.s.owns.state = CW_STEP_DONE;
    expect(&w, "Terminating", CW_DO_DETACH);
    assert_true(w.plan.detach_keeps);
    w.s.cache = NULL;
    expect(&w, "Terminating", CW_DO_DELETE_MAP);
    tear_down(&w);
    set_up(&w, GOES, LOCALFS, "{}");
    w.s.owns.state = CW_STEP_REFUSED; /* what lies there is another's */
    expect(&w, "Terminating", CW_DO_DETACH);
    assert_true(w.plan.detach_keeps);
    tear_down(&w);
}

static void waits_until_it_may_go(void **state)
{
    struct world w;
    (void)state;
    set_up(&w, GOES, LOCALFS, "{}");
    w.s.dispatcher_known = false;
    w.s.dispatcher_away = true;
    expect(&w, "Terminating", 0);
    expect_condition(&w, "Ready", false, "DispatcherUnreachable");
    w.b->force = true;
    expect(&w, "Terminating", CW_DO_DELETE_MAP);
    assert_true(w.plan.forced);
    w.s.map = CW_MAP_NONE;
    expect(&w, "Terminating", CW_DO_DROP_FINALIZER);
    tear_down(&w);
}

/* An attachment whose answer was lost may have been carried out: only what the dispatcher says afterwards counts. */
static void is_not_believed_to_be_away(void **state)
{
    struct world w;
    (void)state;
    set_up(&w, GOES, LOCALFS, "{}");
    w.s.cache = NULL;
    w.s.attach_unsure = true;
    expect(&w, "Terminating", 0);
    expect_condition(&w, "Ready", false, "Releasing");
    w.s.attach_unsure = false;
    expect(&w, "Terminating", CW_DO_ERASE);
    tear_down(&w);
}

/* What was never accepted has nothing to release. */
static void goes_at_once(void **state)
{
    struct world w;
    (void)state;
    set_up(&w, GOES, "{}", "{}");
    w.s.engine = NULL;
    w.s.cache = NULL;
    w.s.map = CW_MAP_NONE;
    w.s.dispatcher_known = false;
    expect(&w, "Terminating", CW_DO_DROP_FINALIZER);
    tear_down(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(comes_to_life),
        cmocka_unit_test(waits_for_the_dispatcher),
        cmocka_unit_test(memory_asks_nobody),
        cmocka_unit_test(changes_quotas),
        cmocka_unit_test(tries_again_later),
        cmocka_unit_test(is_not_accepted),
        cmocka_unit_test(troubles),
        cmocka_unit_test(is_suspended),
        cmocka_unit_test(binds_a_volume),
        cmocka_unit_test(releases_its_job_once),
        cmocka_unit_test(leaves_jobs_of_others_alone),
        cmocka_unit_test(prefetches),
        cmocka_unit_test(expires),
        cmocka_unit_test(the_last_user_is_seen_to_go),
        cmocka_unit_test(stays_for_ever),
        cmocka_unit_test(goes_step_by_step),
        cmocka_unit_test(keeps_what_is_to_stay),
        cmocka_unit_test(waits_until_it_may_go),
        cmocka_unit_test(is_not_believed_to_be_away),
        cmocka_unit_test(goes_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
