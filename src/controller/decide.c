/* SPDX-License-Identifier: Apache-2.0 */
/* Decides in the order in which a CacheBackend comes to life: what is asked for is understood, the
 * engine has made its place, the dispatcher knows the cache, the ConfigMap is there, the sources are
 * warmed, the job may go. */
#include "controller/decide.h"
#include "controller/decide_parts.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "kube/field.h"

/* ---- Accepted ---- */

static bool accept(const struct cw_sight *s, struct cw_decision *plan)
{
    const struct cw_cachebackend *b = s->b;
    if (b->problem[0] != '\0')
        cw_plan_add(plan, "Accepted", false, b->problem, b->problem_text);
    else if (!s->engine)
        cw_plan_add(plan, "Accepted", false, "EngineUnknown", s->engine_why);
    else if (s->place != CACHEW_ENGINE_READY)
        cw_plan_add(plan, "Accepted", false, s->place_answer->reason, s->place_answer->message);
    else if (b->mount_path && !s->fluid &&
             (s->claim == CW_CLAIM_UNSUPPORTED || !cw_sight_has_store(s)))
        cw_plan_add(
            plan, "Accepted", false, "VolumeUnsupported",
            "spec.mountPath: the controller has no --csi-driver, or the engine has no store to be "
            "mounted; leave it out, and let the job read through libcachew");
    else
        cw_plan_add(plan, "Accepted", true, "Understood", "");
    return plan->conditions[plan->conditions_n - 1].status == CW_TRUE;
}

/* ---- EngineReady ---- */

static bool is_attached_right(const struct cw_sight *s)
{
    const struct cw_cache_facts *c = s->cache;
    const struct cw_cachebackend *b = s->b;
    return c && !c->leaving && cw_str_eq(c->tenant, b->name_space) &&
           c->quota == (uint64_t)b->quota && c->source_quota == (uint64_t)b->source_quota &&
           c->high_percent == b->high_percent && c->low_percent == b->low_percent;
}

static void add_failed_step(struct cw_decision *plan, const struct cw_step *step)
{
    bool spent = step->state == CW_STEP_RETRY && step->tries >= CW_STEP_TRIES_MAX;
    cw_plan_add(plan, "EngineReady", false, spent ? "BackoffLimitExceeded" : step->reason,
                step->message);
}

/* The dispatcher has the cache, or gets it once the engine has made its place. */
static bool attach(const struct cw_sight *s, struct cw_decision *plan)
{
    bool there = s->cache && !s->cache->leaving;
    if (there && strcmp(s->cache->url, s->place_answer->url) != 0)
        cw_plan_add(
            plan, "EngineReady", false, "PlaceChanged",
            "spec.cacheEngine: what it names has changed, and a cache cannot move: set it back, or "
            "make another CacheBackend");
    else if (there && s->cache->why[0] != '\0')
        cw_plan_add(plan, "EngineReady", false, "HealthCheckFailed", s->cache->why);
    else if (is_attached_right(s))
        cw_plan_add(plan, "EngineReady", true, "Attached", "");
    else if (s->another && !s->another->leaving)
        cw_plan_add(
            plan, "EngineReady", false, "NameTaken",
            "the dispatcher has another cache of this name: cachew cache describe shows it");
    else if (!there && s->prepare.state != CW_STEP_DONE)
        plan->todo |= cw_plan_is_due(s, plan, &s->prepare) ? CW_DO_PREPARE : 0;
    else
        plan->todo |= cw_plan_is_due(s, plan, &s->attach) ? CW_DO_ATTACH : 0;
    if (plan->conditions_n == 2)
        return plan->conditions[1].status == CW_TRUE;
    if (s->prepare.state == CW_STEP_RETRY || s->prepare.state == CW_STEP_REFUSED)
        add_failed_step(plan, &s->prepare);
    else if (s->attach.state == CW_STEP_RETRY || s->attach.state == CW_STEP_REFUSED)
        add_failed_step(plan, &s->attach);
    else
        cw_plan_add(plan, "EngineReady", false, "Creating", "the engine is at work");
    return false;
}

static bool make_engine_ready(const struct cw_sight *s, struct cw_decision *plan)
{
    if (s->fluid)
        return cw_decide_fluid(s, plan);
    if (!cw_sight_has_store(s)) {
        cw_plan_add(plan, "EngineReady", true, "NothingToMake", "");
        return true;
    }
    if (s->dispatcher_away) {
        cw_plan_add(plan, "EngineReady", false, "DispatcherUnreachable", s->dispatcher_why);
        return false;
    }
    return attach(s, plan);
}

/* ---- Prefetched ---- */

/* A status without a mark is of a controller that knew none. */
bool cw_sight_is_warm(const struct cw_sight *s)
{
    const char *warmed = cw_kube_text(&s->b->status, "prefetch.warmed");
    if (s->prefetch.state == CW_STEP_DONE && cw_str_eq(s->warming, s->b->to_warm))
        return true;
    return cw_str_eq(cw_kube_text(&s->b->status, "prefetch.phase"), "Complete") &&
           (!warmed || strcmp(warmed, s->b->to_warm) == 0);
}

/* What was not cached by a warming that has ended: a controller that starts anew leaves it as it stands. */
static const char *said_of_the_rest(const struct cw_sight *s)
{
    const char *said =
        s->prefetch.state == CW_STEP_DONE
            ? s->prefetch.message
            : cw_kube_text(cw_status_condition(&s->b->status, "Prefetched"), "message");
    return said ? said : "";
}

/* Returns whether so much is cached that the job may begin. What has been ready stays so, since a
 * controller that starts anew does not know how far another one came. */
static bool prefetch(const struct cw_sight *s, struct cw_decision *plan)
{
    char text[64];
    if (!s->b->prefetch || s->b->sources_n == 0)
        return true;
    bool was_ready = cw_status_is_true(&s->b->status, "Ready");
    if (s->fluid)
        return cw_decide_fluid_cached(s, plan) || was_ready;
    if (cw_sight_is_warm(s)) {
        cw_plan_add(plan, "Prefetched", true, "Complete", said_of_the_rest(s));
        return true;
    }
    /* Warming is tried for as long as the CacheBackend is there: workers and stores that are away
     * come back, and a job may wait for it. */
    struct cw_step warming = s->prefetch;
    warming.tries = 0;
    if (warming.state == CW_STEP_DONE) /* of what the spec said before */
        warming.state = CW_STEP_NONE;
    if (cw_plan_is_due(s, plan, &warming))
        plan->todo |= CW_DO_PREFETCH;
    if (s->prefetch.state == CW_STEP_RETRY || s->prefetch.state == CW_STEP_REFUSED)
        cw_plan_add(plan, "Prefetched", false, s->prefetch.reason, s->prefetch.message);
    else {
        snprintf(text, sizeof(text), "the job may begin at %" PRId64 " %%", s->b->ready_percent);
        cw_plan_add(plan, "Prefetched", false, "PrefetchRunning", text);
    }
    return was_ready || s->prefetch_percent >= s->b->ready_percent || s->b->ready_percent == 0;
}

/* ---- VolumeBound ---- */

static bool bind_volume(const struct cw_sight *s, struct cw_decision *plan)
{
    if (!s->b->mount_path)
        return true;
    if (s->claim == CW_CLAIM_NONE && !s->fluid)
        plan->todo |= CW_DO_MAKE_CLAIM;
    if (s->claim == CW_CLAIM_BOUND)
        cw_plan_add(plan, "VolumeBound", true, "Bound", "");
    else if (s->claim == CW_CLAIM_TAKEN)
        cw_plan_add(plan, "VolumeBound", false, "ClaimTaken",
                    "there is a PersistentVolumeClaim of this name that is not the controller's");
    else if (s->claim == CW_CLAIM_LOST)
        cw_plan_add(plan, "VolumeBound", false, "VolumeLost", "the volume of the claim has gone");
    else
        cw_plan_add(plan, "VolumeBound", false, "PVCPending", "the claim is not bound yet");
    return s->claim == CW_CLAIM_BOUND;
}

/* ---- ConfigMap ---- */

static bool has_map(const struct cw_sight *s, struct cw_decision *plan)
{
    if (s->map == CW_MAP_NONE || s->map == CW_MAP_WRONG)
        plan->todo |= CW_DO_WRITE_MAP;
    return s->map == CW_MAP_RIGHT;
}

/* ---- the job ---- */

/* Why a job that waits is left alone; NULL: it is not. */
static const char *why_not(const struct cw_sight *s, const char **ret_text)
{
    const struct cw_job_facts *job = s->job;
    if (job->is_owned) {
        *ret_text = "the job is made by another object, whose controller decides when it begins";
        return "HasOwner";
    }
    if (job->managed_by[0] != '\0') {
        *ret_text =
            "spec.managedBy of the job names another controller, which decides when it begins";
        return "ManagedByOther";
    }
    if (job->is_queued) {
        *ret_text = "the job is in a queue of Kueue, which decides when it begins";
        return "UnderKueue";
    }
    return NULL;
}

static void release_job(const struct cw_sight *s, struct cw_decision *plan, bool is_ready)
{
    const char *text = "", *why;
    plan->released_job = cw_kube_text(&s->b->status, "releasedJob");
    if (!s->b->job_name)
        return;
    if (!s->job) {
        cw_plan_add(plan, "JobReleased", false, "JobNotFound",
                    "spec.jobRef: there is no such job with the label " CW_BACKEND_LABEL "=true");
        return;
    }
    if (strcmp(s->job->wants, s->b->name) != 0) {
        cw_plan_add(
            plan, "JobReleased", false, "NotNamed",
            "the job does not name this CacheBackend in its annotation " CW_BACKEND_ANNOTATION);
        return;
    }
    plan->job_is_user = !s->job->finished;
    bool once = cw_str_eq(plan->released_job, s->job->uid);
    if (s->job->finished || !s->job->suspended || once) {
        plan->released_job = s->job->uid;
        cw_plan_add(plan, "JobReleased", true, s->job->finished ? "Finished" : "Released", "");
    } else if ((why = why_not(s, &text)) != NULL) {
        cw_plan_add(plan, "JobReleased", false, why, text);
    } else {
        plan->todo |= is_ready ? CW_DO_RELEASE_JOB : 0;
        cw_plan_add(plan, "JobReleased", false, "CacheNotReady", "the job waits for the cache");
    }
}

/* ---- users and expiry ---- */

static bool is_used(const struct cw_sight *s, const struct cw_decision *plan)
{
    return plan->job_is_user || s->pods_n > 0 || (s->cache && s->cache->users_n > 0);
}

/* When it was used last, as far as anybody knows: the dispatcher, the status, the job, and the moment
 * at which the last user is seen to be gone. */
static int64_t last_use(const struct cw_sight *s)
{
    int64_t last =
        CW_MAX(cw_status_time(&s->b->status, "lastUsedTime"), s->cache ? s->cache->used_ms : 0);
    int64_t used_num = 0;
    (void)cw_kube_i64(&s->b->status, "usedNum", &used_num);
    if (s->job && s->job->finished && strcmp(s->job->wants, s->b->name) == 0)
        last = CW_MAX(last, s->job->finished_ms);
    /* What goes through a volume the dispatcher does not see. */
    if (used_num > 0 && (last == 0 || s->b->mount_path))
        last = s->now_ms;
    return last;
}

static void expire(const struct cw_sight *s, struct cw_decision *plan)
{
    if (is_used(s, plan))
        return;
    plan->last_used_ms = last_use(s);
    if (s->b->idle_ms < 0)
        return;
    int64_t ready_ms = cw_status_since(&s->b->status, "Ready");
    int64_t since_ms = CW_MAX(plan->last_used_ms, ready_ms == 0 ? s->now_ms : ready_ms);
    plan->expire_ms = since_ms + s->b->idle_ms;
    if (plan->expire_ms > s->now_ms)
        cw_plan_again_at(plan, plan->expire_ms);
    else
        plan->todo |= cw_sight_has_store(s) ? CW_DO_CLOSE : CW_DO_DELETE;
}

/* ---- words ---- */

static bool was_ready(const struct cw_sight *s)
{
    const char *word = cw_kube_text(&s->b->status, "cacheStatus");
    return cw_status_is_true(&s->b->status, "Ready") || cw_str_eq(word, "Degraded");
}

/* What has to be so before the cache may be used. */
struct parts {
    bool engine, volume, map, cached;
};

static const char *what_lacks(const struct parts *parts)
{
    return !parts->engine   ? "EngineNotReady"
           : !parts->volume ? "VolumeNotBound"
           : !parts->map    ? "ConfigMapMissing"
                            : "PrefetchRunning";
}

static const char *word_of(const struct cw_sight *s, const struct cw_decision *plan,
                           const struct parts *parts, bool is_ready)
{
    if (is_ready)
        return plan->expire_ms > 0 ? "Idle" : s->b->mount_path ? "PVCCreated" : "CacheReady";
    if (cw_step_is_final(&s->prepare) || cw_step_is_final(&s->attach))
        return "CacheFailed";
    return was_ready(s)                      ? "Degraded"
           : parts->engine && !parts->volume ? "PVCCreating"
                                             : "CacheCreating";
}

static void say_ready(const struct cw_sight *s, struct cw_decision *plan, const struct parts *parts)
{
    bool is_ready = parts->engine && parts->volume && parts->map && parts->cached;
    if (parts->engine && s->map == CW_MAP_TAKEN)
        cw_plan_add(plan, "Ready", false, "ConfigMapTaken",
                    "there is a ConfigMap of this name that is not the controller's");
    else
        cw_plan_add(plan, "Ready", is_ready, is_ready ? "CacheReady" : what_lacks(parts), "");
    plan->word = word_of(s, plan, parts, is_ready);
}

/* ---- all ---- */

static void live(const struct cw_sight *s, struct cw_decision *plan)
{
    if (!accept(s, plan)) {
        cw_plan_add(plan, "Ready", false, "NotAccepted", "");
        plan->word = "CacheFailed";
        return;
    }
    if (!s->b->has_finalizer) {
        plan->todo |= CW_DO_ADD_FINALIZER;
        return;
    }
    if (s->b->suspend) {
        cw_plan_add(plan, "Ready", false, "Suspended", "spec.suspend is true");
        plan->word = "Pending";
        return;
    }
    struct parts parts = {.engine = make_engine_ready(s, plan)};
    parts.volume = parts.engine && bind_volume(s, plan);
    parts.cached = parts.engine && prefetch(s, plan);
    parts.map = parts.engine && has_map(s, plan);
    bool is_ready = parts.volume && parts.cached && parts.map;
    release_job(s, plan, is_ready);
    if (is_ready)
        expire(s, plan);
    say_ready(s, plan, &parts);
}

void cw_decide(const struct cw_sight *sight, struct cw_decision *ret_plan)
{
    *ret_plan = (struct cw_decision){.word = ""};
    /* Before the dispatcher has answered once, or while it is away for a moment, nobody knows. */
    if (!sight->engine && sight->engine_why[0] == '\0' && sight->b->problem[0] == '\0')
        return; /* it is being loaded */
    bool asks = sight->engine && sight->place == CACHEW_ENGINE_READY && cw_sight_has_store(sight);
    if (asks && !sight->dispatcher_known && !sight->dispatcher_away && sight->b->problem[0] == '\0')
        return;
    if (sight->fluid && !sight->fluid->known && sight->fluid->why[0] == '\0')
        return;
    if (sight->b->deleting)
        cw_decide_go(sight, ret_plan);
    else
        live(sight, ret_plan);
}
