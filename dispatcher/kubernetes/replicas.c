/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a Deployment's number: by a PATCH of its scale with the resourceVersion that was read. If
 * that is not the present one any more, it is read again. One write of a Deployment is on its way at a
 * time. */
#include "dispatcher/kubernetes/cluster.h"

#include <inttypes.h>
#include <string.h>

#define PAUSE_MIN_MS 1000
#define PAUSE_MAX_MS 30000
#define CONFLICTS_MAX 5

static struct cw_kube_target scale_of(const struct cw_pool *pool)
{
    return (struct cw_kube_target){.kind = &cw_kind_deployments,
                                   .name_space = cw_kube_namespace(pool->cluster->kube),
                                   .name = pool->settings.name,
                                   .subresource = "scale"};
}

static void on_written(void *arg, struct cw_kube_answer *answer);

static void write_number(struct cw_pool *pool, uint64_t number)
{
    CW_STR_AUTO body = {0};
    const struct cw_kube_target target = scale_of(pool);

    cw_kube_scale_patch((int64_t)number, pool->version, &body);
    pool->from = pool->replicas;
    pool->number = number;
    pool->tried = true;
    pool->call = cw_kube_patch(pool->cluster->kube, &target, cw_str_text(&body), on_written, pool);
}

static void wait_longer(struct cw_pool *pool, int64_t at_least_ms)
{
    pool->pause_ms = CW_MIN(CW_MAX(2 * pool->pause_ms, PAUSE_MIN_MS), PAUSE_MAX_MS);
    pool->retry_ms = cw_clock_ms() + CW_MAX(pool->pause_ms, at_least_ms);
}

/* Whether it is told again: each request has another Audit-Id. */
static bool is_news(const struct cw_pool *pool, const char *msg)
{
    const char *id = strstr(msg, " [Audit-Id");
    size_t n = id ? (size_t)(id - msg) : strlen(msg);

    return !pool->trouble || strncmp(pool->trouble, msg, n) != 0;
}

/* The number could not be written. Who was to go stays, and is chosen anew. */
static void fail(struct cw_pool *pool, const struct cw_err *err, int64_t retry_after_ms)
{
    wait_longer(pool, retry_after_ms);
    pool->lowering = false;
    cw_victims_spare(pool);
    if (is_news(pool, err->msg))
        cw_log_error(CW_LOG_MOD, "the number of Deployment %s cannot be written, tried again: %s",
                     pool->settings.name, err->msg);
    cw_mem_free(pool->trouble);
    pool->trouble = cw_mem_strdup(err->msg);
}

static void succeed(struct cw_pool *pool, const char *version)
{
    cw_pool_take_version(pool, version);
    cw_mem_free(cw_steal(&pool->trouble));
    pool->replicas = pool->number;
    pool->tried = false;
    pool->conflicts = 0;
    pool->pause_ms = pool->retry_ms = pool->surplus_ms = 0;
    cw_replicas_owner_wrote(&pool->owner, pool->number, cw_clock_ms());
    if (pool->lowering)
        cw_victims_condemn(pool);
    pool->lowering = false;
    cw_pool_tell_scaled(pool);
}

/* Reads a Scale, whose number must be `number`. */
static int read_scale(const struct cw_kube_answer *answer, uint64_t number,
                      const char **ret_version, struct cw_err *err)
{
    int64_t is;
    int rc = cw_kube_scale_read(answer->object, &is, ret_version, err);

    if (rc == CW_OK && (uint64_t)is != number)
        rc = cw_err_set(err, CW_E_CORRUPT,
                        "the Scale says %" PRId64 " replicas, and should say %" PRIu64, is, number);
    return rc;
}

/* The Scale is read after a conflict: if the number is what it was, only something else of the
 * Deployment has changed, and it is written with the new version. If not, the watch will say so. */
static void on_read(void *arg, struct cw_kube_answer *answer)
{
    struct cw_pool *pool = arg;
    struct cw_err err = {0};
    const char *version;

    pool->call = NULL;
    if (answer->code != CW_OK) {
        fail(pool, answer->err, answer->status.retry_after_ms);
    } else if (read_scale(answer, pool->replicas, &version, &err) != CW_OK) {
        fail(pool, &err, 0);
    } else if (!cw_pool_may_write(pool)) {
        cw_victims_spare(pool);
    } else {
        if (!cw_version_is_older(version, pool->version))
            cw_pool_take_version(pool, version);
        write_number(pool, pool->number);
    }
}

static void on_conflict(struct cw_pool *pool, const struct cw_kube_answer *answer)
{
    const struct cw_kube_target target = scale_of(pool);

    pool->tried = false;
    if (++pool->conflicts > CONFLICTS_MAX)
        fail(pool, answer->err, answer->status.retry_after_ms);
    else
        pool->call = cw_kube_get(pool->cluster->kube, &target, on_read, pool);
}

static void on_written(void *arg, struct cw_kube_answer *answer)
{
    struct cw_pool *pool = arg;
    struct cw_err err = {0};
    const char *version;

    pool->call = NULL;
    if (answer->status.reason == CW_KUBE_Conflict)
        on_conflict(pool, answer);
    else if (answer->code != CW_OK)
        fail(pool, answer->err, answer->status.retry_after_ms);
    else if (read_scale(answer, pool->number, &version, &err) != CW_OK)
        fail(pool, &err, 0);
    else
        succeed(pool, version);
}

/* The victims are annotated. */
static void on_marked(struct cw_pool *pool)
{
    if (cw_pool_may_write(pool))
        write_number(pool, pool->number);
    else
        cw_victims_spare(pool);
}

/* A surplus lasts before anybody goes; after a start, until jobs had the time to come back. */
static bool may_lower(struct cw_pool *pool, int64_t now)
{
    const struct cw_options *o = &pool->cluster->d->options;

    if (pool->surplus_ms == 0)
        pool->surplus_ms = CW_MAX(now, pool->cluster->d->started_ms + o->grace_ms);
    return pool->pods_listed && now - pool->surplus_ms >= o->scale_in_ms;
}

void cw_pool_aim(struct cw_pool *pool, int64_t now)
{
    int64_t at_ms;

    if (pool->wanted >= pool->replicas) {
        pool->surplus_ms = 0;
        if (pool->lowering && !pool->call)
            cw_victims_spare(pool);
    }
    if (pool->call || pool->lowering || pool->wanted == pool->replicas ||
        !cw_pool_may_write(pool) || now < pool->retry_ms ||
        !cw_replicas_owner_may_write(&pool->owner, now, &at_ms))
        return;
    if (pool->wanted > pool->replicas)
        write_number(pool, pool->wanted);
    else if (may_lower(pool, now))
        cw_victims_choose(pool, pool->wanted, now, on_marked);
}
