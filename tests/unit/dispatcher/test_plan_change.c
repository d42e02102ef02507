/* SPDX-License-Identifier: Apache-2.0 */
/* Plans of running jobs: tried by one worker, stored, used by all, and dropped when a worker cannot open
 * them. */
#include <string.h>
#include "dispatcher/optimize/plan_change.h"
#include "unit/dispatcher/peers.h"

static char the_job[] = "job";

static struct cw_job *job_now(void)
{
    return cw_job_find(&made_up, the_job);
}

/* Asks for the order that the job has, which is one of those that are allowed. */
static const struct peers_answer *ask(unsigned elements)
{
    Cachew__V1__ReplanJobRequest request = CACHEW__V1__REPLAN_JOB_REQUEST__INIT;
    request.job = the_job;
    request.graph = peers_graph(elements);
    const struct peers_answer *got =
        peers_ask("ReplanJob", &request.base, &cachew__v1__replan_job_reply__descriptor);
    cachew__v1__graph__free_unpacked(request.graph, NULL);
    return got;
}

static uint64_t number_of(const struct peers_answer *got)
{
    assert_non_null(got->reply);
    return ((const Cachew__V1__ReplanJobReply *)(const void *)got->reply)->number;
}

static const Cachew__V1__JobPlan *sent_to(struct cw_stream *worker)
{
    const Cachew__V1__WorkerCommand *command =
        peers_to_worker(worker, CACHEW__V1__WORKER_COMMAND__KIND_JOB_PLAN);
    return command ? command->job_plan : NULL;
}

static void answer(struct cw_stream *worker, uint64_t number, int code)
{
    char why[] = "it has not the operator", none[] = "";
    Cachew__V1__PlanOpened opened = CACHEW__V1__PLAN_OPENED__INIT;
    Cachew__V1__WorkerMessage message = CACHEW__V1__WORKER_MESSAGE__INIT;
    opened.job_id = job_now()->id;
    opened.number = number;
    opened.code = code;
    opened.error = code != 0 ? why : none;
    message.kind_case = CACHEW__V1__WORKER_MESSAGE__KIND_PLAN_OPENED;
    message.plan_opened = &opened;
    peers_say(worker, &message.base);
    peers_turn();
}

/* A running job with two workers, of which each has got its JobSpec. */
static void begin(struct cw_stream *workers[2])
{
    struct cw_stream *trainer = NULL;
    workers[0] = peers_worker(1, 1);
    workers[1] = peers_worker(2, 1);
    peers_worker_of(1)->job_plans = peers_worker_of(2)->job_plans = true;
    (void)peers_running(the_job, &trainer);
    peers_turn();
    for (size_t i = 0; i < 2; i++)
        assert_non_null(peers_to_worker(workers[i], CACHEW__V1__WORKER_COMMAND__KIND_JOB));
}

static void one_tries_then_all_use(void **state)
{
    (void)state;
    struct cw_stream *workers[2];
    begin(workers);
    assert_int_equal(number_of(ask(10)), 1);
    assert_string_equal(job_now()->options->optimize, "off"); /* nobody else plans from now on */
    size_t first = sent_to(workers[0]) ? 0 : 1;
    const Cachew__V1__JobPlan *plan = sent_to(workers[first]);
    assert_true(plan && plan->only_try && plan->number == 1 && plan->graph);
    assert_null(sent_to(workers[1 - first]));
    assert_int_equal(ask(10)->code, CW_E_STATE); /* one is on its way */
    peers_forget(workers[first]);
    answer(workers[1 - first], 1, 0); /* it was not asked */
    assert_int_equal(job_now()->plan.number, 0);
    answer(workers[first], 1, 0);
    assert_int_equal(job_now()->plan.number, 1);
    for (size_t i = 0; i < 2; i++) {
        plan = sent_to(workers[i]);
        assert_true(plan && !plan->only_try && plan->number == 1 && plan->graph);
    }
    peers_restart();
    assert_int_equal(job_now()->plan.number, 1);
    assert_non_null(job_now()->plan.graph);
    assert_string_equal(job_now()->options->optimize, "off");
}

static void one_that_cannot_be_opened_is_dropped(void **state)
{
    (void)state;
    struct cw_stream *workers[2];
    begin(workers);
    assert_int_equal(number_of(ask(10)), 1);
    size_t first = sent_to(workers[0]) ? 0 : 1;
    answer(workers[first], 1, CW_E_UNSUPPORTED);
    assert_int_equal(job_now()->plan.number, 0);
    assert_int_equal(job_now()->plan.dropped_n, 1);
    const struct peers_answer *got = ask(10);
    assert_int_equal(got->code, CW_E_INVALID);
    assert_non_null(strstr(got->msg, "it has not the operator"));
}

/* All go back to the written order when one that is used cannot be opened by a worker. */
static void all_go_back(void **state)
{
    (void)state;
    struct cw_stream *workers[2];
    begin(workers);
    assert_int_equal(number_of(ask(10)), 1);
    size_t first = sent_to(workers[0]) ? 0 : 1;
    answer(workers[first], 1, 0);
    assert_int_equal(job_now()->plan.number, 1);
    struct cw_stream *another = peers_worker(3, 1);
    cw_mem_free(peers_worker_of(3)->only_job);
    peers_worker_of(3)->only_job = cw_mem_strdup("another"); /* it does not serve the job */
    cw_worker_recount(peers_worker_of(3));
    assert_null(cw_share_find(job_now(), peers_worker_of(3)));
    answer(another, 1, CW_E_UNSUPPORTED);
    assert_int_equal(job_now()->plan.number, 1);
    answer(workers[1 - first], 1, CW_E_UNSUPPORTED);
    assert_int_equal(job_now()->plan.number, 2);
    assert_null(job_now()->plan.graph);
    for (size_t i = 0; i < 2; i++) {
        const Cachew__V1__JobPlan *plan = sent_to(workers[i]);
        assert_true(plan && !plan->only_try && plan->number == 2 && !plan->graph);
    }
    peers_restart();
    assert_int_equal(job_now()->plan.number, 2);
    assert_null(job_now()->plan.graph);
}

static void another_worker_tries(void **state)
{
    (void)state;
    struct cw_stream *workers[2];
    begin(workers);
    assert_int_equal(number_of(ask(10)), 1);
    size_t first = sent_to(workers[0]) ? 0 : 1;
    peers_break(workers[first], CW_E_UNAVAILABLE, "it died");
    peers_turn();
    cw_job_plan_tick(job_now());
    const Cachew__V1__JobPlan *plan = sent_to(workers[1 - first]);
    assert_true(plan && plan->only_try && plan->number == 1);
}

static void what_is_no_order_of_it(void **state)
{
    (void)state;
    struct cw_stream *workers[2];
    begin(workers);
    const struct peers_answer *got = ask(11);
    assert_int_equal(got->code, CW_E_INVALID);
    assert_non_null(strstr(got->msg, "options"));
}

/* Workers of an older version do not know plans: one is refused at once, and none stays in the way of
 * the next. */
static void workers_that_know_no_plans(void **state)
{
    (void)state;
    struct cw_stream *workers[2];
    begin(workers);
    peers_worker_of(1)->job_plans = peers_worker_of(2)->job_plans = false;
    const struct peers_answer *got = ask(10);
    assert_int_equal(got->code, CW_E_UNSUPPORTED);
    assert_non_null(strstr(got->msg, "no worker of the job knows plans"));
    assert_null(sent_to(workers[0]));
    assert_null(sent_to(workers[1]));
    peers_worker_of(1)->job_plans = true;
    assert_int_equal(number_of(ask(10)), 1);
    assert_non_null(sent_to(workers[0]));
    peers_break(workers[0], CW_E_UNAVAILABLE, "it died"); /* the older one is left */
    peers_turn();
    cw_job_plan_tick(job_now());
    assert_null(sent_to(workers[1]));
    assert_false(job_now()->plan.is_next);
    assert_int_equal(job_now()->plan.dropped_n, 1);
    assert_non_null(strstr(job_now()->plan.error, "knows plans"));
    peers_worker_of(2)->job_plans = true; /* the plan was not to blame */
    assert_int_equal(number_of(ask(10)), 2);
}

/* A plan that waits for a worker makes way for the next one. */
static void one_that_nobody_tries_is_replaced(void **state)
{
    (void)state;
    struct cw_stream *workers[2];
    begin(workers);
    for (size_t i = 0; i < 2; i++)
        peers_break(workers[i], CW_E_UNAVAILABLE, "it died");
    peers_turn();
    assert_int_equal(number_of(ask(10)), 1);
    assert_int_equal(number_of(ask(10)), 2);
    assert_int_equal(job_now()->plan.dropped_n, 1);
    assert_non_null(strstr(job_now()->plan.error, "plan 1"));
}

/* One that workers do not survive is dropped before all are lost, and not tried again. */
static void workers_die_of_it(void **state)
{
    (void)state;
    struct cw_stream *workers[2];
    begin(workers);
    assert_int_equal(number_of(ask(10)), 1);
    for (unsigned i = 0; i < CW_PLAN_TRIES_MAX; i++) {
        assert_true(job_now()->plan.is_next);
        assert_int_not_equal(job_now()->plan.tried_by, 0);
        job_now()->plan.tried_by = UINT64_MAX; /* as if it were gone */
        cw_job_plan_tick(job_now());
    }
    assert_false(job_now()->plan.is_next);
    assert_non_null(strstr(job_now()->plan.error, "3 workers were lost while they tried plan 1"));
    assert_int_equal(ask(10)->code, CW_E_INVALID);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(one_tries_then_all_use, peers_begin, peers_end),
        cmocka_unit_test_setup_teardown(one_that_cannot_be_opened_is_dropped, peers_begin,
                                        peers_end),
        cmocka_unit_test_setup_teardown(all_go_back, peers_begin, peers_end),
        cmocka_unit_test_setup_teardown(another_worker_tries, peers_begin, peers_end),
        cmocka_unit_test_setup_teardown(what_is_no_order_of_it, peers_begin, peers_end),
        cmocka_unit_test_setup_teardown(workers_that_know_no_plans, peers_begin, peers_end),
        cmocka_unit_test_setup_teardown(one_that_nobody_tries_is_replaced, peers_begin, peers_end),
        cmocka_unit_test_setup_teardown(workers_die_of_it, peers_begin, peers_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
