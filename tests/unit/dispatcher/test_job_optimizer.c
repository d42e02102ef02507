/* SPDX-License-Identifier: Apache-2.0 */
/* Who plans a running job: when, what becomes of the plan, and what is cached by it. The search runs in the
 * loop here, since there is no thread for it. */
#include <stdio.h>
#include <string.h>

#include "dispatcher/autocache/autocache.h"
#include "dispatcher/job/job.h"
#include "dispatcher/optimize/job_optimizer.h"
#include "dispatcher/optimize/plan_change.h"
#include "dispatcher/optimize/plan_question.h"
#include "dispatcher/state/state.h"
#include "graph/graph.h"
#include "unit/dispatcher/peers.h"

#define NODES 4
#define ELEMENTS 1000

/* A source, what takes 1 ms, a filter that keeps 5 %, and a batch. */
static const char written[] =
    "{\"pipeline\": [{\"op\": \"range\", \"name\": \"r\", \"stop\": 1000}, "
    "{\"op\": \"burn\", \"name\": \"b\", \"ms\": 1}, "
    "{\"op\": \"filter\", \"name\": \"f\", \"expr\": \"x % 20 == 3\"}, "
    "{\"op\": \"batch\", \"name\": \"n\", \"size\": 4}]}";

static struct cw_stream *worker;

/* ---- what the worker says ---- */

static Cachew__V1__Cacheable *cacheable(char name, uint64_t key)
{
    Cachew__V1__Cacheable *c = cachew__v1__cacheable__unpack(NULL, 0, NULL);
    c->node = cw_mem_printf("%c", name);
    c->op = cw_mem_strdup("burn");
    c->ids = ELEMENTS;
    c->key = (ProtobufCBinaryData){CW_WIRE_HASH_BYTES, cw_mem_new(CW_WIRE_HASH_BYTES)};
    cw_wire_hash_to((struct cw_hash){key, key}, c->key.data);
    return c;
}

/* Of the nodes in this order; the first one has this key, the next ones those that follow. */
static Cachew__V1__PlanInfo *info_of(const char *nodes, uint64_t key)
{
    Cachew__V1__PlanInfo *info = cachew__v1__plan_info__unpack(NULL, 0, NULL);
    info->items = ELEMENTS;
    info->elements = ELEMENTS;
    info->batch = 1;
    info->fingerprint_hi = info->fingerprint_lo = 7;
    info->n_cacheable = NODES;
    info->cacheable = CW_NEW_ARRAY(Cachew__V1__Cacheable *, NODES);
    for (size_t i = 0; i < NODES; i++)
        info->cacheable[i] = cacheable(nodes[i], key + i);
    return info;
}

static void prepared_as(const char *relaxed, bool is_refused)
{
    Cachew__V1__Prepared message = CACHEW__V1__PREPARED__INIT;
    cw_autofree char *text = cw_mem_strdup(relaxed);
    message.relaxed = text;
    message.relaxed_refused = is_refused;
    Cachew__V1__WorkerMessage said = CACHEW__V1__WORKER_MESSAGE__INIT;
    message.job_id =
        peers_to_worker(worker, CACHEW__V1__WORKER_COMMAND__KIND_PREPARE)->prepare->job_id;
    message.info = info_of("rbfn", 1);
    said.kind_case = CACHEW__V1__WORKER_MESSAGE__KIND_PREPARED;
    said.prepared = &message;
    peers_say(worker, &said.base);
    cachew__v1__plan_info__free_unpacked(message.info, NULL);
}

static void prepared(void)
{
    prepared_as("", false);
}

static void opened(const struct cw_job *job, uint64_t number, const char *nodes)
{
    Cachew__V1__PlanOpened message = CACHEW__V1__PLAN_OPENED__INIT;
    Cachew__V1__WorkerMessage said = CACHEW__V1__WORKER_MESSAGE__INIT;
    message.job_id = job->id;
    message.number = number;
    message.info = nodes ? info_of(nodes, 101) : NULL;
    said.kind_case = CACHEW__V1__WORKER_MESSAGE__KIND_PLAN_OPENED;
    said.plan_opened = &message;
    peers_say(worker, &said.base);
    if (message.info)
        cachew__v1__plan_info__free_unpacked(message.info, NULL);
    peers_turn();
}

/* It has computed so many elements of the source, as they are written. */
static void measured(struct cw_job *job, double n)
{
    static char names[NODES][2] = {"r", "b", "f", "n"};
    Cachew__V1__NodeCounts counts[NODES], *list[NODES];
    for (size_t i = 0; i < NODES; i++) {
        double ns = i == 1 ? 1e6 : 1000, all = i == 3 ? n / 20 : n;
        cachew__v1__node_counts__init(&counts[i]);
        counts[i].job_id = job->id;
        counts[i].node = names[i];
        counts[i].elements = (uint64_t)all;
        counts[i].cpu_ns = counts[i].wall_ns = (uint64_t)(all * ns);
        counts[i].timed = all;
        counts[i].calls = all;
        counts[i].in_bytes = counts[i].out_bytes = 8 * all;
        counts[i].in_bytes_squared = 64 * all;
        counts[i].cpu_ns_bytes = counts[i].wall_ns_bytes = 8 * ns * all;
        counts[i].dropped = i == 2 ? n * 19 / 20 : 0;
        list[i] = &counts[i];
    }
    Cachew__V1__Progress progress = CACHEW__V1__PROGRESS__INIT;
    progress.n_counts = NODES;
    progress.counts = list;
    cw_telemetry_take_counts(peers_worker_of(1), &progress);
}

/* ---- a job ---- */

static struct cw_job *begin_with(const char *optimize, const char *plan)
{
    struct cw_graph *graph = NULL;
    struct cw_err err = {0};
    cw_autofree char *own = cw_mem_strdup(optimize), *name = cw_mem_strdup("job");
    cw_autofree char *order = cw_mem_strdup(plan);
    Cachew__V1__JobOptions options = CACHEW__V1__JOB_OPTIONS__INIT;
    if (cw_graph_parse(written, strlen(written), "test", &graph, &err) != 0)
        fail_msg("%s", err.msg);
    options.graph = cw_wire_graph_to(graph);
    options.name = name;
    options.epochs = 5;
    options.optimize = own;
    options.plan = order;
    made_up.options.optimize = made_up.options.autocache = "auto";
    made_up.options.scale_window_ms = 1000;
    worker = peers_worker(1, 1);
    peers_worker_of(1)->job_plans = true;
    (void)peers_trainer(100, &options);
    prepared();
    peers_turn();
    cachew__v1__graph__free_unpacked(options.graph, NULL);
    cw_graph_unref(graph);
    assert_int_equal(made_up.jobs->status, CW_JOB_RUNNING);
    return made_up.jobs;
}

/* Some ticks of the job's optimizer; time begins anew in each test. */
static void ticks(struct cw_job *job, int64_t from_ms, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        cw_job_optimizer_tick(job, from_ms + 250 * i);
}

static struct cw_job *begin_measured(const char *optimize)
{
    struct cw_job *job = begin_with(optimize, "");
    ticks(job, 1000, 2);
    assert_false(job->plan.is_next); /* nothing is measured yet */
    measured(job, 1000);
    ticks(job, 2000, 2);
    return job;
}

struct decided {
    unsigned n;
    char choice[100], reason[300];
};
static int on_decision(void *arg, const struct cw_state_decision *row, struct cw_err *err)
{
    struct decided *decided = arg;
    (void)err;
    if (decided->n++ == 0) {
        snprintf(decided->choice, sizeof(decided->choice), "%s", row->choice);
        snprintf(decided->reason, sizeof(decided->reason), "%s", row->reason);
    }
    return 0;
}
static struct decided decided_of(const struct cw_job *job)
{
    struct decided decided = {0};
    const struct cw_state_decision_query query = {.job = job->id, .kind = "optimize", .limit = 10};
    peers_turn();
    assert_int_equal(cw_state_find_decisions(made_up.state, &query, on_decision, &decided, NULL),
                     0);
    return decided;
}

/* ---- tests ---- */

static void a_better_order_is_tried_and_used(void **state)
{
    (void)state;
    struct cw_job *job = begin_measured("");
    assert_true(job->plan.is_next && job->plan.last == 1 && job->plan.number == 0);
    assert_int_equal(decided_of(job).n, 0);
    opened(job, 1, "rfbn");
    assert_int_equal(job->plan.number, 1);
    ticks(job, 3000, 1);
    struct decided decided = decided_of(job);
    assert_int_equal(decided.n, 1);
    assert_string_equal(decided.choice, "r > f > b > n");
    assert_non_null(strstr(decided.reason, "as the job has measured so far"));
    assert_true(job->plan.predicted_ns > 40e3 && job->plan.predicted_ns < 60e3);
    assert_false(job->plan.decides_cache); /* there is no cache */
    ticks(job, 3250, 100);                 /* nothing new is measured */
    assert_int_equal(job->plan.made_n, 1);
}

static void one_that_is_dropped(void **state)
{
    (void)state;
    struct cw_job *job = begin_measured("");
    Cachew__V1__PlanOpened message = CACHEW__V1__PLAN_OPENED__INIT;
    cw_autofree char *why = cw_mem_strdup("no such operator");
    message.job_id = job->id;
    message.number = 1;
    message.code = CW_E_UNSUPPORTED;
    message.error = why;
    cw_job_plan_opened(peers_worker_of(1), &message);
    ticks(job, 3000, 100);
    assert_true(job->plan.number == 0 && job->plan.made_n == 1 && job->plan.dropped_n == 1);
    assert_int_equal(decided_of(job).n, 0);
}

static void nobody_plans(void **state)
{
    (void)state;
    struct cw_job *job = begin_measured("off");
    assert_true(!job->plan.is_next && !job->optimizer);
}

/* The first plan stays; without one, nothing is looked for again. */
static void once(void **state)
{
    (void)state;
    struct cw_job *job = begin_measured("once");
    opened(job, 1, "rfbn");
    ticks(job, 3000, 1);
    assert_int_equal(decided_of(job).n, 1);
    measured(job, 50);
    ticks(job, 60000, 100);
    assert_int_equal(job->plan.made_n, 1);
}

/* Other policies than auto plan once, and what they say is done. */
static void cedar_plans(void **state)
{
    (void)state;
    struct cw_job *job = begin_measured("cedar");
    opened(job, 1, "rfbn");
    ticks(job, 3000, 1);
    assert_string_equal(decided_of(job).choice, "r > f > b > n");
    ticks(job, 60000, 100);
    assert_int_equal(job->plan.made_n, 1);
}

/* Nothing shrinks, and no dtype changes: the order stays, and is not looked at again. */
static void pecan_plans(void **state)
{
    (void)state;
    struct cw_job *job = begin_measured("pecan");
    assert_false(job->plan.is_next);
    ticks(job, 60000, 100);
    assert_true(job->plan.made_n == 0 && decided_of(job).n == 0);
}

/* It is used before anything is measured, and stays. */
static void a_plan_that_is_named(void **state)
{
    (void)state;
    struct cw_job *job = begin_with("", "{\"plan\": 1, \"order\": [\"r\", \"f\", \"b\", \"n\"]}");
    ticks(job, 1000, 1);
    assert_true(job->plan.is_next && job->plan.last == 1);
    opened(job, 1, "rfbn");
    ticks(job, 2000, 1);
    struct decided decided = decided_of(job);
    assert_string_equal(decided.choice, "r > f > b > n");
    assert_non_null(strstr(decided.reason, "as the job's plan says"));
    measured(job, 1000);
    ticks(job, 60000, 100);
    assert_int_equal(job->plan.made_n, 1);
}

/* ---- relaxed orders ---- */

static void begin_relaxed(uint64_t trainer)
{
    struct cw_graph *graph = NULL;
    cw_autofree char *name = cw_mem_strdup("job"), *none = cw_mem_strdup("");
    cw_autofree char *order =
        cw_mem_strdup("{\"plan\": 1, \"exact\": false, \"order\": [\"r\", \"f\", \"b\", \"n\"]}");
    Cachew__V1__JobOptions options = CACHEW__V1__JOB_OPTIONS__INIT;
    assert_int_equal(cw_graph_parse(written, strlen(written), "test", &graph, NULL), 0);
    options.graph = cw_wire_graph_to(graph);
    options.name = name;
    options.epochs = 5;
    options.optimize = none;
    options.plan = order;
    options.relaxed = true;
    (void)peers_trainer(trainer, &options);
    peers_turn();
    cachew__v1__graph__free_unpacked(options.graph, NULL);
    cw_graph_unref(graph);
}

static bool is_in_order(const struct cw_job *job, const char *nodes)
{
    bool is = job->graph->n_nodes == strlen(nodes);
    for (size_t i = 0; is && i < job->graph->n_nodes; i++)
        is = job->graph->nodes[i]->name[0] == nodes[i];
    return is;
}

/* The worker that prepares the job gets the written order as well, and what it finds is told. */
static void a_relaxed_order_is_tried(void **state)
{
    (void)state;
    worker = peers_worker(1, 1);
    begin_relaxed(100);
    const Cachew__V1__Prepare *prepare =
        peers_to_worker(worker, CACHEW__V1__WORKER_COMMAND__KIND_PREPARE)->prepare;
    assert_true(prepare->written && prepare->written->nodes[1]->name[0] == 'b');
    assert_true(prepare->graph->nodes[1]->name[0] == 'f');
    prepared_as("field \"x\": mean absolute difference 1\n", false);
    struct cw_job *job = made_up.jobs;
    assert_true(job->status == CW_JOB_RUNNING && job->options->relaxed && !job->written_packed);
    assert_true(is_in_order(job, "rfbn"));
    struct decided decided = decided_of(job);
    assert_string_equal(decided.choice, "the relaxed order");
    begin_relaxed(101); /* another trainer of the same job */
    assert_null(job->next);
    assert_true(job->clients && job->clients->next_of_job);
}

/* Where it may not be used the job is that of the written order, also for those who come later. */
static void a_relaxed_order_is_refused(void **state)
{
    (void)state;
    worker = peers_worker(1, 1);
    begin_relaxed(100);
    prepared_as("the relaxed order is not used: an element cannot be computed\n", true);
    struct cw_job *job = made_up.jobs;
    assert_true(job->status == CW_JOB_RUNNING && !job->options->relaxed && !job->written_packed);
    assert_true(is_in_order(job, "rbfn"));
    struct decided decided = decided_of(job);
    assert_string_equal(decided.choice, "the written order");
    begin_relaxed(101);
    assert_null(job->next);
    assert_true(job->clients && job->clients->next_of_job);
}

/* ---- with a cache ---- */

static bool uses(const struct cw_job *job, uint64_t key)
{
    return job->cache_uses_n == 1 && job->cache_uses[0].key->key.hi == key;
}

static struct cw_job *begin_cached(const char *nodes)
{
    struct cw_job *job = begin_measured("");
    assert_true(job->plan.is_next && job->plan.next_decides_cache);
    assert_string_equal(job->plan.next_cached, "b");
    opened(job, 1, nodes);
    ticks(job, 3000, 1);
    return job;
}

/* The cache stands behind two operators in an order that nobody wrote, under the key that the worker tells. */
static void order_and_cache(void **state)
{
    (void)state;
    struct cw_job *job = begin_cached("rfbn");
    struct cw_err err = {0};
    assert_true(job->plan.number == 1 && job->plan.decides_cache);
    assert_string_equal(job->cached_node, "b");
    assert_true(uses(job, 103));
    assert_string_equal(decided_of(job).choice, "r > f > b > n; cached: b");
    /* no other policy is asked */
    job->autocache->ask_due = true;
    assert_int_equal(cw_autocache_tick(job, 4000, &err), 0);
    assert_string_equal(job->cached_node, "b");
    assert_false(job->autocache->has_decision);
}

/* It holds when the dispatcher comes again, as soon as a worker tells the keys. */
static void after_a_restart(void **state)
{
    (void)state;
    (void)begin_cached("rfbn");
    peers_turn();
    cw_job_optimizers_close(&made_up);
    peers_restart();
    struct cw_job *job = made_up.jobs;
    made_up.options.optimize = made_up.options.autocache = "auto";
    assert_true(job->plan.number == 1 && job->plan.graph && !job->plan.info);
    if (!job->plan.decides_cache) { /* what the program does when it starts */
        struct cw_err err = {0};
        assert_int_equal(cw_job_optimizers_restore(&made_up, &err), 0);
    }
    assert_true(job->plan.decides_cache);
    assert_string_equal(job->cached_node, "b");
    assert_int_equal(job->cache_uses_n, 0);
    worker = peers_worker(1, 1);
    cw_share_get(job, peers_worker_of(1))->has_job = true; /* as its hello says */
    opened(job, 1, "rfbn");
    assert_true(uses(job, 103));
}

/* An older worker does not tell keys: then policies decide, as without plans. */
static void keys_that_nobody_tells(void **state)
{
    (void)state;
    struct cw_job *job = begin_cached(NULL);
    assert_true(job->plan.number == 1 && !job->plan.decides_cache);
    assert_int_equal(job->cache_uses_n, 0);
    ticks(job, 3250, 100);
    assert_int_equal(job->plan.made_n, 1);
}

/* A plan that somebody names says nothing of the cache. */
static void somebody_names_another(void **state)
{
    (void)state;
    struct cw_job *job = begin_cached("rfbn");
    Cachew__V1__ReplanJobRequest request = CACHEW__V1__REPLAN_JOB_REQUEST__INIT;
    request.job = job->id;
    (void)peers_ask("ReplanJob", &request.base, &cachew__v1__replan_job_reply__descriptor);
    peers_turn();
    assert_true(job->plan.number == 2 && !job->plan.graph && !job->plan.decides_cache);
    assert_null(job->cached_node);
    assert_int_equal(job->cache_uses_n, 0);
}

/* What a cache costs counts where money is to be least, and the decision speaks of money then. */
static void prices_are_asked_for(void **state)
{
    (void)state;
    made_up.options.store_price = 5;
    made_up.options.worker_price = 2;
    struct cw_job *job = begin_with("", "");
    struct cw_plan_search *search = cw_plan_question_make(job, "auto", NULL, true);
    const struct cw_plan_question *q = &search->question;
    assert_true(!q->least_money && q->store_price <= 0 && q->worker_price <= 0);
    cw_plan_search_free(search);
    made_up.options.objective = "money";
    search = cw_plan_question_make(job, "auto", NULL, true);
    q = &search->question;
    assert_true(q->least_money && q->store_price > 4.9 && q->worker_price > 1.9);
    cw_plan_search_free(search);
    measured(job, 1000);
    ticks(job, 2000, 2);
    opened(job, 1, "rfbn");
    ticks(job, 3000, 1);
    assert_non_null(strstr(decided_of(job).reason, "All epochs cost "));
    made_up.options.objective = NULL;
    made_up.options.store_price = made_up.options.worker_price = 0;
}

/* The CPUs of a host are shared by the workers on it. */
static void cores_are_shared(void **state)
{
    (void)state;
    struct cw_job *job = begin_with("", "");
    struct cw_plan_search *search = cw_plan_question_make(job, "auto", NULL, true);
    assert_true(search->question.cores <= 0); /* not known */
    cw_plan_search_free(search);
    peers_worker_of(1)->host_cpus = 6;
    search = cw_plan_question_make(job, "auto", NULL, true);
    assert_true(search->question.cores > 5.9 && search->question.cores < 6.1);
    cw_plan_search_free(search);
    (void)peers_worker(2, 1);
    peers_worker_of(2)->host_cpus = 6;
    search = cw_plan_question_make(job, "auto", NULL, true);
    assert_true(search->question.cores > 2.9 && search->question.cores < 3.1);
    cw_plan_search_free(search);
}

/* A newer version has kept what this one cannot read: the job is planned by what it measures itself. */
static void what_a_newer_version_kept(void **state)
{
    (void)state;
    struct cw_job *job = begin_with("", "");
    cw_plan_profile_put(job, "{\"profile\": 1, \"elements\": 10, \"nodes\": {}, \"later\": 1}");
    ticks(job, 1000, 2);
    assert_false(job->plan.is_next);
    measured(job, 1000);
    ticks(job, 2000, 2);
    assert_true(job->plan.is_next && job->plan.last == 1);
    assert_null(strstr(cw_plan_profile_of(job), "later"));
}

/* Nobody else frees what jobs have measured. */
static int end(void **state)
{
    cw_job_optimizers_close(&made_up);
    return peers_end(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_better_order_is_tried_and_used, peers_begin, end),
        cmocka_unit_test_setup_teardown(one_that_is_dropped, peers_begin, end),
        cmocka_unit_test_setup_teardown(nobody_plans, peers_begin, end),
        cmocka_unit_test_setup_teardown(once, peers_begin, end),
        cmocka_unit_test_setup_teardown(cedar_plans, peers_begin, end),
        cmocka_unit_test_setup_teardown(pecan_plans, peers_begin, end),
        cmocka_unit_test_setup_teardown(a_plan_that_is_named, peers_begin, end),
        cmocka_unit_test_setup_teardown(a_relaxed_order_is_tried, peers_begin, end),
        cmocka_unit_test_setup_teardown(a_relaxed_order_is_refused, peers_begin, end),
        cmocka_unit_test_setup_teardown(prices_are_asked_for, peers_begin, end),
        cmocka_unit_test_setup_teardown(cores_are_shared, peers_begin, end),
        cmocka_unit_test_setup_teardown(what_a_newer_version_kept, peers_begin, end),
        cmocka_unit_test_setup_teardown(order_and_cache, peers_begin_caching, end),
        cmocka_unit_test_setup_teardown(after_a_restart, peers_begin_caching, end),
        cmocka_unit_test_setup_teardown(keys_that_nobody_tells, peers_begin_caching, end),
        cmocka_unit_test_setup_teardown(somebody_names_another, peers_begin_caching, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
