/* SPDX-License-Identifier: Apache-2.0 */
/* Which pods go when a number goes down. Those are chosen first that no job uses, then those with the
 * least work, then the youngest. They get no more leases, their pods an annotation for which the
 * ReplicaSet takes them before others, and then the number is written. The SIGTERM of the deletion
 * drains them: a worker that was told to leave inside its pod would be started again there. */
#include "dispatcher/kubernetes/cluster.h"

#include <stdlib.h>
#include <string.h>

#define RETRY_MS 30000
#define NOT_ALLOWED_MS 600000

struct candidate {
    struct cw_pod *pod;
    bool is_up, is_used; /* not ready: the ReplicaSet takes it first */
    uint64_t todo;
    int64_t since_ms;
};

static struct candidate look_at(struct cw_pod *pod)
{
    struct candidate it = {.pod = pod, .is_up = pod->seen->state == CW_KUBE_POD_READY};

    if (!pod->worker)
        return it;
    it.since_ms = pod->worker->since_ms;
    for (const struct cw_share *share = pod->worker->shares; share; share = share->next_of_worker) {
        it.is_used = it.is_used || share->assigned || cw_share_is_used(share);
        it.todo += share->todo_n;
    }
    return it;
}

static int in_order(const void *a, const void *b)
{
    const struct candidate *x = a, *y = b;

    if (x->is_up != y->is_up)
        return x->is_up - y->is_up;
    if (x->is_used != y->is_used)
        return x->is_used - y->is_used;
    if (x->todo != y->todo)
        return x->todo < y->todo ? -1 : 1;
    if (x->since_ms != y->since_ms)
        return x->since_ms > y->since_ms ? -1 : 1;
    return strcmp(x->pod->seen->name, y->pod->seen->name);
}

/* Lists the pool's pods that do not go, those first that should. The caller frees the list. */
static struct candidate *list_candidates(const struct cw_pool *pool, size_t *ret_n)
{
    struct candidate *list = CW_NEW_ARRAY(struct candidate, pool->cluster->pods.n + 1);
    struct cw_pod *pod;
    size_t n = 0;

    for (size_t i = 0; (pod = cw_cluster_next_pod(pool->cluster, &i));)
        if (pod->pool == pool && !cw_pod_goes(pod))
            list[n++] = look_at(pod);
    qsort(list, n, sizeof(*list), in_order);
    *ret_n = n;
    return list;
}

static void set_victim(struct cw_pod *pod, enum cw_victim victim)
{
    pod->victim = victim;
    for (struct cw_worker *w = pod->pool->cluster->d->workers; w; w = w->next)
        if (cw_cluster_pod_of(pod->pool->cluster, w) == pod)
            cw_worker_set_leaving(w, victim != CW_VICTIM_NOT || cw_pod_goes(pod));
}

/* ---- the annotation ---- */

static void note_refusal(struct cw_cluster *cluster, const struct cw_kube_answer *answer)
{
    if (answer->status.reason != CW_KUBE_Forbidden)
        return;
    if (cluster->may_not_mark_ms == 0)
        cw_log_warn(CW_LOG_MOD,
                    "pods cannot be annotated, so others may go than those that were chosen: %s",
                    answer->err->msg);
    cluster->may_not_mark_ms = cw_clock_ms() + NOT_ALLOWED_MS;
}

static void lower_when_all_are_marked(struct cw_pool *pool)
{
    struct cw_pod *pod;

    if (!pool->lowering || pool->call)
        return;
    for (size_t i = 0; (pod = cw_cluster_next_pod(pool->cluster, &i));)
        if (pod->pool == pool && pod->call && pod->victim == CW_VICTIM_CHOSEN)
            return;
    pool->marked(pool);
}

static void on_marked(void *arg, struct cw_kube_answer *answer)
{
    struct cw_pod *pod = arg;

    pod->call = NULL;
    if (answer->code != CW_OK) {
        pod->retry_ms = cw_clock_ms() + RETRY_MS;
        note_refusal(pod->pool->cluster, answer);
    }
    lower_when_all_are_marked(pod->pool);
}

static void annotate(struct cw_pod *pod, bool on)
{
    const struct cw_kube_target target = {.kind = &cw_kind_pods,
                                          .name_space = cw_kube_namespace(pod->pool->cluster->kube),
                                          .name = pod->seen->name};
    /* With the uid the patch is of this pod or of none. */
    cw_autofree char *body =
        cw_mem_printf("{\"metadata\":{\"uid\":\"%s\",\"annotations\":{\"%s\":%s}}}", pod->seen->uid,
                      CW_KUBE_DELETION_COST, on ? "\"" CW_POD_COST "\"" : "null");

    if (pod->call)
        return;
    if (!on) /* Until the watch shows that it is gone, it is not written again. */
        pod->retry_ms = cw_clock_ms() + RETRY_MS;
    pod->call = cw_kube_patch(pod->pool->cluster->kube, &target, body, on_marked, pod);
}

static bool may_mark(const struct cw_cluster *cluster, int64_t now)
{
    return cluster->may_not_mark_ms <= now;
}

/* ---- choosing ---- */

void cw_victims_choose(struct cw_pool *pool, uint64_t number, int64_t now, cw_marked_fn *fn)
{
    size_t n, marked = 0;
    cw_autofree struct candidate *list = list_candidates(pool, &n);
    uint64_t over = pool->replicas - number;
    bool may = may_mark(pool->cluster, now);

    /* A ReplicaSet that has not made all its pods makes fewer first. */
    over -= CW_MIN(over, pool->replicas - CW_MIN(pool->replicas, (uint64_t)n));
    pool->lowering = true;
    pool->number = number;
    pool->marked = fn;
    for (size_t i = 0; i < n && over > 0; i++, over--) {
        if (list[i].is_up && marked == CW_VICTIMS_MAX) {
            pool->number += over; /* The others go next time. */
            break;
        }
        set_victim(list[i].pod, CW_VICTIM_CHOSEN);
        marked += list[i].is_up;
        if (list[i].is_up && may && !list[i].pod->seen->has_cost)
            annotate(list[i].pod, true);
    }
    lower_when_all_are_marked(pool);
}

void cw_victims_spare(struct cw_pool *pool)
{
    struct cw_pod *pod;

    pool->lowering = false;
    for (size_t i = 0; (pod = cw_cluster_next_pod(pool->cluster, &i));)
        if (pod->pool == pool && pod->victim == CW_VICTIM_CHOSEN)
            set_victim(pod, CW_VICTIM_NOT);
}

void cw_victims_condemn(struct cw_pool *pool)
{
    struct cw_pod *pod;

    for (size_t i = 0; (pod = cw_cluster_next_pod(pool->cluster, &i));)
        if (pod->pool == pool && pod->victim == CW_VICTIM_CHOSEN)
            pod->victim = CW_VICTIM_CONDEMNED;
}

/* ---- afterwards ---- */

static uint64_t staying(const struct cw_pool *pool)
{
    struct cw_pod *pod;
    uint64_t n = 0;

    for (size_t i = 0; (pod = cw_cluster_next_pod(pool->cluster, &i));)
        n += pod->pool == pool && !cw_pod_goes(pod);
    return n;
}

void cw_victims_settle(struct cw_pool *pool, int64_t now)
{
    struct cw_pod *pod;

    bool may = cw_pool_may_write(pool) && may_mark(pool->cluster, now);

    if (!pool->seen || !pool->pods_listed || pool->call || pool->lowering ||
        staying(pool) > pool->replicas)
        return;
    for (size_t i = 0; (pod = cw_cluster_next_pod(pool->cluster, &i));) {
        if (pod->pool != pool || cw_pod_goes(pod))
            continue;
        if (pod->victim == CW_VICTIM_CONDEMNED)
            set_victim(pod, CW_VICTIM_NOT);
        if (pod->seen->has_cost && now >= pod->retry_ms && may)
            annotate(pod, false);
    }
}
