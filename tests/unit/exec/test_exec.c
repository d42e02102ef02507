/* SPDX-License-Identifier: Apache-2.0 */
/* Items computed by the pool and by the calling thread: the same bytes, for every kind of pipeline. */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>
#include "base/mem.h"
#include "base/thread.h"
#include "exec/exec.h"

static struct cw_plan *plan_of(const char *nodes, uint64_t seed)
{
    struct cw_err err = {0};
    struct cw_graph *graph = NULL;
    struct cw_checked *checked = NULL;
    struct cw_plan *plan = NULL;
    cw_autofree char *text = cw_mem_printf("{\"pipeline\": [%s]}", nodes);
    if (cw_graph_parse(text, strlen(text), "", &graph, &err) || cw_graph_check(graph, &checked, &err) || cw_plan_new(checked, seed, NULL, &plan, &err))
        fail_msg("%s: %s", nodes, err.msg);
    cw_checked_unref(checked);
    cw_graph_unref(graph);
    return plan;
}

struct job {
    struct cw_exec_item item;
    struct cw_batch *batch;
    struct cw_err err;
    struct waiter *waiter;
};
struct waiter {
    struct cw_mutex mutex;
    struct cw_cond cond;
    size_t left;
};

static void on_done(struct cw_exec_item *item, struct cw_batch *batch, const struct cw_err *err)
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

/* Submits items 0..n-1 and waits for them. */
static struct job *run_all(struct cw_exec *exec, struct cw_plan *plan, uint64_t epoch, enum cw_bad_elements bad, size_t n)
{
    struct job *jobs = CW_NEW_ARRAY(struct job, n + 1);
    struct waiter waiter = {.left = n};
    cw_mutex_init(&waiter.mutex);
    cw_cond_init(&waiter.cond);
    for (size_t i = 0; i < n; i++) {
        jobs[i].waiter = &waiter;
        jobs[i].item = (struct cw_exec_item){.plan = plan, .epoch = epoch, .item = i, .bad = bad, .done = on_done, .arg = &jobs[i]};
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

static void free_jobs(struct job *jobs, size_t n)
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

static struct cw_hash hash_pool(struct cw_plan *plan, size_t threads, uint64_t epoch, enum cw_bad_elements bad, uint64_t *ret_rows)
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

static struct cw_hash hash_here(struct cw_plan *plan, uint64_t epoch, enum cw_bad_elements bad)
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

static const struct {
    const char *nodes;
    uint64_t items, rows;
} cases[] = {
    {"{\"op\":\"range\",\"stop\":1000},{\"op\":\"batch\",\"size\":64}", 16, 1000},
    {"{\"op\":\"range\",\"stop\":1000},{\"op\":\"batch\",\"size\":64,\"drop_remainder\":true}", 15, 960},
    {"{\"op\":\"range\",\"stop\":1000},{\"op\":\"shuffle\"},{\"op\":\"batch\",\"size\":7}", 143, 1000},
    {"{\"op\":\"range\",\"stop\":100},{\"op\":\"shuffle\"},{\"op\":\"repeat\",\"count\":3},{\"op\":\"skip\",\"count\":5},{\"op\":\"take\",\"count\":250},{\"op\":\"batch\",\"size\":16}", 16, 250},
    {"{\"op\":\"range\",\"stop\":100},{\"op\":\"shard\",\"num_shards\":3,\"index\":1},{\"op\":\"batch\",\"size\":10}", 4, 33},
    {"{\"op\":\"range\",\"stop\":0},{\"op\":\"batch\",\"size\":10}", 0, 0},
    {"{\"op\":\"range\",\"stop\":1},{\"op\":\"batch\",\"size\":10}", 1, 1},
    {"{\"op\":\"range\",\"stop\":9}", 9, 9},
    {"{\"op\":\"range\",\"stop\":100},{\"op\":\"batch\",\"size\":5},{\"op\":\"shuffle\"},{\"op\":\"batch\",\"size\":3}", 7, 20},
    {"{\"op\":\"range\",\"stop\":100},{\"op\":\"batch\",\"size\":8},{\"op\":\"shuffle\"},{\"op\":\"cast\",\"dtype\":\"f32\"}", 13, 100},
    {"{\"op\":\"range\",\"stop\":100,\"name\":\"a\",\"field\":\"a\"},{\"op\":\"shuffle\",\"name\":\"sa\"},{\"op\":\"range\",\"start\":5,\"stop\":80,\"name\":\"b\",\"field\":\"b\"},"
     "{\"op\":\"cast\",\"dtype\":\"f64\",\"name\":\"cb\"},{\"op\":\"zip\",\"inputs\":[\"sa\",\"cb\"]},{\"op\":\"batch\",\"size\":16}", 5, 75},
    {"{\"op\":\"range\",\"stop\":40,\"name\":\"a\",\"field\":\"a\"},{\"op\":\"batch\",\"size\":4,\"name\":\"ba\"},{\"op\":\"range\",\"stop\":10,\"name\":\"b\",\"field\":\"b\"},"
     "{\"op\":\"zip\",\"inputs\":[\"ba\",\"b\"]},{\"op\":\"batch\",\"size\":3}", 4, 10},
};

static void test_same_bytes(void **state)
{
    (void)state;
    for (size_t i = 0; i < CW_ARRAY_LEN(cases); i++) {
        struct cw_plan *plan = plan_of(cases[i].nodes, 42);
        uint64_t rows1 = 0, rows4 = 0;
        struct cw_hash here = hash_here(plan, 3, CW_BAD_FAIL);
        struct cw_hash one = hash_pool(plan, 1, 3, CW_BAD_FAIL, &rows1);
        struct cw_hash four = hash_pool(plan, 4, 3, CW_BAD_FAIL, &rows4);
        if (!cw_hash_eq(here, one) || !cw_hash_eq(here, four) || rows1 != cases[i].rows || rows4 != rows1 || cw_plan_info(plan)->items != cases[i].items)
            fail_msg("%s: %d items, %d rows", cases[i].nodes, (int)cw_plan_info(plan)->items, (int)rows1);
        cw_plan_unref(plan);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
