/* SPDX-License-Identifier: Apache-2.0 */
#include "run.h"

#include "base/mem.h"
#include "plan/plan_nodes.h"
#include "support/checked.h"
#include <string.h>

struct cw_plan *plan_of(const char *nodes, uint64_t seed)
{
    struct cw_err err = {0};
    struct cw_checked *checked = cw_test_must_check(nodes);
    struct cw_plan *plan = NULL;
    if (cw_plan_new(checked, seed, NULL, &plan, &err))
        fail_msg("%s: %s", nodes, err.msg);
    cw_checked_unref(checked);
    return plan;
}

size_t node_of(const struct cw_plan *plan, const char *name)
{
    for (size_t i = 0; i < plan->n; i++)
        if (cw_str_eq(plan->nodes[i].node->name, name))
            return i;
    fail_msg("there is no node %s", name);
    return 0;
}

void on_done(struct cw_exec_item *item, struct cw_batch *batch, const struct cw_err *err)
{
    struct job *job = item->arg;
    struct waiter *waiter = job->waiter;
    job->batch = batch;
    job->err = *err;
    cw_mutex_lock(&waiter->mutex);
    waiter->left--;
    cw_cond_signal(&waiter->cond);
    cw_mutex_unlock(&waiter->mutex);
}

struct job *run_all(struct cw_exec *exec, struct cw_plan *plan, uint64_t epoch,
                    enum cw_bad_elements bad, size_t n)
{
    struct job *jobs = CW_NEW_ARRAY(struct job, n + 1);
    struct waiter waiter = {.left = n};
    cw_mutex_init(&waiter.mutex);
    cw_cond_init(&waiter.cond);
    for (size_t i = 0; i < n; i++) {
        jobs[i].waiter = &waiter;
        jobs[i].item = (struct cw_exec_item){
            .plan = plan, .epoch = epoch, .item = i, .bad = bad, .done = on_done, .arg = &jobs[i]};
        cw_exec_submit(exec, &jobs[i].item);
    }
    cw_mutex_lock(&waiter.mutex);
    while (waiter.left)
        cw_cond_wait(&waiter.cond, &waiter.mutex);
    cw_mutex_unlock(&waiter.mutex);
    cw_cond_fini(&waiter.cond);
    cw_mutex_fini(&waiter.mutex);
    return jobs;
}

void free_jobs(struct job *jobs, size_t n)
{
    for (size_t i = 0; i < n; i++)
        cw_batch_unref(jobs[i].batch);
    cw_mem_free(jobs);
}

static void add_hash(struct cw_hasher *hasher, const struct cw_batch *batch)
{
    cw_hasher_add_u64(hasher, batch->elements);
    cw_hasher_add_u64(hasher, batch->skipped);
    cw_batch_hash(batch, hasher);
}

struct cw_hash hash_pool(struct cw_plan *plan, size_t threads, uint64_t epoch,
                         enum cw_bad_elements bad, uint64_t *ret_rows)
{
    size_t n = (size_t)cw_plan_info(plan)->items;
    struct cw_exec *exec = cw_exec_new(threads);
    struct job *jobs = run_all(exec, plan, epoch, bad, n);
    struct cw_hasher *hasher = cw_hasher_new();
    *ret_rows = 0;
    for (size_t i = 0; i < n; i++) {
        if (!jobs[i].batch)
            fail_msg("item %zu: %s", i, jobs[i].err.msg);
        add_hash(hasher, jobs[i].batch);
        *ret_rows += jobs[i].batch->elements;
    }
    free_jobs(jobs, n);
    cw_exec_free(exec);
    struct cw_hash hash = cw_hasher_get(hasher);
    cw_hasher_free(hasher);
    return hash;
}

struct cw_hash hash_here(struct cw_plan *plan, uint64_t epoch, enum cw_bad_elements bad)
{
    struct cw_hasher *hasher = cw_hasher_new();
    for (uint64_t i = 0; i < cw_plan_info(plan)->items; i++) {
        struct cw_batch *batch = NULL;
        struct cw_err err = {0};
        if (cw_exec_run(plan, epoch, i, bad, &batch, &err))
            fail_msg("item %d: %s", (int)i, err.msg);
        add_hash(hasher, batch);
        cw_batch_unref(batch);
    }
    struct cw_hash hash = cw_hasher_get(hasher);
    cw_hasher_free(hasher);
    return hash;
}

int64_t *rows_of(struct cw_plan *plan, uint64_t epoch, size_t *ret_n)
{
    int64_t *rows = NULL;
    size_t n = 0;
    for (uint64_t i = 0; i < cw_plan_info(plan)->items; i++) {
        struct cw_batch *batch = NULL;
        struct cw_err err = {0};
        if (cw_exec_run(plan, epoch, i, CW_BAD_FAIL, &batch, &err))
            fail_msg("%s", err.msg);
        size_t more = (size_t)cw_field_count(&batch->tensors[0].field);
        rows = cw_mem_grow(rows, n + more + 1, sizeof(*rows));
        if (more)
            memcpy(rows + n, cw_batch_data(batch, 0), more * sizeof(*rows));
        n += more;
        cw_batch_unref(batch);
    }
    *ret_n = n;
    return rows;
}
