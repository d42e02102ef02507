/* SPDX-License-Identifier: Apache-2.0 */
/* Plans that share threads: by time and weight, whatever their items are like. */
#include "exec/task.h"
#include "exec/fair_queue.h"
#include "run.h"
#include "support/cm.h"

#define TASKS 3

struct flow {
    struct cw_fair_flow turn;
    struct cw_exec_task task[TASKS];
    double took; /* time it was given */
};

static void queue_all(struct cw_fair_queue *turns, struct flow *flow)
{
    for (size_t i = 0; i < TASKS; i++) {
        flow->task[i].state = CW_TASK_NEW;
        cw_fair_queue_add(turns, &flow->turn, &flow->task[i]);
    }
}

static struct flow *owner(struct flow *flows, size_t n, const struct cw_exec_task *task)
{
    for (size_t i = 0; i < n; i++)
        if (task >= flows[i].task && task < flows[i].task + TASKS)
            return &flows[i];
    return NULL;
}

/* One thread that always goes where it is sent; runs of flow i take run_ns[i]. */
static void work(struct cw_fair_queue *turns, struct flow *flows, size_t n, const double *run_ns,
                 double total_ns)
{
    for (double t = 0; t < total_ns;) {
        struct flow *flow = owner(flows, n, cw_fair_queue_next(turns));
        if (!flow) {
            fail_msg("nobody is sent anywhere");
            return;
        }
        double ns = run_ns[flow - flows];
        cw_fair_flow_spend(&flow->turn, ns);
        flow->took += ns;
        t += ns;
    }
}

static void test_by_weight(void **state)
{
    (void)state;
    struct cw_fair_queue turns = {0};
    struct flow flows[3] = {{.turn.weight = 2}, {.turn.weight = 1}, {.turn.weight = 0.25}};
    /* the second has slow elements: that gives it no more time */
    const double run_ns[] = {1e5, 5e7, 1e5};
    for (size_t i = 0; i < 3; i++)
        queue_all(&turns, &flows[i]);
    work(&turns, flows, 3, run_ns, 13e9);
    assert_float_equal(flows[0].took, 8e9, 2e8);
    assert_float_equal(flows[1].took, 4e9, 2e8);
    assert_float_equal(flows[2].took, 1e9, 2e8);
}

/* Who comes later is not given the time that it was away, but for a tenth of a second. */
static void test_late_comer(void **state)
{
    (void)state;
    struct cw_fair_queue turns = {0};
    struct flow flows[2] = {{.took = 0}};
    const double run_ns[] = {1e5, 1e5};
    queue_all(&turns, &flows[0]);
    work(&turns, flows, 2, run_ns, 5e9);
    queue_all(&turns, &flows[1]);
    work(&turns, flows, 2, run_ns, 2e9);
    assert_float_equal(flows[0].took, 5.95e9, 1e7);
    for (size_t i = 0; i < TASKS; i++) /* and it goes and comes again: the same */
        cw_fair_queue_remove(&turns, &flows[1].turn, &flows[1].task[i]);
    work(&turns, flows, 2, run_ns, 5e9);
    queue_all(&turns, &flows[1]);
    work(&turns, flows, 2, run_ns, 2e9);
    assert_float_equal(flows[0].took, 11.9e9, 1e7);
}

/* Of a plan the items come in order; those that are being begun are passed over; the last leaves
 * nothing behind. */
static void test_order(void **state)
{
    (void)state;
    struct cw_fair_queue turns = {0};
    struct flow a = {.took = 0}, b = {.took = 0};
    assert_null(cw_fair_queue_next(&turns));
    queue_all(&turns, &a);
    assert_ptr_equal(cw_fair_queue_next(&turns), &a.task[0]);
    a.task[0].state = CW_TASK_BEGINNING;
    assert_ptr_equal(cw_fair_queue_next(&turns), &a.task[1]);
    a.task[1].state = a.task[2].state = CW_TASK_BEGINNING;
    assert_null(cw_fair_queue_next(&turns));
    queue_all(&turns, &b);
    cw_fair_flow_spend(&b.turn, 1e9); /* others have spent less, but have nothing to take */
    assert_ptr_equal(cw_fair_queue_next(&turns), &b.task[0]);
    a.task[1].state = CW_TASK_OPEN;
    assert_ptr_equal(cw_fair_queue_next(&turns), &b.task[0]); /* it is in its turn */
    cw_fair_flow_spend(&b.turn, 2e6);
    assert_ptr_equal(cw_fair_queue_next(&turns), &a.task[1]);
    cw_fair_queue_remove(&turns, &a.turn, &a.task[1]);
    cw_fair_queue_remove(&turns, &a.turn, &a.task[0]);
    cw_fair_queue_remove(&turns, &a.turn, &a.task[2]);
    for (size_t i = 0; i < TASKS; i++)
        cw_fair_queue_remove(&turns, &b.turn, &b.task[i]);
    assert_null(cw_fair_queue_next(&turns));
    assert_null(turns.first);
    assert_null(turns.current);
}

static bool huge_is_last(void)
{
    enum { SMALL = 20 };
    struct cw_plan *huge = plan_of("{\"op\":\"range\",\"stop\":400},{\"op\":\"sleep\",\"ms\":1},{"
                                   "\"op\":\"batch\",\"size\":400}",
                                   1);
    struct cw_plan *small = plan_of("{\"op\":\"range\",\"stop\":1000},{\"op\":\"sleep\",\"ms\":1},{"
                                    "\"op\":\"batch\",\"size\":1}",
                                    1);
    struct cw_exec *exec = cw_exec_new(1);
    struct waiter of_small = {.left = SMALL}, of_huge = {.left = 1};
    struct job jobs[SMALL], first = {.waiter = &of_huge};
    cw_mutex_init(&of_small.mutex);
    cw_cond_init(&of_small.cond);
    cw_mutex_init(&of_huge.mutex);
    cw_cond_init(&of_huge.cond);
    first.item = (struct cw_exec_item){.plan = huge, .done = on_done, .arg = &first};
    cw_exec_submit(exec, &first.item);
    for (size_t i = 0; i < SMALL; i++) {
        jobs[i] =
            (struct job){.waiter = &of_small, .item = {.plan = small, .item = i, .done = on_done}};
        jobs[i].item.arg = &jobs[i];
        cw_exec_submit(exec, &jobs[i].item);
    }
    cw_mutex_lock(&of_small.mutex);
    while (of_small.left)
        cw_cond_wait(&of_small.cond, &of_small.mutex);
    cw_mutex_unlock(&of_small.mutex);
    cw_mutex_lock(&of_huge.mutex);
    bool is_last = of_huge.left == 1;
    while (of_huge.left)
        cw_cond_wait(&of_huge.cond, &of_huge.mutex);
    cw_mutex_unlock(&of_huge.mutex);
    assert_int_equal(first.batch->elements, 400);
    cw_batch_unref(first.batch);
    for (size_t i = 0; i < SMALL; i++)
        cw_batch_unref(jobs[i].batch);
    cw_exec_free(exec);
    cw_cond_fini(&of_small.cond);
    cw_mutex_fini(&of_small.mutex);
    cw_cond_fini(&of_huge.cond);
    cw_mutex_fini(&of_huge.mutex);
    cw_plan_unref(huge);
    cw_plan_unref(small);
    return is_last;
}

/* The pool itself, with one thread: a huge item was there first, and small ones of another plan
 * are all done before it. This thread may be too late to submit them, or to see it. */
static void test_huge_item(void **state)
{
    bool ok = false;
    (void)state;
    for (int i = 0; i < 10 && !ok; i++)
        ok = huge_is_last();
    assert_true(ok);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_by_weight),
        cmocka_unit_test(test_late_comer),
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_huge_item),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
