/* SPDX-License-Identifier: Apache-2.0 */
/* What is seen of a Deployment, and whether its number may be written. */
#include "dispatcher/kubernetes/cluster.h"

#include <inttypes.h>
#include <string.h>

#include "kube/managed_fields.h"

/* ---- what the watch keeps ---- */

/* The texts of struct cw_kube_deployment are the object's; these are copies. */
static void own_texts(struct cw_kube_deployment *d)
{
    d->failure_reason = cw_mem_strdup(d->failure_reason);
    d->failure_message = cw_mem_strdup(d->failure_message);
    d->version = cw_mem_strdup(d->version);
    d->uid = cw_mem_strdup(d->uid);
}

static void *digest(void *arg, struct cw_value *object)
{
    struct cw_seen_pool *seen = CW_NEW(struct cw_seen_pool);
    struct cw_err err = {0};
    CW_STR_AUTO selector = {0};
    const char *writer = cw_kube_who_wrote(object, "spec.replicas", NULL);

    (void)arg;
    if (cw_kube_deployment_read(object, &seen->d, &err) != CW_OK)
        seen->d = (struct cw_kube_deployment){
            .failure_reason = "", .failure_message = "", .version = "", .uid = ""};
    else if (cw_kube_deployment_selector(object, &selector, &err) == CW_OK)
        seen->selector = cw_str_take(&selector);
    own_texts(&seen->d);
    seen->writer = writer ? cw_mem_strdup(writer) : NULL;
    seen->error = err.code ? cw_mem_strdup(err.msg) : NULL;
    return seen;
}

static void dispose(void *arg, void *kept)
{
    struct cw_seen_pool *seen = kept;

    (void)arg;
    if (!seen)
        return;
    cw_mem_free((char *)(uintptr_t)seen->d.failure_reason);
    cw_mem_free((char *)(uintptr_t)seen->d.failure_message);
    cw_mem_free((char *)(uintptr_t)seen->d.version);
    cw_mem_free((char *)(uintptr_t)seen->d.uid);
    cw_mem_free(seen->selector);
    cw_mem_free(seen->writer);
    cw_mem_free(seen->error);
    cw_mem_free(seen);
}

/* ---- who writes the number ---- */

/* Whether the number that is seen is one that we have tried to write, and of which we heard no more:
 * an answer that was lost. */
static bool is_own_try(const struct cw_pool *pool, const struct cw_seen_pool *seen)
{
    return pool->tried && (uint64_t)seen->d.replicas == pool->number &&
           cw_str_eq(seen->writer, cw_kube_manager(pool->cluster->kube));
}

static const char *who(const struct cw_pool *pool, const struct cw_seen_pool *seen)
{
    if (!seen->writer)
        return "somebody";
    return cw_str_eq(seen->writer, cw_kube_manager(pool->cluster->kube))
               ? "another cachew-dispatcher"
               : seen->writer;
}

static void tell_foreign(struct cw_pool *pool, const struct cw_seen_pool *seen, uint64_t before)
{
    cw_autofree char *choice =
        cw_mem_printf("%s has %" PRId64 " pods", pool->settings.name, seen->d.replicas);
    cw_autofree char *text = cw_mem_printf(
        "%.100s set the number of %s from %" PRIu64 " to %" PRId64 "; it is to be %" PRIu64 ".",
        who(pool, seen), pool->settings.name, before, seen->d.replicas, pool->wanted);

    cw_pool_tell(pool, true, "ReplicasChanged", choice, text);
    if (!pool->owner.left_alone)
        return;
    cw_autofree char *left = cw_mem_printf(
        "%.100s has set the number of %s %d times in ten minutes: it is left alone until nobody "
        "has set it for ten minutes. See that one of the two stops: an autoscaler, a manifest "
        "with replicas, or --kube-deployment.",
        who(pool, seen), pool->settings.name, CW_OWNER_TIMES);
    cw_pool_tell(pool, true, "LeftAlone", "only tells how many there should be", left);
}

static void see_number(struct cw_pool *pool, const struct cw_seen_pool *seen, int64_t now)
{
    uint64_t number = (uint64_t)seen->d.replicas, before = pool->replicas;

    if (is_own_try(pool, seen)) {
        cw_replicas_owner_wrote(&pool->owner, number, now);
        pool->tried = false;
        pool->replicas = number;
        if (!pool->call) /* The answer was lost. */
            cw_pool_tell_scaled(pool);
    } else if (cw_replicas_owner_see(&pool->owner, number, false, now)) {
        tell_foreign(pool, seen, before);
    }
    pool->replicas = number;
    cw_pool_look_at_hold(pool, now); /* Whoever reads the event finds that it is held. */
}

/* ---- events of the watch ---- */

static bool is_older(const struct cw_pool *pool, const struct cw_seen_pool *seen)
{
    return pool->version && cw_version_is_older(seen->d.version, pool->version);
}

/* What a list says that began after our last answer, and what follows it, is no older than that: if its
 * version is, the server itself has gone back, as one does that is restored from a backup. */
static bool has_gone_back(const struct cw_pool *pool)
{
    return cw_kube_watch_counts(pool->watch).lists > pool->answered_lists;
}

/* The number is taken as it is, as at a start: nobody else has written it. */
static void go_back(struct cw_pool *pool)
{
    cw_log_warn(CW_LOG_MOD,
                "Deployment %s has an older version than before: the API server was restored to an "
                "earlier state",
                pool->settings.name);
    cw_victims_spare(pool);
    pool->owner = (struct cw_replicas_owner){0};
    pool->tried = false;
    pool->surplus_ms = 0;
}

static void take_seen(struct cw_pool *pool, const struct cw_seen_pool *seen)
{
    const int64_t now = cw_clock_ms();
    bool is_new = !pool->seen;

    pool->seen = seen;
    pool->told_missing = false;
    if (seen->error)
        return;
    if (seen->d.failure_reason[0] == '\0')
        pool->failure_ms = 0;
    else if (pool->failure_ms == 0)
        pool->failure_ms = now;
    if (!is_new && is_older(pool, seen)) {
        if (!has_gone_back(pool))
            return; /* An event from before our own last write. */
        go_back(pool);
    }
    cw_mem_free(pool->version);
    pool->version = cw_mem_strdup(seen->d.version);
    see_number(pool, seen, now);
    cw_pool_watch_pods(pool);
}

static void forget_seen(struct cw_pool *pool)
{
    pool->seen = NULL;
    cw_mem_free(cw_steal(&pool->version));
    pool->owner = (struct cw_replicas_owner){0};
    pool->tried = pool->lowering = false;
    pool->replicas = 0;
    pool->failure_ms = 0;
}

static void on_changed(void *arg, enum cw_kube_change change, const struct cw_kube_object *object,
                       void *before)
{
    struct cw_pool *pool = arg;

    (void)before;
    pool->cluster->failed_ms = 0;
    if (change == CW_KUBE_DELETED)
        forget_seen(pool);
    else
        take_seen(pool, object->kept);
}

static void tell_unusable(struct cw_pool *pool)
{
    if (!pool->seen && !pool->told_missing)
        cw_pool_tell(pool, true, "Missing", "starts nothing", "there is no such Deployment");
    pool->told_missing = !pool->seen;
    if (pool->seen && pool->seen->error && !pool->told_unusable)
        cw_pool_tell(pool, true, "Unusable", "starts nothing", pool->seen->error);
    pool->told_unusable = pool->seen && pool->seen->error;
}

static void on_listed(void *arg)
{
    struct cw_pool *pool = arg;

    pool->listed = true;
    pool->cluster->failed_ms = 0;
    tell_unusable(pool);
}

static void on_failed(void *arg, const struct cw_err *err, int64_t retry_ms)
{
    struct cw_pool *pool = arg;

    (void)retry_ms;
    if (!cw_cluster_is_away(pool->cluster))
        cw_log_warn(CW_LOG_MOD, "watching Deployment %s fails, which is tried again: %s",
                    pool->settings.name, err->msg);
    pool->cluster->failed_ms = cw_clock_ms();
}

void cw_pool_open(struct cw_pool *pool)
{
    CW_STR_AUTO fields = {0};
    const struct cw_kube_watch_events events = {
        .objects = {.digest = digest, .dispose = dispose, .changed = on_changed, .arg = pool},
        .listed = on_listed,
        .failed = on_failed,
        .arg = pool};

    cw_str_addf(&fields, "metadata.name=%s", pool->settings.name);
    const struct cw_kube_watch_options options = {
        .target = {.kind = &cw_kind_deployments,
                   .name_space = cw_kube_namespace(pool->cluster->kube)},
        .fields = cw_str_text(&fields)};
    pool->watch = cw_kube_watch_new(pool->cluster->kube, &options, &events);
}

void cw_pool_close(struct cw_pool *pool)
{
    cw_kube_call_cancel(cw_steal(&pool->call));
    cw_pool_unwatch_pods(pool);
    cw_kube_watch_free(cw_steal(&pool->watch));
    cw_mem_free(pool->version);
    cw_mem_free(pool->trouble);
    cw_mem_free(pool->told_reason);
}

/* ---- hands off ---- */

static enum cw_hold find_hold(struct cw_pool *pool, int64_t now)
{
    int64_t at_ms;

    (void)cw_replicas_owner_may_write(&pool->owner, now, &at_ms); /* It also ends in peace. */
    if (pool->seen && pool->seen->d.hands_off)
        return CW_HOLD_ANNOTATION;
    if (pool->cluster->held)
        return CW_HOLD_FLEET;
    return pool->owner.left_alone ? CW_HOLD_OTHERS : CW_HOLD_NOT;
}

static void tell_hold(struct cw_pool *pool, enum cw_hold before)
{
    switch (pool->hold) {
    case CW_HOLD_ANNOTATION:
        cw_pool_tell(pool, false, "HandsOff", "writes nothing",
                     "Its annotation " CW_KUBE_HANDS_OFF " says so.");
        break;
    case CW_HOLD_FLEET:
        cw_pool_tell(pool, false, "HandsOff", "writes nothing",
                     "An operator said so (cachew scale --fleet hold).");
        break;
    case CW_HOLD_NOT:
        cw_pool_tell(pool, false, "HandsOn", "writes its number again",
                     before == CW_HOLD_OTHERS ? "Nobody has set it for ten minutes."
                                              : "Nobody forbids it any more.");
        break;
    case CW_HOLD_OTHERS: /* That was told with the name of who it is. */
    default:
        break;
    }
}

void cw_pool_look_at_hold(struct cw_pool *pool, int64_t now)
{
    enum cw_hold before = pool->hold;

    pool->hold = find_hold(pool, now);
    if (pool->hold == before)
        return;
    if (pool->hold != CW_HOLD_NOT)
        cw_victims_spare(pool);
    tell_hold(pool, before);
}
