/* SPDX-License-Identifier: Apache-2.0 */
/* Work beside the loop: it is run elsewhere, in order, and its end comes to the loop. */
#include "base/mem.h"
#include "loop/offload.h"
#include "support/cm.h"

#define N 100

struct piece {
    struct cw_offload work;
    int number;
    const char *ran_by;
};
static struct cw_loop *loop;
static int ran[N], ran_n, done_n;      /* ran: by the thread alone */
static _Thread_local char thread_mark; /* another in each thread */
static const char *loop_mark;

static void run(void *arg)
{
    struct piece *piece = arg;
    piece->ran_by = &thread_mark;
    ran[ran_n++] = piece->number;
}

static void done(void *arg)
{
    struct piece *piece = arg;
    assert_int_equal(piece->number, done_n++);
    assert_ptr_equal(&thread_mark, loop_mark);
    assert_ptr_not_equal(piece->ran_by, loop_mark);
    cw_mem_free(piece);
    if (done_n == N)
        cw_loop_stop(loop);
}

static void add(struct cw_offload_queue *queue, int number)
{
    struct piece *piece = CW_NEW(struct piece);
    piece->number = number;
    piece->work.run = run;
    piece->work.done = done;
    piece->work.arg = piece;
    cw_offload_add(queue, &piece->work);
}

static void begin(void)
{
    ran_n = done_n = 0;
    loop = cw_loop_new();
    loop_mark = &thread_mark;
}

static void work_is_run_in_order_elsewhere(void **state)
{
    (void)state;
    begin();
    struct cw_offload_queue *queue = cw_offload_queue_new(loop, "work");
    for (int i = 0; i < N; i++)
        add(queue, i);
    cw_loop_run(loop);
    assert_int_equal(done_n, N);
    for (int i = 0; i < N; i++)
        assert_int_equal(ran[i], i);
    cw_offload_queue_free(queue);
    cw_loop_free(loop);
}

static void what_is_left_is_run_and_told(void **state)
{
    (void)state;
    begin();
    struct cw_offload_queue *queue = cw_offload_queue_new(loop, "work");
    for (int i = 0; i < N - 1; i++)
        add(queue, i);
    cw_offload_queue_free(queue);
    assert_int_equal(ran_n, N - 1);
    assert_int_equal(done_n, 0);
    cw_loop_free(loop);
    assert_int_equal(done_n, N - 1);
}

static void free_number(void *arg)
{
    ran[ran_n++] = *(int *)arg;
    cw_mem_free(arg);
}

static void calls_have_no_end_to_tell(void **state)
{
    (void)state;
    begin();
    struct cw_offload_queue *queue = cw_offload_queue_new(loop, "work");
    for (int i = 0; i < N; i++) {
        int *number = CW_NEW(int);
        *number = i;
        cw_offload_call(queue, free_number, number);
    }
    cw_offload_queue_free(queue);
    assert_int_equal(ran_n, N);
    assert_int_equal(ran[N - 1], N - 1);
    cw_loop_free(loop);
    assert_int_equal(done_n, 0);
}

static void nothing_is_started_for_nothing(void **state)
{
    (void)state;
    begin();
    cw_offload_queue_free(cw_offload_queue_new(loop, "work"));
    cw_offload_queue_free(NULL);
    cw_loop_free(loop);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(work_is_run_in_order_elsewhere),
        cmocka_unit_test(what_is_left_is_run_and_told),
        cmocka_unit_test(calls_have_no_end_to_tell),
        cmocka_unit_test(nothing_is_started_for_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
