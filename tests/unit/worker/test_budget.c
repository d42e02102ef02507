/* SPDX-License-Identifier: Apache-2.0 */
/* How memory is divided between jobs, who hands outputs back, and what happens when the system has
 * less of it than the budget says. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "ops/source/held.h"
#include "ops/source/loaded.h"
#include "unit/worker/bare_worker.h"
#include "worker/compute/memory_short.h"
#include "worker/compute/outputs.h"
#include "worker/model/budget.h"
#include "support/ranges.h"

#define LARGE 10000

static bool has_output(const struct cw_wjob *job, uint64_t item)
{
    for (uint32_t c = 0; c < job->consumers; c++)
        for (size_t i = 0; i < job->queues[c].n; i++)
            if (job->queues[c].v[i]->item == item)
                return true;
    return false;
}

static void test_shares(void **state)
{
    (void)state;
    struct cw_worker_state *w = bare_new();
    struct cw_wcache_store store = {0};
    struct cw_wjob *a = bare_job(w, "a", 1), *b = bare_job(w, "b", 1);
    assert_int_equal(cw_budget(w), BARE_BUDGET);
    assert_int_equal(cw_budget_of(a), BARE_BUDGET); /* b has nothing to do */
    bare_lease(b, 1, 0, 0, 1);
    assert_int_equal(cw_budget_of(a), BARE_BUDGET / 2);
    b->part = 3;
    assert_int_equal(cw_budget_of(a), BARE_BUDGET / 4);
    assert_int_equal(cw_budget_of(b), BARE_BUDGET); /* a has nothing to do */
    bare_lease(a, 1, 0, 0, 1);
    assert_int_equal(cw_budget_of(b), BARE_BUDGET / 4 * 3);
    w->cache.memory = 20000;
    assert_int_equal(cw_budget(w), BARE_BUDGET); /* there is no store */
    w->cache.store = &store;
    assert_int_equal(cw_budget(w), BARE_BUDGET - 20000);
    cw_loaded_hold(5000); /* what sources have inflated or decoded */
    assert_int_equal(cw_budget(w), BARE_BUDGET - 25000);
    cw_loaded_hold(BARE_BUDGET);
    assert_int_equal(cw_budget(w), BARE_BUDGET / 4);
    cw_loaded_hold(-BARE_BUDGET - 5000);
    w->memory.allowed = 1000;
    assert_int_equal(cw_budget(w), 1000);
    w->shm.lent_bytes = 7;
    assert_int_equal(cw_budget_stream_bytes(w), 7);
    bare_free(w);
}

/* The memory and the item are given back with the last copy. */
static void test_release(void **state)
{
    (void)state;
    struct cw_worker_state *w = bare_new();
    struct cw_wjob *job = bare_job(w, "j", 2);
    struct cw_output *output = bare_output(job, 0, 5, LARGE, true);
    w->memory.waits = true;
    cw_output_release(job, cw_outq_pop(&job->queues[1]));
    assert_int_equal(w->memory.bytes, output->held);
    assert_true(cw_set_has(&cw_wjob_epoch(job, 0)->held, 5));
    assert_true(w->memory.waits);
    cw_output_release(job, cw_outq_pop(&job->queues[0]));
    assert_int_equal(w->memory.bytes, 0);
    assert_int_equal(job->bytes, 0);
    assert_int_equal(job->queued_n, 0);
    assert_false(cw_set_has(&cw_wjob_epoch(job, 0)->held, 5));
    assert_false(w->memory.waits);
    bare_free(w);
}

static void test_revoke(void **state)
{
    (void)state;
    struct cw_worker_state *w = bare_new();
    struct cw_wjob *job = bare_job(w, "j", 2);
    for (uint64_t i = 0; i < 4; i++)
        (void)bare_output(job, 0, i, LARGE, i % 2 == 0);
    (void)bare_output(job, 1, 1, LARGE, false);
    cw_outputs_drop(job, 0, RANGE(1, 3));
    assert_int_equal(job->queued_n, 3);
    assert_true(has_output(job, 0));
    assert_false(has_output(job, 2));
    assert_true(has_output(job, 3));
    assert_true(has_output(job, 1)); /* of epoch 1 */
    cw_outputs_clear(job);
    assert_int_equal(w->memory.bytes, 0);
    job->queues[0] = job->queues[1] = (struct cw_outq){0};
    bare_free(w);
}

/* Who has more than its share hands back what it needs last, and no more than is needed. */
static void test_make_room(void **state)
{
    (void)state;
    struct cw_worker_state *w = bare_new();
    struct cw_wjob *a = bare_job(w, "a", 1), *b = bare_job(w, "b", 1);
    bare_lease(b, 1, 0, 0, 1);
    for (uint64_t i = 0; i < 8; i++)
        (void)bare_output(a, 0, i, LARGE, false);
    size_t before = w->memory.bytes;
    assert_true(cw_outputs_make_room(w, LARGE));
    assert_in_range(before - w->memory.bytes, LARGE, 2 * LARGE - 1);
    assert_false(has_output(a, 7));
    assert_true(has_output(a, 6));
    assert_false(cw_set_has(&cw_wjob_epoch(a, 0)->held, 7));
    /* Down to its share, and there it ends. */
    assert_false(cw_outputs_make_room(w, BARE_BUDGET));
    assert_in_range(a->bytes, 1, cw_budget_of(a));
    assert_true(has_output(a, 0));
    w->drain.active = true;
    assert_false(cw_outputs_make_room(w, 1));
    bare_free(w);
}

static struct cw_wtask task_of(struct cw_wjob *job, uint64_t item)
{
    struct cw_wtask task = {.job = job};
    task.exec.item = item;
    cw_set_add(&cw_wjob_epoch(job, 0)->held, item, item + 1);
    return task;
}

/* With nothing else in memory an item for which there is none has failed. */
static void test_alone(void **state)
{
    (void)state;
    struct cw_worker_state *w = bare_new();
    struct cw_wjob *job = bare_job(w, "j", 1);
    struct cw_wtask task = task_of(job, 3);
    assert_false(cw_memory_retry(job, &task));
    assert_int_equal(job->leases_n, 0);
    bare_free(w);
}

static uint64_t oldest(void *arg)
{
    return *(int64_t *)arg > 0 ? 1 : UINT64_MAX;
}

static struct cw_held held;

static bool drop_oldest(void *arg)
{
    int64_t *bytes = arg;
    cw_held_add(&held, -*bytes);
    *bytes = 0;
    return true;
}

/* What sources have decoded goes first, and the item is begun again; without it it has failed. */
static void test_sources_give_back(void **state)
{
    (void)state;
    struct cw_worker_state *w = bare_new();
    struct cw_wjob *job = bare_job(w, "j", 1);
    struct cw_wtask task = task_of(job, 3);
    int64_t bytes = 5000;
    held = (struct cw_held){.arg = &bytes, .oldest = oldest, .drop_oldest = drop_oldest};
    cw_held_join(&held);
    cw_held_add(&held, bytes);
    assert_int_equal(cw_budget(w), BARE_BUDGET - 5000);
    assert_true(cw_memory_retry(job, &task));
    assert_int_equal(bytes, 0);
    assert_int_equal(cw_held_bytes(), 0);
    assert_false(cw_memory_retry(job, &task));
    cw_held_leave(&held);
    bare_free(w);
}

static void test_retry(void **state)
{
    (void)state;
    struct cw_worker_state *w = bare_new();
    struct cw_wjob *job = bare_job(w, "j", 1);
    struct cw_wtask task = task_of(job, 3);
    for (uint64_t i = 0; i < 8; i++)
        if (i != 3)
            (void)bare_output(job, 0, i, LARGE, false);
    size_t before = w->memory.bytes;
    assert_true(cw_memory_retry(job, &task));
    uint64_t epoch, item;
    assert_true(cw_wlease_peek(job, &epoch, &item)); /* the item is begun again */
    assert_int_equal(item, 3);
    assert_false(has_output(job, 7)); /* the last quarter went back */
    assert_true(has_output(job, 0));
    assert_true(has_output(job, 4));
    assert_int_equal(w->memory.allowed, before / 4 * 3);
    assert_int_equal(cw_budget(w), before / 4 * 3);
    assert_false(w->memory.waits); /* something was freed */
    /* It grows again with each output. */
    cw_memory_made(w, 8000);
    assert_int_equal(w->memory.allowed, before / 4 * 3 + 1001);
    assert_true(cw_memory_beat(w));
    cw_memory_made(w, 8 * BARE_BUDGET);
    assert_int_equal(cw_budget(w), BARE_BUDGET);
    assert_false(cw_memory_beat(w));
    bare_free(w);
}

/* Outputs before the item are kept: its client needs them first. When nothing can be given back,
 * no item begins until memory is freed. */
static void test_waits(void **state)
{
    (void)state;
    struct cw_worker_state *w = bare_new();
    struct cw_wjob *job = bare_job(w, "j", 1);
    struct cw_wtask task = task_of(job, 3);
    (void)bare_output(job, 0, 1, LARGE, false);
    assert_true(cw_memory_retry(job, &task));
    assert_true(has_output(job, 1));
    assert_true(w->memory.waits);
    assert_true(cw_memory_beat(w)); /* it tries again with each heartbeat */
    assert_false(w->memory.waits);
    bare_free(w);
}

static void test_draining(void **state)
{
    (void)state;
    struct cw_worker_state *w = bare_new();
    struct cw_wjob *job = bare_job(w, "j", 1);
    struct cw_wtask task = task_of(job, 3);
    (void)bare_output(job, 0, 7, LARGE, false);
    w->drain.active = true;
    assert_true(cw_memory_retry(job, &task));
    assert_int_equal(job->leases_n, 0); /* handed back */
    assert_false(cw_set_has(&cw_wjob_epoch(job, 0)->held, 3));
    assert_true(has_output(job, 7));
    bare_free(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shares),  cmocka_unit_test(test_release),
        cmocka_unit_test(test_revoke),  cmocka_unit_test(test_make_room),
        cmocka_unit_test(test_alone),   cmocka_unit_test(test_sources_give_back),
        cmocka_unit_test(test_retry),   cmocka_unit_test(test_waits),
        cmocka_unit_test(test_draining)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
