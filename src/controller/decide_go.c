/* SPDX-License-Identifier: Apache-2.0 */
/* A CacheBackend that is deleted: its bytes are released, and then the finalizer goes. */
#include "controller/decide_parts.h"

#include <inttypes.h>
#include <stdio.h>

#include "kube/field.h"

static struct cw_condition *wait_to_go(struct cw_decision *plan, const char *reason,
                                       const char *message)
{
    return cw_plan_add(plan, "Ready", false, reason, message);
}

static void wait_for_files(const struct cw_cache_facts *cache, struct cw_decision *plan)
{
    char text[96];
    if (cache->why[0] != '\0') {
        wait_to_go(plan, "DeletingFiles", cache->why);
        return;
    }
    snprintf(text, sizeof(text), "%" PRIu64 " files are being deleted", cache->files_left);
    wait_to_go(plan, "DeletingFiles", text)->counts = true;
}

/* Whether nothing of the cache is left in the dispatcher. */
static bool is_detached(const struct cw_sight *s, struct cw_decision *plan)
{
    if (!s->cache)
        return true;
    if (s->cache->leaving) {
        wait_for_files(s->cache, plan);
        return false;
    }
    if (s->engine && cw_plan_is_due(s, plan, &s->owns))
        plan->todo |= CW_DO_OWNS;
    bool known = !s->engine || s->owns.state == CW_STEP_DONE || s->owns.state == CW_STEP_REFUSED;
    if (known && cw_plan_is_due(s, plan, &s->detach))
        plan->todo |= CW_DO_DETACH;
    plan->detach_keeps = s->b->keep || s->owns.state != CW_STEP_DONE;
    wait_to_go(plan, "Releasing", known ? s->detach.message : s->owns.message);
    return false;
}

/* Returns whether the bytes are released, or may stay. */
static bool release(const struct cw_sight *s, struct cw_decision *plan)
{
    if (s->fluid)
        return cw_decide_fluid_gone(s, plan);
    bool made = s->engine && s->place == CACHEW_ENGINE_READY && cw_sight_has_store(s);
    if (!made && !s->cache)
        return true;
    if (s->prepare.state == CW_STEP_RUNS) {
        wait_to_go(plan, "Releasing", "the engine is still at work");
        return false;
    }
    if (s->dispatcher_away || !s->dispatcher_known) {
        wait_to_go(plan, "DispatcherUnreachable",
                   "the dispatcher has to delete the files; if it is gone for good, the "
                   "annotation " CW_BACKEND_FORCE "=true lets this object go, and the files stay");
        return false;
    }
    if (!s->cache && s->attach_unsure) {
        wait_to_go(plan, "Releasing",
                   "the dispatcher was asked to attach the cache, and has to tell whether it has");
        return false;
    }
    if (!is_detached(s, plan))
        return false;
    if (!s->engine || s->b->keep || s->erase.state == CW_STEP_DONE ||
        s->erase.state == CW_STEP_REFUSED)
        return true;
    if (cw_plan_is_due(s, plan, &s->erase))
        plan->todo |= CW_DO_ERASE;
    wait_to_go(plan, "Releasing", s->erase.message);
    return false;
}

void cw_decide_go(const struct cw_sight *s, struct cw_decision *plan)
{
    if (!s->b->has_finalizer)
        return;
    plan->word = "Terminating";
    plan->released_job = cw_kube_text(&s->b->status, "releasedJob");
    if (!release(s, plan) && s->b->force) {
        plan->forced = true;
        plan->todo = 0;
    } else if (plan->conditions_n > 0) {
        return;
    }
    if (plan->conditions_n == 0)
        wait_to_go(plan, "Releasing", "");
    bool made_claim = !s->fluid; /* the claim of a Dataset is Fluid's */
    if (made_claim &&
        (s->claim == CW_CLAIM_PENDING || s->claim == CW_CLAIM_BOUND || s->claim == CW_CLAIM_LOST))
        plan->todo |= CW_DO_DELETE_CLAIM;
    else if (s->map == CW_MAP_RIGHT || s->map == CW_MAP_WRONG)
        plan->todo |= CW_DO_DELETE_MAP;
    else
        plan->todo |= CW_DO_DROP_FINALIZER;
}
