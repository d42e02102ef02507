/* SPDX-License-Identifier: Apache-2.0 */
/* What tools ask of the dispatcher: each call with its answer, and each refusal. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/version.h"
#include "dispatcher/admin/admin.h"
#include "dispatcher/admin/walk.h"
#include "dispatcher/job/job.h"
#include "dispatcher/scaling/scaling.h"
#include "loop/offload.h"
#include "unit/dispatcher/peers.h"

static char job_a[] = "a";

/* ---- what there is ---- */
static void info_says_who_it_is(void **state)
{
    (void)state;
    Cachew__V1__InfoRequest request = CACHEW__V1__INFO_REQUEST__INIT;
    request.protocol = CW_PROTOCOL;
    const struct peers_answer *got =
        peers_ask("Info", &request.base, &cachew__v1__info_reply__descriptor);
    const Cachew__V1__InfoReply *info = (const Cachew__V1__InfoReply *)got->reply;
    assert_string_equal(info->version, CW_VERSION);
    assert_int_equal(info->protocol, CW_PROTOCOL);
    assert_int_equal(info->generation, made_up.generation);
}

static void info_says_which_protocol_is_spoken(void **state)
{
    (void)state;
    static const uint32_t asked_and_told[][2] = {
        {0, 1}, {1, 1}, {CW_PROTOCOL, CW_PROTOCOL}, {CW_PROTOCOL + 1, CW_PROTOCOL}};
    for (size_t i = 0; i < CW_ARRAY_LEN(asked_and_told); i++) {
        Cachew__V1__InfoRequest request = CACHEW__V1__INFO_REQUEST__INIT;
        request.protocol = asked_and_told[i][0];
        const struct peers_answer *got =
            peers_ask("Info", &request.base, &cachew__v1__info_reply__descriptor);
        const Cachew__V1__InfoReply *info = (const Cachew__V1__InfoReply *)got->reply;
        assert_int_equal(info->protocol, CW_MAX(asked_and_told[i][1], CW_PROTOCOL_OLDEST));
    }
}

/* So many are listed in several iterations of the loop. */
static void many_workers_are_listed_once(void **state)
{
    (void)state;
    const size_t n = 450;
    for (uint64_t id = 1; id <= n; id++)
        (void)peers_worker(id, 1);
    Cachew__V1__ListWorkersRequest request = CACHEW__V1__LIST_WORKERS_REQUEST__INIT;
    const struct peers_answer *got =
        peers_ask("ListWorkers", &request.base, &cachew__v1__list_workers_reply__descriptor);
    const Cachew__V1__ListWorkersReply *list = (const Cachew__V1__ListWorkersReply *)got->reply;
    assert_non_null(list);
    assert_int_equal(list->n_workers, n);
    assert_int_equal(list->generation, made_up.generation);
    assert_string_equal(list->provisioner, "none");
    for (size_t i = 0; i < n; i++)
        assert_int_equal(list->workers[i]->worker_id, i + 1);
    assert_int_equal(peers_slices_n(), n / CW_WALK_SLICE);
}

static int workers_walked;
static void on_walked(struct cw_walk *walk, const struct cw_worker *worker)
{
    (void)walk;
    (void)worker;
    workers_walked++;
}
static bool walk_is_done;
static void on_walk_done(struct cw_walk *walk, bool all)
{
    (void)walk;
    assert_true(all);
    walk_is_done = true;
}

/* Who there is is noted in parts, too. Between two of them the last ones that were noted go, and so does one that
 * was not noted, and some come. */
static void workers_that_go_while_they_are_noted(void **state)
{
    (void)state;
    const uint64_t n = 3 * CW_WALK_NOTED;
    for (uint64_t id = 1; id <= n; id++)
        (void)peers_worker(id, 1);
    struct cw_walk walk = {.d = &made_up, .on_worker = on_walked, .done = on_walk_done};
    workers_walked = 0;
    walk_is_done = false;
    cw_walk_begin(&walk);
    assert_int_equal(walk.workers_n, CW_WALK_NOTED);
    for (uint64_t id = CW_WALK_NOTED - 4; id <= CW_WALK_NOTED; id++)
        peers_break(peers_worker_of(id)->stream, 0, "");
    peers_break(peers_worker_of(n)->stream, 0, "");
    for (uint64_t id = n + 1; id <= n + 10; id++)
        (void)peers_worker(id, 1);
    while (!walk_is_done)
        peers_turn();
    assert_in_range(workers_walked, n - 6,
                    n - 5); /* those who come may be noted for those who went */
}

static void many_jobs_are_listed_once(void **state)
{
    (void)state;
    const size_t n = 450;
    char id[16];
    for (size_t i = 0; i < n; i++) {
        snprintf(id, sizeof(id), "j%zu", i);
        (void)made_up_job(id, cachew__v1__job_options__unpack(NULL, 0, NULL),
                          cachew__v1__plan_info__unpack(NULL, 0, NULL));
    }
    Cachew__V1__ListJobsRequest request = CACHEW__V1__LIST_JOBS_REQUEST__INIT;
    const struct peers_answer *got =
        peers_ask("ListJobs", &request.base, &cachew__v1__list_jobs_reply__descriptor);
    const Cachew__V1__ListJobsReply *list = (const Cachew__V1__ListJobsReply *)got->reply;
    assert_int_equal(list->n_jobs, n);
    assert_int_equal(list->generation, made_up.generation);
    const struct cw_job *job = made_up.jobs;
    for (size_t i = 0; i < n; i++, job = job->next)
        assert_string_equal(list->jobs[i]->job_id, job->id);
    assert_int_equal(peers_slices_n(), n / CW_WALK_SLICE);
}

/* A job that is looked at with many workers is worth many that have none. */
static void what_costs_more_is_walked_in_smaller_parts(void **state)
{
    (void)state;
    struct cw_job *job = peers_running("a", NULL);
    for (uint64_t id = 2; id <= 640; id++) {
        (void)peers_worker(id, 1);
        (void)cw_share_get(job, peers_worker_of(id));
    }
    const size_t n = 2 * CW_WALK_SLICE - 5;
    for (size_t i = 0; i < n; i++) {
        char id[16];
        snprintf(id, sizeof(id), "j%zu", i);
        (void)made_up_job(id, cachew__v1__job_options__unpack(NULL, 0, NULL),
                          cachew__v1__plan_info__unpack(NULL, 0, NULL));
    }
    Cachew__V1__ListJobsRequest request = CACHEW__V1__LIST_JOBS_REQUEST__INIT;
    (void)peers_ask("ListJobs", &request.base, &cachew__v1__list_jobs_reply__descriptor);
    /* By their number alone the jobs are two parts, of which the second is noted. (On a slow machine
     * other jobs have got workers by now, and there are more parts.) */
    assert_true(n + 1 <= 2 * CW_WALK_SLICE);
    assert_true(peers_slices_n() >= 2);
}

static const Cachew__V1__JobRow *only_row(void)
{
    Cachew__V1__ListJobsRequest request = CACHEW__V1__LIST_JOBS_REQUEST__INIT;
    const struct peers_answer *got =
        peers_ask("ListJobs", &request.base, &cachew__v1__list_jobs_reply__descriptor);
    const Cachew__V1__ListJobsReply *list = (const Cachew__V1__ListJobsReply *)got->reply;
    assert_int_equal(list->n_jobs, 1);
    return list->jobs[0];
}

static void jobs_are_listed_with_their_state(void **state)
{
    (void)state;
    Cachew__V1__JobOptions options = CACHEW__V1__JOB_OPTIONS__INIT;
    options.name = job_a;
    options.epochs = 1;
    struct cw_stream *trainer = peers_trainer(100, &options);
    assert_string_equal(only_row()->state, "preparing");
    struct cw_stream *worker = peers_worker(1, 2);
    peers_prepared(worker, 10);
    peers_turn();
    const Cachew__V1__JobRow *row = only_row();
    assert_string_equal(row->state, "running");
    assert_string_equal(row->name, "a");
    assert_true(row->items == 10 && row->clients == 1 && row->consumers == 1 && row->assigned == 1);
    assert_string_equal(row->tenant, "default");
    assert_string_equal(row->autoscale, "off");
    assert_string_equal(row->cache, ""); /* there is no store at all */
    peers_break(trainer, CW_E_UNAVAILABLE, "gone");
    assert_string_equal(only_row()->state, "waiting");
    made_up.jobs->status = CW_JOB_FINISHED;
    assert_string_equal(only_row()->state, "finished");
    made_up.jobs->status = CW_JOB_RUNNING;
    cw_job_fail(made_up.jobs, CW_E_IO, "the disk is gone");
    row = only_row();
    assert_string_equal(row->state, "failed");
    assert_string_equal(row->error, "the disk is gone");
}

static void jobs_are_listed_with_their_cache(void **state)
{
    (void)state;
    (void)peers_running("a", NULL);
    assert_string_equal(only_row()->cache, "default");
    char *own = made_up.jobs->options->cache;
    made_up.jobs->options->cache = job_a; /* no cache of this name is attached (yet) */
    const Cachew__V1__JobRow *row = only_row();
    made_up.jobs->options->cache = own;
    assert_string_equal(row->cache, "a");
}

static const Cachew__V1__ListWorkersReply *list_workers(void)
{
    Cachew__V1__ListWorkersRequest request = CACHEW__V1__LIST_WORKERS_REQUEST__INIT;
    const struct peers_answer *got =
        peers_ask("ListWorkers", &request.base, &cachew__v1__list_workers_reply__descriptor);
    return (const Cachew__V1__ListWorkersReply *)got->reply;
}

static void workers_are_listed_once_they_said_hello(void **state)
{
    (void)state;
    struct cw_job *job = peers_running("a", NULL);
    (void)peers_attach("Fleet/Attach"); /* says nothing */
    const Cachew__V1__ListWorkersReply *list = list_workers();
    assert_int_equal(list->n_workers, 1);
    assert_string_equal(list->provisioner, "none");
    const Cachew__V1__WorkerRow *row = list->workers[0];
    assert_string_equal(row->address, "worker1:1");
    assert_string_equal(row->state, "ready");
    assert_true(row->worker_id == 1 && row->threads == 2 && row->leased > 0);
    assert_int_equal(row->n_jobs, 1);
    assert_string_equal(row->jobs[0], job->id);
}

static void tenants_are_listed_by_name(void **state)
{
    (void)state;
    made_up.options.tenants = (struct cw_arg_list){.n = 1, .v = {"b:max-jobs=3,weight=2"}};
    struct cw_job *job = peers_running("a", NULL);
    (void)cw_tenant_get(&made_up, "b");
    (void)cw_tenant_get(&made_up, "a");
    job->usage.elements = 5;
    Cachew__V1__ListTenantsRequest request = CACHEW__V1__LIST_TENANTS_REQUEST__INIT;
    const struct peers_answer *got =
        peers_ask("ListTenants", &request.base, &cachew__v1__list_tenants_reply__descriptor);
    const Cachew__V1__ListTenantsReply *list = (const Cachew__V1__ListTenantsReply *)got->reply;
    assert_int_equal(list->n_tenants, 3);
    assert_string_equal(list->tenants[0]->tenant, "a");
    assert_string_equal(list->tenants[1]->tenant, "b");
    assert_string_equal(list->tenants[2]->tenant, "default");
    const Cachew__V1__TenantRow *b = list->tenants[1], *own = list->tenants[2];
    assert_true(b->weight == 2 && b->max_jobs == 3 && b->max_jobs_set && b->jobs == 0);
    assert_true(own->jobs == 1 && own->workers == 1 && own->usage->elements == 5);
    assert_true(!own->max_jobs_set && own->max_jobs == 0);
}

static void a_job_is_shown_with_its_graph(void **state)
{
    (void)state;
    struct cw_job *job = peers_running("a", NULL);
    Cachew__V1__GetJobRequest request = CACHEW__V1__GET_JOB_REQUEST__INIT;
    request.job = job_a;
    const struct peers_answer *got =
        peers_ask("GetJob", &request.base, &cachew__v1__get_job_reply__descriptor);
    const Cachew__V1__GetJobReply *reply = (const Cachew__V1__GetJobReply *)got->reply;
    assert_string_equal(reply->job->job_id, job->id);
    Cachew__V1__Graph *graph = cachew__v1__graph__unpack(NULL, reply->graph.len, reply->graph.data);
    assert_int_equal(graph->n_nodes, 1);
    assert_string_equal(graph->nodes[0]->op, "range");
    cachew__v1__graph__free_unpacked(graph, NULL);
}

/* ---- every call about a job ---- */
static void unknown_jobs_are_refused(void **state)
{
    (void)state;
    char none[] = "no such";
    Cachew__V1__GetJobRequest get = CACHEW__V1__GET_JOB_REQUEST__INIT;
    Cachew__V1__RemoveJobRequest removes = CACHEW__V1__REMOVE_JOB_REQUEST__INIT;
    Cachew__V1__ScaleJobRequest scale = CACHEW__V1__SCALE_JOB_REQUEST__INIT;
    Cachew__V1__SkipItemsRequest skip = CACHEW__V1__SKIP_ITEMS_REQUEST__INIT;
    Cachew__V1__ExplainRequest explain = CACHEW__V1__EXPLAIN_REQUEST__INIT;
    get.job = removes.job = scale.job = skip.job = explain.job = none;
    const struct {
        const char *method;
        const ProtobufCMessage *request;
    } calls[] = {{"GetJob", &get.base},
                 {"RemoveJob", &removes.base},
                 {"ScaleJob", &scale.base},
                 {"SkipItems", &skip.base},
                 {"Explain", &explain.base}};
    for (size_t i = 0; i < CW_ARRAY_LEN(calls); i++)
        peers_refused(calls[i].method, calls[i].request, CW_E_NOT_FOUND,
                      "there is no job \"no such\"");
}

static void what_is_no_message_is_refused(void **state)
{
    (void)state;
    static const char *const names[] = {
        "DrainWorker",     "RemoveJob",     "ScaleJob",    "SkipItems",  "GetJob",
        "Explain",         "ListDecisions", "CacheList",   "CacheEvict", "CachePin",
        "CacheScan",       "CacheAttach",   "CacheDetach", "CacheClose", "CacheDescribe",
        "CacheNoteSource", "ScaleFleet",    "ReplanJob"};
    for (size_t i = 0; i < CW_ARRAY_LEN(names); i++) {
        const struct peers_answer *got = peers_ask_bytes(names[i], "\xff\xff\xff");
        assert_int_equal(got->code, CW_E_INVALID);
        assert_true(got->msg[0] != '\0');
    }
}

/* ---- the fleet ---- */
static void a_fleet_without_deployments_is_not_held(void **state)
{
    (void)state;
    Cachew__V1__ScaleFleetRequest request = CACHEW__V1__SCALE_FLEET_REQUEST__INIT;
    request.hold = true;
    peers_refused("ScaleFleet", &request.base, CW_E_UNSUPPORTED, "only that of Kubernetes");
}

/* ---- drain ---- */
static void a_worker_is_drained_by_address_or_id(void **state)
{
    (void)state;
    struct cw_stream *one = peers_worker(1, 2), *two = peers_worker(0xab, 2);
    char address[] = "worker1:1", id[] = "00000000000000ab", none[] = "worker9:1";
    Cachew__V1__DrainWorkerRequest request = CACHEW__V1__DRAIN_WORKER_REQUEST__INIT;
    const ProtobufCMessageDescriptor *type = &cachew__v1__drain_worker_reply__descriptor;
    request.worker = address;
    const struct peers_answer *got = peers_ask("DrainWorker", &request.base, type);
    assert_int_equal(((const Cachew__V1__DrainWorkerReply *)got->reply)->worker_id, 1);
    assert_non_null(peers_to_worker(one, CACHEW__V1__WORKER_COMMAND__KIND_DRAIN));
    peers_forget(one);
    (void)peers_ask("DrainWorker", &request.base, type); /* it knows */
    assert_null(peers_to_worker(one, CACHEW__V1__WORKER_COMMAND__KIND_DRAIN));
    assert_null(peers_to_worker(two, CACHEW__V1__WORKER_COMMAND__KIND_DRAIN));
    request.worker = id;
    (void)peers_ask("DrainWorker", &request.base, type);
    assert_non_null(peers_to_worker(two, CACHEW__V1__WORKER_COMMAND__KIND_DRAIN));
    request.worker = none;
    peers_refused("DrainWorker", &request.base, CW_E_NOT_FOUND, "no worker \"worker9:1\"");
}

/* ---- remove ---- */
static void a_removed_job_is_not_begun_again(void **state)
{
    (void)state;
    struct cw_stream *trainer;
    struct cw_job *job = peers_running("a", &trainer);
    cw_autofree char *id = cw_mem_strdup(job->id);
    Cachew__V1__RemoveJobRequest request = CACHEW__V1__REMOVE_JOB_REQUEST__INIT;
    request.job = job_a;
    const struct peers_answer *got =
        peers_ask("RemoveJob", &request.base, &cachew__v1__remove_job_reply__descriptor);
    assert_non_null(got->reply);
    assert_null(made_up.jobs);
    assert_int_equal(peers_end_code(trainer), CW_E_NOT_FOUND);
    assert_non_null(strstr(peers_end_msg(trainer), "it was removed by request"));
    const Cachew__V1__WorkerCommand *forget =
        peers_to_worker(peers_worker_of(1)->stream, CACHEW__V1__WORKER_COMMAND__KIND_FORGET);
    assert_non_null(forget);
    assert_string_equal(forget->forget->job_id, id);
    assert_non_null(cw_strmap_get(&made_up.removed_ids, id));
}

/* ---- scale ---- */
static void scaling_is_changed_and_refused(void **state)
{
    (void)state;
    struct cw_job *job = peers_running("a", NULL);
    char empty[] = "", wrong[] = "fastest", two[] = "fixed:2";
    Cachew__V1__ScaleJobRequest request = CACHEW__V1__SCALE_JOB_REQUEST__INIT;
    request.job = job_a;
    request.policy = empty;
    peers_refused("ScaleJob", &request.base, CW_E_INVALID, "no policy was given");
    request.policy = wrong;
    peers_refused("ScaleJob", &request.base, CW_E_INVALID, "fastest");
    assert_null(job->scaling);
    request.policy = two;
    const struct peers_answer *got =
        peers_ask("ScaleJob", &request.base, &cachew__v1__scale_job_reply__descriptor);
    assert_non_null(got->reply);
    assert_non_null(job->scaling);
    assert_string_equal(job->scaling->policy->name, "fixed");
    assert_string_equal(only_row()->autoscale, "fixed:2");
    job->status = CW_JOB_FINISHED;
    peers_refused("ScaleJob", &request.base, CW_E_STATE, "the job is over");
}

/* ---- skip ---- */
static void items_are_skipped_within_the_job(void **state)
{
    (void)state;
    struct cw_stream *trainer;
    struct cw_job *job = peers_running("a", &trainer);
    Cachew__V1__SkipItemsRequest request = CACHEW__V1__SKIP_ITEMS_REQUEST__INIT;
    request.job = job_a;
    static const struct {
        uint64_t epoch, lo, hi;
    } none[] = {{0, 3, 3}, {0, 10, 12}, {2, 0, 1}};
    for (size_t i = 0; i < CW_ARRAY_LEN(none); i++) {
        request.epoch = none[i].epoch, request.lo = none[i].lo, request.hi = none[i].hi;
        peers_refused("SkipItems", &request.base, CW_E_INVALID, "the job has no such batches");
    }
    request.epoch = 0, request.lo = 8, request.hi = 100;
    const struct peers_answer *got =
        peers_ask("SkipItems", &request.base, &cachew__v1__skip_items_reply__descriptor);
    const Cachew__V1__SkipItemsReply *reply = (const Cachew__V1__SkipItemsReply *)got->reply;
    assert_true(reply->skipped == 2 && reply->consumed == 0);
    assert_true(cw_set_has_range(&cw_job_epoch(job, 0)->skipped, 8, 10));
    const Cachew__V1__ClientCommand *told =
        peers_to_client(trainer, CACHEW__V1__CLIENT_COMMAND__KIND_SKIPPED);
    assert_non_null(told);
    assert_int_equal(told->skipped->items[0]->items[0]->lo, 8);
    job->status = CW_JOB_FINISHED;
    peers_refused("SkipItems", &request.base, CW_E_INVALID, "the job is not running");
}

/* ---- what is changed, while nothing can be stored any more ---- */
static void what_is_not_stored_is_said_to_be_done(void **state)
{
    (void)state;
    (void)peers_running("a", NULL);
    made_up.stopping = true;
    Cachew__V1__SkipItemsRequest request = CACHEW__V1__SKIP_ITEMS_REQUEST__INIT;
    request.job = job_a;
    request.hi = 1;
    peers_refused("SkipItems", &request.base, CW_E_UNAVAILABLE, "it is done, but not stored yet");
    made_up.stopping = false;
}

/* ---- explain, decisions ---- */
static void explain_shows_the_job(void **state)
{
    (void)state;
    struct cw_job *job = peers_running("a", NULL);
    Cachew__V1__ScaleJobRequest scale = CACHEW__V1__SCALE_JOB_REQUEST__INIT;
    char one[] = "fixed:1", kind[] = "autoscale", other[] = "autocache";
    scale.job = job_a;
    scale.policy = one;
    (void)peers_ask("ScaleJob", &scale.base, NULL);
    const struct cw_state_decision made = {.kind = "autoscale",
                                           .policy = "fixed:1",
                                           .choice = "1 worker",
                                           .reason = "It was told.",
                                           .inputs = "{}",
                                           .candidates = "one\ntwo"};
    cw_decision_record(&made_up, job, &made);
    Cachew__V1__ExplainRequest request = CACHEW__V1__EXPLAIN_REQUEST__INIT;
    request.job = job_a;
    const struct peers_answer *got =
        peers_ask("Explain", &request.base, &cachew__v1__explain_reply__descriptor);
    const Cachew__V1__ExplainReply *explained = (const Cachew__V1__ExplainReply *)got->reply;
    assert_string_equal(explained->job->name, "a");
    assert_string_equal(explained->policy, "");
    assert_true(explained->n_decisions > 0);
    const Cachew__V1__Decision *last = explained->decisions[explained->n_decisions - 1];
    assert_string_equal(last->choice, "1 worker");
    assert_int_equal(last->n_candidates, 2);
    assert_string_equal(last->candidates[1], "two");
    const size_t all = explained->n_decisions;

    Cachew__V1__ListDecisionsRequest list = CACHEW__V1__LIST_DECISIONS_REQUEST__INIT;
    const ProtobufCMessageDescriptor *type = &cachew__v1__list_decisions_reply__descriptor;
    list.job = job_a;
    list.kind = kind;
    list.brief = true;
    got = peers_ask("ListDecisions", &list.base, type);
    const Cachew__V1__ListDecisionsReply *listed =
        (const Cachew__V1__ListDecisionsReply *)got->reply;
    assert_int_equal(listed->n_decisions, all);
    assert_int_equal(listed->decisions[all - 1]->n_candidates, 0); /* brief */
    assert_false(listed->over || listed->more);
    list.kind = other;
    got = peers_ask("ListDecisions", &list.base, type);
    assert_int_equal(((const Cachew__V1__ListDecisionsReply *)got->reply)->n_decisions, 0);
}

static void decisions_are_read_from_one_on(void **state)
{
    (void)state;
    struct cw_job *job = peers_running("a", NULL);
    for (int i = 0; i < 5; i++) {
        const struct cw_state_decision made = {.kind = "autoscale",
                                               .policy = "p",
                                               .choice = "c",
                                               .reason = "r",
                                               .inputs = "{}",
                                               .candidates = ""};
        cw_decision_record(&made_up, job, &made);
    }
    Cachew__V1__ListDecisionsRequest list = CACHEW__V1__LIST_DECISIONS_REQUEST__INIT;
    const ProtobufCMessageDescriptor *type = &cachew__v1__list_decisions_reply__descriptor;
    list.limit = 2;
    const struct peers_answer *got = peers_ask("ListDecisions", &list.base, type);
    const Cachew__V1__ListDecisionsReply *listed =
        (const Cachew__V1__ListDecisionsReply *)got->reply;
    assert_int_equal(listed->n_decisions, 2); /* the latest, oldest first */
    assert_true(listed->decisions[0]->id < listed->decisions[1]->id);
    uint64_t last = listed->decisions[1]->id;
    list.after_id = last - 4;
    got = peers_ask("ListDecisions", &list.base, type);
    listed = (const Cachew__V1__ListDecisionsReply *)got->reply;
    assert_true(listed->n_decisions == 2 && listed->more && listed->decisions[0]->id == last - 3);
    char none[] = "no such";
    list.job = none;
    assert_int_equal(peers_ask("ListDecisions", &list.base, type)->code, CW_E_NOT_FOUND);
}

static pthread_t printed_by;
void __real_cw_metrics_page_print(const struct cw_metrics_page *page, struct cw_str *out);
void __wrap_cw_metrics_page_print(const struct cw_metrics_page *page, struct cw_str *out);
void __wrap_cw_metrics_page_print(const struct cw_metrics_page *page, struct cw_str *out)
{
    printed_by = pthread_self();
    __real_cw_metrics_page_print(page, out);
}

static const char *ask_metrics(void)
{
    Cachew__V1__GetMetricsRequest request = CACHEW__V1__GET_METRICS_REQUEST__INIT;
    const struct peers_answer *got =
        peers_ask("GetMetrics", &request.base, &cachew__v1__get_metrics_reply__descriptor);
    return ((const Cachew__V1__GetMetricsReply *)got->reply)->text;
}

static void metrics_are_text(void **state)
{
    (void)state;
    (void)peers_running("a", NULL);
    const char *text = ask_metrics();
    assert_non_null(strstr(text, "\ncachew_workers{state=\"ready\"} 1.0\n"));
    assert_non_null(strstr(text, "\ncachew_job_clients{job=\""));
}

static size_t count(const char *text, const char *part)
{
    size_t n = 0;
    for (; (text = strstr(text, part)) != NULL; text++)
        n++;
    return n;
}

/* Metrics of a fleet: the loop's thread collects them, a part in each turn, and prints nothing. */
static void metrics_of_many_are_printed_by_another_thread(void **state)
{
    (void)state;
    const size_t n = 450;
    made_up.offload = cw_offload_queue_new(made_up.loop, "test-print");
    (void)peers_running("a", NULL);
    for (uint64_t id = 2; id <= n; id++)
        (void)peers_worker(id, 1);
    const char *text = ask_metrics();
    assert_int_equal(count(text, "\ncachew_worker_threads{"), n);
    assert_int_equal(count(text, "\ncachew_worker_items_total{"), n);
    assert_int_equal(count(text, "\ncachew_job_clients{"), 1);
    assert_int_equal(count(text, "\ncachew_tenant_jobs{"), 1);
    assert_int_equal(count(text, "# TYPE cachew_worker_threads gauge\n"), 1);
    assert_true(peers_slices_n() >= n / CW_WALK_SLICE);
    assert_false(pthread_equal(printed_by, pthread_self()));
    cw_offload_queue_free(cw_steal(&made_up.offload));
}

/* ---- a copy of the state ---- */
static void a_backup_comes_in_parts(void **state)
{
    (void)state;
    (void)peers_running("a", NULL);
    struct cw_stream *stream = peers_attach("Admin/Backup"), *second;
    Cachew__V1__BackupRequest request = CACHEW__V1__BACKUP_REQUEST__INIT;
    second = peers_attach("Admin/Backup");
    assert_int_equal(peers_end_code(second), CW_E_UNAVAILABLE);
    assert_non_null(strstr(peers_end_msg(second), "another copy of the state is being made"));
    peers_say(second, &request.base); /* changes nothing */
    peers_break(second, 0, "");
    peers_say(stream, &request.base);
    peers_say(stream, &request.base); /* it is begun once */
    while (!peers_is_ended(stream))
        peers_turn();
    assert_int_equal(peers_end_code(stream), 0);
    uint64_t bytes = 0;
    const Cachew__V1__BackupPart *part = peers_part(stream, 0);
    for (size_t i = 0; part && !part->last; part = peers_part(stream, ++i))
        bytes += part->data.len;
    assert_non_null(part);
    assert_true(bytes > 0 && part->size == bytes && part->generation == made_up.generation);
    peers_break(stream, 0, "");
    assert_null(made_up.backup);
    made_up.stopping = true;
    second = peers_attach("Admin/Backup");
    assert_non_null(strstr(peers_end_msg(second), "the dispatcher is stopping"));
    made_up.stopping = false;
    peers_break(second, 0, "");
}

static void nobody_waits_for_a_backup(void **state)
{
    (void)state;
    (void)peers_running("a", NULL);
    Cachew__V1__BackupRequest request = CACHEW__V1__BACKUP_REQUEST__INIT;
    struct cw_stream *stream = peers_attach("Admin/Backup");
    peers_break(stream, CW_E_UNAVAILABLE, "gone before it asked");
    assert_null(made_up.backup);
    stream = peers_attach("Admin/Backup");
    peers_say(stream, &request.base);
    peers_break(stream, CW_E_UNAVAILABLE, "gone while it is made");
    while (made_up.backup)
        peers_turn();
    assert_null(peers_part(stream, 0));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, peers_begin, peers_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(info_says_who_it_is),
        TEST(many_workers_are_listed_once),
        TEST(workers_that_go_while_they_are_noted),
        TEST(many_jobs_are_listed_once),
        TEST(what_costs_more_is_walked_in_smaller_parts),
        TEST(info_says_which_protocol_is_spoken),
        TEST(jobs_are_listed_with_their_state),
        cmocka_unit_test_setup_teardown(jobs_are_listed_with_their_cache, peers_begin_caching,
                                        peers_end),
        TEST(workers_are_listed_once_they_said_hello),
        TEST(tenants_are_listed_by_name),
        TEST(a_job_is_shown_with_its_graph),
        TEST(unknown_jobs_are_refused),
        TEST(what_is_no_message_is_refused),
        TEST(a_fleet_without_deployments_is_not_held),
        TEST(a_worker_is_drained_by_address_or_id),
        TEST(a_removed_job_is_not_begun_again),
        TEST(scaling_is_changed_and_refused),
        TEST(items_are_skipped_within_the_job),
        TEST(what_is_not_stored_is_said_to_be_done),
        TEST(explain_shows_the_job),
        TEST(decisions_are_read_from_one_on),
        TEST(metrics_are_text),
        TEST(metrics_of_many_are_printed_by_another_thread),
        TEST(a_backup_comes_in_parts),
        TEST(nobody_waits_for_a_backup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
