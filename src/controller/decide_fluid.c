/* SPDX-License-Identifier: Apache-2.0 */
/* What is to be done about the Dataset and the runtime of a CacheBackend with the engine fluid. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "controller/decide_parts.h"

static bool is_own(const struct cw_sight *s, const struct cw_fluid_object *object)
{
    return object && strcmp(object->owner, s->b->uid) == 0;
}

/* Asks for an object that is not there, or was made from another spec. */
static void want(const struct cw_sight *s, struct cw_decision *plan,
                 const struct cw_fluid_object *object, const char *spec, unsigned todo)
{
    bool own = is_own(s, object) && !object->deleting;
    if (!object || (own && strcmp(object->spec, spec) != 0))
        plan->todo |= todo;
}

static bool is_anothers(const struct cw_sight *s, const struct cw_fluid_object *object)
{
    return object && !is_own(s, object) && !object->deleting;
}

/* While Fluid changes a Dataset that is bound, it can be read. */
static bool is_bound(const char *phase)
{
    return strcmp(phase, "Bound") == 0 || strcmp(phase, "Updating") == 0 ||
           strcmp(phase, "DataMigrating") == 0;
}

static bool say(struct cw_decision *plan, const char *reason, const char *message)
{
    cw_plan_add(plan, "EngineReady", false, reason, message);
    return false;
}

static bool say_phase(const struct cw_fluid_sight *f, struct cw_decision *plan)
{
    const char *phase = f->dataset->phase;
    char text[500];
    if (is_bound(phase)) {
        cw_plan_add(plan, "EngineReady", true, "DatasetBound", "");
        return true;
    }
    snprintf(text, sizeof(text), "Fluid says of the Dataset: %.60s; of its AlluxioRuntime: %.300s",
             *phase ? phase : "nothing yet", f->runtime->phases);
    return say(plan, strcmp(phase, "Failed") == 0 ? "DatasetFailed" : "DatasetNotBound", text);
}

bool cw_decide_fluid(const struct cw_sight *s, struct cw_decision *plan)
{
    const struct cw_fluid_sight *f = s->fluid;
    if (f->why[0] != '\0')
        return say(plan, f->reason, f->why);
    if (is_anothers(s, f->dataset) || is_anothers(s, f->runtime) || f->taken)
        return say(plan, "DatasetTaken",
                   "there is a Dataset or an AlluxioRuntime of this name that is not this "
                   "CacheBackend's");
    want(s, plan, f->dataset, f->dataset_spec, CW_DO_WRITE_DATASET);
    want(s, plan, f->runtime, f->runtime_spec, CW_DO_WRITE_RUNTIME);
    if ((f->dataset && f->dataset->deleting) || (f->runtime && f->runtime->deleting))
        return say(plan, "DatasetLeaving", "the Dataset, or its AlluxioRuntime, is being deleted");
    if (plan->todo && f->refused[0] != '\0')
        return say(plan, "DatasetRefused", f->refused);
    if (!f->dataset || !f->runtime)
        return say(plan, "Creating", "the Dataset and its AlluxioRuntime are being made");
    return say_phase(f, plan);
}

/* Fluid reads on its own what jobs read, or with a DataLoad, which is another's to make. */
bool cw_decide_fluid_cached(const struct cw_sight *s, struct cw_decision *plan)
{
    char text[160];
    int64_t percent = cw_fluid_percent(s->fluid->dataset);
    if (percent >= 100) {
        cw_plan_add(plan, "Prefetched", true, "Complete", "");
        return true;
    }
    snprintf(text, sizeof(text),
             "a DataLoad of the Dataset, which somebody makes, warms it; the job may begin at "
             "%" PRId64 " %%",
             s->b->ready_percent);
    cw_plan_add(plan, "Prefetched", false, "PrefetchRunning", text);
    return percent >= s->b->ready_percent || s->b->ready_percent == 0;
}

static bool wait_for(struct cw_decision *plan, const char *reason, const char *message)
{
    cw_plan_add(plan, "Ready", false, reason, message);
    return false;
}

/* Fluid lets a Dataset go when no pod uses it, and takes its runtime down after that. What cannot be seen
 * is not waited for: the objects are owned by this one, so they go after it. */
bool cw_decide_fluid_gone(const struct cw_sight *s, struct cw_decision *plan)
{
    const struct cw_fluid_sight *f = s->fluid;
    if (f->why[0] != '\0')
        return true;
    if (is_own(s, f->dataset)) {
        plan->todo |= f->dataset->deleting ? 0 : CW_DO_DELETE_DATASET;
        return wait_for(plan, "DeletingDataset",
                        "Fluid deletes the Dataset as soon as no pod uses it");
    }
    if (is_own(s, f->runtime)) {
        plan->todo |= f->runtime->deleting ? 0 : CW_DO_DELETE_RUNTIME;
        return wait_for(plan, "DeletingRuntime", "Fluid takes the AlluxioRuntime down");
    }
    return true;
}
