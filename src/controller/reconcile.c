/* SPDX-License-Identifier: Apache-2.0 */
/* From sight to decision to what is begun. One write to the object itself is under way at a time, since
 * the next one needs its version. */
#include "controller/reconcile.h"

#include <stdio.h>
#include <string.h>

#include "base/fault.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "controller/fluid.h"
#include "controller/prefetch.h"
#include "controller/status_patch.h"
#include "controller/watches.h"
#include "controller/writes_fluid.h"
#include "kube/field.h"

/* What changes the object. */
#define OWN_WRITES (CW_DO_ADD_FINALIZER | CW_DO_DROP_FINALIZER | CW_DO_STATUS | CW_DO_DELETE)

/* ---- sight ---- */

/* What was done counts until an answer of the dispatcher can tell of it; from then on that counts. */
static void forget_done(struct cw_item *item)
{
    uint64_t answers = cw_link_answers(item->c->link);
    if (item->attach.state == CW_STEP_DONE && answers >= item->attach_fresh)
        cw_step_set(&item->attach, CW_STEP_NONE);
    if (item->detach.state == CW_STEP_DONE && answers >= item->detach_fresh)
        cw_step_set(&item->detach, CW_STEP_NONE);
}

static struct cw_sight look(struct cw_item *item)
{
    struct cw_controller *c = item->c;
    cw_autofree char *name = cw_cachebackend_cache_name(item->b);
    struct cw_sight sight = {.now_ms = cw_clock_wall_ms(), .b = item->b};
    cw_item_place(item);
    forget_done(item);
    sight.engine = item->engine;
    sight.engine_why = item->engine_why;
    sight.place = item->place;
    sight.place_answer = &item->place_answer;
    sight.prepare = item->prepare;
    sight.owns = item->owns;
    sight.erase = item->erase;
    sight.attach = item->attach;
    sight.attach_unsure =
        item->attach.state == CW_STEP_RUNS || cw_link_answers(c->link) < item->attach_fresh;
    sight.detach = item->detach;
    sight.prefetch = item->prefetch;
    sight.prefetch_percent = item->prefetch_percent;
    sight.warming = item->warming;
    sight.dispatcher_known = cw_link_is_known(c->link);
    sight.dispatcher_away = cw_link_is_away(c->link);
    sight.dispatcher_why = cw_link_why(c->link);
    cw_link_find(c->link, name, item->place_answer.url, item->b->uid, &sight.cache, &sight.another);
    sight.map = cw_map_state_of(item, cw_watches_map(item));
    if (item->engine == &cw_engine_fluid) {
        cw_fluid_look(item, &item->fluid);
        sight.fluid = &item->fluid;
        sight.claim = cw_fluid_claim(item);
    } else {
        sight.claim = cw_claim_state_of(item, cw_watches_claim(item));
    }
    sight.job = cw_watches_job(item);
    if (item->b->mount_path) {
        sight.pods = item->pods;
        sight.pods_n = cw_watches_pod_users(item, item->pods, CW_POD_USERS_MAX);
    }
    return sight;
}

/* ---- engines ---- */

static void set_step(struct cw_step *step, int verdict, const struct cachew_engine_answer *answer)
{
    if (verdict == CACHEW_ENGINE_RETRY) {
        cw_step_retry(step, answer->reason, answer->message);
        return;
    }
    cw_step_set(step, verdict == CACHEW_ENGINE_READY ? CW_STEP_DONE : CW_STEP_REFUSED);
    snprintf(step->reason, sizeof(step->reason), "%s",
             answer->reason[0] != '\0' ? answer->reason : "Refused");
    snprintf(step->message, sizeof(step->message), "%s", answer->message);
}

static struct cw_step *step_of(struct cw_item *item, unsigned what)
{
    return what == CW_DO_PREPARE ? &item->prepare : what == CW_DO_OWNS ? &item->owns : &item->erase;
}

static void on_engine(void *arg, int verdict, const struct cachew_engine_answer *answer)
{
    struct cw_ref *ref = arg;
    unsigned what = ref->what;
    struct cw_item *item = cw_item_end(ref);
    if (!item)
        return;
    set_step(step_of(item, what), verdict, answer);
    cw_item_touch(item);
}

/* Where the cache lies: where the dispatcher has it, also if the spec names another place by now. */
static void run_engine(struct cw_item *item, const struct cw_sight *s, unsigned what)
{
    static const struct {
        unsigned what;
        enum cw_engine_step step;
    } steps[] = {{CW_DO_PREPARE, CW_ENGINE_PREPARE},
                 {CW_DO_OWNS, CW_ENGINE_OWNS},
                 {CW_DO_ERASE, CW_ENGINE_ERASE}};
    const struct cachew_engine_request request = {
        sizeof(request),
        item->b->name_space,
        item->b->name,
        item->b->uid,
        item->options,
        item->c->engines.root ? item->c->engines.root : "",
        s->cache ? s->cache->url : item->place_answer.url};
    for (size_t i = 0; i < CW_ARRAY_LEN(steps); i++) {
        if (steps[i].what != what)
            continue;
        struct cw_ref *ref = cw_item_begin(item, what);
        if (cw_engine_run(item->c->runs, item->engine, steps[i].step, &request, on_engine, ref)) {
            step_of(item, what)->state = CW_STEP_RUNS;
        } else {
            (void)cw_item_end(ref);
            cw_step_retry(step_of(item, what), "TooManyAtOnce", "other engines are at work");
        }
    }
}

/* ---- the dispatcher ---- */

static const char *reason_of(int code)
{
    return code == CW_E_EXISTS                                ? "PlaceTaken"
           : code == CW_E_DENIED                              ? "NotAllowed"
           : code == CW_E_LIMIT                               ? "TooManyCaches"
           : code == CW_E_UNAVAILABLE || code == CW_E_TIMEOUT ? "DispatcherUnreachable"
                                                              : "AttachFailed";
}

static void on_attached(void *arg, const struct cw_link_answer *answer)
{
    struct cw_item *item = cw_item_end(arg);
    if (!item)
        return;
    if (answer->code == CW_OK)
        cw_step_set(&item->attach, CW_STEP_DONE);
    else
        cw_step_retry(&item->attach, reason_of(answer->code), answer->msg);
    item->attach_fresh = cw_link_fresh(item->c->link);
    cw_link_ask(item->c->link);
    cw_item_touch(item);
}

static void on_detached(void *arg, const struct cw_link_answer *answer)
{
    struct cw_item *item = cw_item_end(arg);
    if (!item)
        return;
    if (answer->code == CW_OK || answer->code == CW_E_NOT_FOUND)
        cw_step_set(&item->detach, CW_STEP_DONE);
    else
        cw_step_retry(&item->detach, reason_of(answer->code), answer->msg);
    item->detach_fresh = cw_link_fresh(item->c->link);
    cw_link_ask(item->c->link);
    cw_item_touch(item);
}

static void ignore(void *arg, const struct cw_link_answer *answer)
{
    (void)arg;
    (void)answer;
}

/* The delete was refused: the cache is open for users again. */
static void reopen(struct cw_item *item)
{
    cw_autofree char *name = cw_cachebackend_cache_name(item->b);
    cw_link_close(item->c->link, name, 0, true, ignore, NULL);
}

static void on_closed(void *arg, const struct cw_link_answer *answer)
{
    struct cw_item *item = cw_item_end(arg);
    if (!item)
        return;
    cw_link_ask(item->c->link);
    if (answer->code != CW_OK || !answer->closed) {
        /* Somebody came at the last moment: the next answer says who. */
        item->write_after_ms = cw_clock_wall_ms() + 1000;
        return;
    }
    cw_log_info(CW_CONTROLLER, "cachebackend %s/%s: nobody has used it for long enough: it goes",
                item->b->name_space, item->b->name);
    cw_delete_backend(item, reopen);
}

/* ---- events ---- */

static void tell(struct cw_item *item, bool warning, const char *reason, const char *action,
                 const char *note)
{
    const struct cw_kube_event event = {
        .regarding = {CW_CACHEBACKEND_GROUP "/" CW_CACHEBACKEND_VERSION, "CacheBackend",
                      item->b->name_space, item->b->name, item->b->uid},
        .warning = warning,
        .reason = reason,
        .action = action,
        .note = note};
    cw_kube_events_tell(item->c->events, &event);
}

/* Once for each new word, and not for the word that another controller has told. */
static void tell_word(struct cw_item *item, const struct cw_decision *plan)
{
    bool known = strcmp(item->word, plan->word) == 0 ||
                 cw_str_eq(cw_kube_text(&item->b->status, "cacheStatus"), plan->word);
    bool bad = strcmp(plan->word, "CacheFailed") == 0 || strcmp(plan->word, "Degraded") == 0;
    snprintf(item->word, sizeof(item->word), "%s", plan->word);
    if (!known)
        tell(item, bad, plan->word, "Reconcile",
             plan->message && *plan->message ? plan->message : plan->word);
}

/* ---- what is begun ---- */

static void begin_calls(struct cw_item *item, const struct cw_sight *s,
                        const struct cw_decision *plan, unsigned todo)
{
    cw_autofree char *name = cw_cachebackend_cache_name(item->b);
    run_engine(item, s, todo & CW_DO_PREPARE);
    run_engine(item, s, todo & CW_DO_OWNS);
    run_engine(item, s, todo & CW_DO_ERASE);
    if (todo & CW_DO_ATTACH) {
        item->attach.state = CW_STEP_RUNS;
        cw_link_attach(item->c->link, item->b, item->place_answer.url, on_attached,
                       cw_item_begin(item, CW_DO_ATTACH));
    }
    if (todo & CW_DO_DETACH) {
        item->detach.state = CW_STEP_RUNS;
        cw_fault_point("controller.before_detach");
        cw_link_detach(item->c->link, name, plan->detach_keeps, on_detached,
                       cw_item_begin(item, CW_DO_DETACH));
    }
    if (todo & CW_DO_CLOSE)
        cw_link_close(item->c->link, name, s->cache->used_ms, false, on_closed,
                      cw_item_begin(item, CW_DO_CLOSE));
    if (todo & CW_DO_PREFETCH)
        cw_prefetch_begin(item);
}

static void begin_writes(struct cw_item *item, const struct cw_sight *s,
                         const struct cw_decision *plan, unsigned todo)
{
    if (todo & CW_DO_WRITE_MAP)
        cw_write_map(item, cw_watches_map(item));
    if (todo & CW_DO_MAKE_CLAIM)
        cw_make_claim(item);
    if (todo & CW_DO_DELETE_CLAIM)
        cw_delete_claim(item);
    cw_write_fluid(item, s->fluid, todo);
    if (todo & CW_DO_DELETE_MAP)
        cw_delete_map(item);
    if (todo & CW_DO_RELEASE_JOB) {
        cw_release_job(item, s->job);
        tell(item, false, "JobReleased", "Release", s->job->name);
    }
    if (todo & CW_DO_ADD_FINALIZER)
        cw_write_finalizer(item, true);
    if (todo & CW_DO_DELETE)
        cw_delete_backend(item, NULL);
    if (!(todo & CW_DO_DROP_FINALIZER))
        return;
    if (plan->forced)
        tell(item, true, "FilesLeft", "Release",
             "it goes by force; its files may be left in the store");
    cw_write_finalizer(item, false);
}

static void release_pods(struct cw_item *item)
{
    struct cw_pod_facts *pod;
    for (size_t i = 0; item->pods_failed && (pod = cw_watches_pod(item, true, &i));)
        pod->asked = false;
    item->pods_failed = false;
    for (size_t i = 0; item->ready && (pod = cw_watches_pod(item, false, &i));) {
        pod->asked = true;
        cw_release_pod(item, pod);
    }
}

/* Returns whether a status is on its way. */
static bool write_status(struct cw_item *item, const struct cw_sight *s, struct cw_decision *plan)
{
    CW_STR_AUTO body = {0};
    enum cw_status_change change = cw_status_patch(s, plan, &body);
    int64_t due_ms = item->figures_ms + CW_FIGURES_MS;
    if (change == CW_STATUS_SAME)
        return false;
    if (change == CW_STATUS_FIGURES && s->now_ms < due_ms) {
        if (plan->again_ms == 0 || due_ms < plan->again_ms)
            plan->again_ms = due_ms;
        return false;
    }
    cw_write_status(item, cw_str_text(&body), change == CW_STATUS_FIGURES);
    return true;
}

static bool is_ready(const struct cw_decision *plan)
{
    for (size_t i = 0; i < plan->conditions_n; i++)
        if (strcmp(plan->conditions[i].type, "Ready") == 0)
            return plan->conditions[i].status == CW_TRUE;
    return false;
}

static void note_ready(struct cw_item *item, bool ready)
{
    if (ready && !item->ready)
        cw_workloads_touch(item->c);
    item->ready = ready;
}

/* What was written a moment ago and is not seen yet is not written again. */
static unsigned unsettled(const struct cw_item *item, int64_t now_ms, int64_t *ret_again_ms)
{
    unsigned what = 0;
    *ret_again_ms = 0;
    if (now_ms < item->map_settles_ms) {
        what |= CW_DO_WRITE_MAP | CW_DO_DELETE_MAP;
        *ret_again_ms = item->map_settles_ms;
    }
    if (now_ms < item->claim_settles_ms) {
        what |= CW_DO_MAKE_CLAIM | CW_DO_DELETE_CLAIM;
        *ret_again_ms = item->claim_settles_ms;
    }
    if (now_ms < item->fluid_settles_ms) {
        what |= CW_DO_FLUID;
        *ret_again_ms = item->fluid_settles_ms;
    }
    if (now_ms < item->job_settles_ms) {
        what |= CW_DO_RELEASE_JOB;
        *ret_again_ms = item->job_settles_ms;
    }
    return what;
}

/* Whether it is to go because all are; it then goes like any that somebody deletes. */
static bool is_swept(struct cw_item *item)
{
    if (!item->c->options.release_all || item->b->deleting)
        return false;
    if (!(item->busy & OWN_WRITES) && cw_clock_wall_ms() >= item->write_after_ms)
        cw_delete_backend(item, NULL);
    item->again_ms = cw_clock_wall_ms();
    return true;
}

void cw_reconcile(struct cw_item *item)
{
    if (is_swept(item))
        return;
    int64_t settled_ms;
    struct cw_decision plan;
    struct cw_sight sight = look(item);
    item->again_ms = 0;
    if (item->b->deleting)
        cw_prefetch_cancel(item);
    cw_decide(&sight, &plan);
    bool waits = sight.now_ms < item->write_after_ms;
    unsigned todo = plan.todo & ~item->busy & ~unsettled(item, sight.now_ms, &settled_ms);
    if (plan.word[0] != '\0' || plan.todo)
        note_ready(item, is_ready(&plan));
    /* What is closed is deleted at once, which waits for no other write. */
    if (waits || (item->busy & OWN_WRITES))
        todo &= ~(unsigned)CW_DO_CLOSE;
    if (!(plan.todo & CW_DO_PREFETCH))
        cw_prefetch_forget(item);
    begin_calls(item, &sight, &plan, todo);
    if (waits) {
        item->again_ms = item->write_after_ms;
        return;
    }
    if (item->busy & OWN_WRITES)
        return; /* its answer comes back here */
    if (plan.word[0] != '\0')
        tell_word(item, &plan);
    /* The finalizer goes last, and after that there is nothing to write a status to. */
    bool last = todo & CW_DO_DROP_FINALIZER;
    if (!last && write_status(item, &sight, &plan))
        todo &= ~(unsigned)OWN_WRITES;
    begin_writes(item, &sight, &plan, todo);
    release_pods(item);
    item->again_ms = plan.again_ms            ? plan.again_ms
                     : item->map_taken_ms > 0 ? item->map_taken_ms
                                              : item->fluid_taken_ms;
    if (settled_ms > 0 && (plan.again_ms == 0 || settled_ms < plan.again_ms))
        item->again_ms = settled_ms;
}
