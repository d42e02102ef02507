/* SPDX-License-Identifier: Apache-2.0 */
/* What tenants may see and change of each other: nothing. Two tenants, of whom each has a job and
 * something in the cache; the gate is not asked here (test_access.c). */
#include <stdio.h>
#include <string.h>

#include "base/version.h"
#include "dispatcher/access/access.h"
#include "dispatcher/cache/cache_int.h"
#include "dispatcher/job/job.h"
#include "unit/dispatcher/peers.h"

static const struct cw_caller vision = {.kind = CW_CALLER_TENANT, .name = "vision"},
                              audio = {.kind = CW_CALLER_TENANT, .name = "audio"},
                              root = {.kind = CW_CALLER_OPERATOR, .name = "root"};
static struct cw_caller beside; /* a worker of a job alone */
static char of_vision[] = "of-vision", of_audio[] = "of-audio";

static void begin_job(const struct cw_caller *caller, uint64_t client, char *name)
{
    Cachew__V1__JobOptions options = CACHEW__V1__JOB_OPTIONS__INIT;
    options.name = name;
    options.epochs = 2;
    peers_caller = caller;
    (void)peers_trainer(client, &options);
    peers_prepared(peers_worker_of(1)->stream, 10);
    peers_turn();
    assert_int_equal(cw_job_find(&made_up, name)->status, CW_JOB_RUNNING);
}

static int begin(void **state)
{
    peers_caller = NULL;
    if (peers_begin_caching(state) != 0)
        return -1;
    (void)peers_worker(1, 2);
    begin_job(&vision, 100, of_vision);
    begin_job(&audio, 101, of_audio);
    (void)made_up_chunk("vision", KEY_1, 0, 100, WALL);
    (void)made_up_chunk("audio", KEY_2, 0, 30, WALL);
    return 0;
}

static int end(void **state)
{
    peers_caller = NULL;
    return peers_end(state);
}

static struct cw_job *job_of(const char *name)
{
    return cw_job_find(&made_up, name);
}

/* A tenant's token makes the job that tenant's, also where the options do not say whose. */
static void jobs_are_of_the_token(void **state)
{
    char other[] = "audio";
    (void)state;
    assert_string_equal(job_of(of_vision)->tenant->name, "vision");
    assert_string_equal(job_of(of_audio)->tenant->name, "audio");
    Cachew__V1__JobOptions options = CACHEW__V1__JOB_OPTIONS__INIT;
    options.tenant = other;
    peers_caller = &vision;
    struct cw_stream *trainer = peers_trainer(200, &options);
    assert_int_equal(peers_end_code(trainer), CW_E_DENIED);
    peers_caller = &root; /* an operator may begin anybody's */
    trainer = peers_trainer(201, &options);
    assert_false(peers_is_ended(trainer));
}

static void jobs_of_others_are_not_joined(void **state)
{
    (void)state;
    peers_caller = &vision;
    struct cw_stream *trainer = peers_back(101, job_of(of_audio)->id);
    assert_int_equal(peers_end_code(trainer), CW_E_DENIED);
    Cachew__V1__JobOptions options = CACHEW__V1__JOB_OPTIONS__INIT;
    options.name = of_audio;
    options.epochs = 7; /* nobody is told that this is another number */
    trainer = peers_trainer(202, &options);
    assert_int_equal(peers_end_code(trainer), CW_E_EXISTS);
    assert_non_null(strstr(peers_end_msg(trainer), "another tenant"));
}

static size_t count_jobs(const struct cw_caller *caller)
{
    Cachew__V1__ListJobsRequest request = CACHEW__V1__LIST_JOBS_REQUEST__INIT;
    peers_caller = caller;
    const struct peers_answer *got =
        peers_ask("ListJobs", &request.base, &cachew__v1__list_jobs_reply__descriptor);
    const Cachew__V1__ListJobsReply *reply = (const Cachew__V1__ListJobsReply *)got->reply;
    for (size_t i = 0; i < reply->n_jobs; i++)
        assert_true(cw_access_sees_tenant(caller, reply->jobs[i]->tenant));
    return reply->n_jobs;
}

static void lists_show_own_things(void **state)
{
    Cachew__V1__ListTenantsRequest tenants = CACHEW__V1__LIST_TENANTS_REQUEST__INIT;
    Cachew__V1__CacheListRequest cache = CACHEW__V1__CACHE_LIST_REQUEST__INIT;
    Cachew__V1__ListWorkersRequest workers = CACHEW__V1__LIST_WORKERS_REQUEST__INIT;
    (void)state;
    assert_int_equal(count_jobs(&vision), 1);
    assert_int_equal(count_jobs(&audio), 1);
    assert_int_equal(count_jobs(&root), 2);
    assert_int_equal(count_jobs(NULL), 2);
    peers_caller = &vision;
    const struct peers_answer *got =
        peers_ask("ListTenants", &tenants.base, &cachew__v1__list_tenants_reply__descriptor);
    const Cachew__V1__ListTenantsReply *rows = (const Cachew__V1__ListTenantsReply *)got->reply;
    assert_int_equal(rows->n_tenants, 1);
    assert_string_equal(rows->tenants[0]->tenant, "vision");
    got = peers_ask("CacheList", &cache.base, &cachew__v1__cache_list_reply__descriptor);
    const Cachew__V1__CacheListReply *keys = (const Cachew__V1__CacheListReply *)got->reply;
    assert_int_equal(keys->n_rows, 1);
    assert_string_equal(keys->rows[0]->tenant, "vision");
    assert_int_equal(keys->n_tenants, 1);
    got = peers_ask("ListWorkers", &workers.base, &cachew__v1__list_workers_reply__descriptor);
    const Cachew__V1__ListWorkersReply *list = (const Cachew__V1__ListWorkersReply *)got->reply;
    assert_int_equal(list->n_workers, 1);
    for (size_t i = 0; i < list->workers[0]->n_jobs; i++)
        assert_string_equal(list->workers[0]->jobs[i], job_of(of_vision)->id);
}

static void info_hides_the_state_directory(void **state)
{
    Cachew__V1__InfoRequest request = CACHEW__V1__INFO_REQUEST__INIT;
    (void)state;
    peers_caller = &vision;
    const struct peers_answer *got =
        peers_ask("Info", &request.base, &cachew__v1__info_reply__descriptor);
    assert_string_equal(((const Cachew__V1__InfoReply *)got->reply)->state_dir, "");
    peers_caller = &root;
    got = peers_ask("Info", &request.base, &cachew__v1__info_reply__descriptor);
    assert_string_equal(((const Cachew__V1__InfoReply *)got->reply)->state_dir,
                        made_up.options.state_dir);
}

/* A job of another tenant is answered like one that is not there, by name and by id. */
static void calls_about_other_jobs(void **state)
{
    char *const names[] = {of_audio, job_of(of_audio)->id};
    char policy[] = "off";
    (void)state;
    peers_caller = &vision;
    for (size_t i = 0; i < CW_ARRAY_LEN(names); i++) {
        Cachew__V1__RemoveJobRequest remove = CACHEW__V1__REMOVE_JOB_REQUEST__INIT;
        Cachew__V1__SkipItemsRequest skip = CACHEW__V1__SKIP_ITEMS_REQUEST__INIT;
        Cachew__V1__ScaleJobRequest scale = CACHEW__V1__SCALE_JOB_REQUEST__INIT;
        Cachew__V1__GetJobRequest get = CACHEW__V1__GET_JOB_REQUEST__INIT;
        Cachew__V1__ExplainRequest explain = CACHEW__V1__EXPLAIN_REQUEST__INIT;
        Cachew__V1__ListDecisionsRequest decisions = CACHEW__V1__LIST_DECISIONS_REQUEST__INIT;
        remove.job = skip.job = scale.job = get.job = explain.job = decisions.job = names[i];
        scale.policy = policy;
        skip.hi = 3;
        peers_refused("RemoveJob", &remove.base, CW_E_NOT_FOUND, "there is no job");
        peers_refused("SkipItems", &skip.base, CW_E_NOT_FOUND, "there is no job");
        peers_refused("ScaleJob", &scale.base, CW_E_NOT_FOUND, "there is no job");
        peers_refused("GetJob", &get.base, CW_E_NOT_FOUND, "there is no job");
        peers_refused("Explain", &explain.base, CW_E_NOT_FOUND, "there is no job");
        peers_refused("ListDecisions", &decisions.base, CW_E_NOT_FOUND, "there is no job");
    }
    assert_int_equal(job_of(of_audio)->status, CW_JOB_RUNNING);
    assert_int_equal(job_of(of_audio)->skipped_items, 0);
    peers_caller = &audio;
    Cachew__V1__RemoveJobRequest remove = CACHEW__V1__REMOVE_JOB_REQUEST__INIT;
    remove.job = of_audio;
    assert_non_null(
        peers_ask("RemoveJob", &remove.base, &cachew__v1__remove_job_reply__descriptor)->reply);
    assert_null(job_of(of_audio));
}

static size_t count_decisions(const struct cw_caller *caller)
{
    Cachew__V1__ListDecisionsRequest request = CACHEW__V1__LIST_DECISIONS_REQUEST__INIT;
    peers_caller = caller;
    const struct peers_answer *got =
        peers_ask("ListDecisions", &request.base, &cachew__v1__list_decisions_reply__descriptor);
    const Cachew__V1__ListDecisionsReply *reply =
        (const Cachew__V1__ListDecisionsReply *)got->reply;
    const char *own = cw_access_tenant_of(caller);
    for (size_t i = 0; own && i < reply->n_decisions; i++)
        assert_string_equal(reply->decisions[i]->job_id,
                            job_of(strcmp(own, "vision") == 0 ? of_vision : of_audio)->id);
    return reply->n_decisions;
}

static void decisions_of_own_jobs_are_listed(void **state)
{
    char policy[] = "fixed:1";
    Cachew__V1__ScaleJobRequest scale = CACHEW__V1__SCALE_JOB_REQUEST__INIT;
    (void)state;
    scale.policy = policy;
    scale.job = of_vision;
    peers_caller = &vision;
    assert_non_null(
        peers_ask("ScaleJob", &scale.base, &cachew__v1__scale_job_reply__descriptor)->reply);
    size_t all = count_decisions(&root), of_one = count_decisions(&vision),
           of_other = count_decisions(&audio);
    assert_true(of_one > 0);
    assert_true(of_one + of_other <= all);
}

/* What is hidden does not take the place of what is shown, and nobody is told to ask again for it. */
static void decisions_of_others_do_not_count(void **state)
{
    struct cw_state_decision made = {.kind = "autoscale",
                                     .policy = "p",
                                     .choice = "c",
                                     .reason = "r",
                                     .inputs = "{}",
                                     .candidates = ""};
    Cachew__V1__ListDecisionsRequest list = CACHEW__V1__LIST_DECISIONS_REQUEST__INIT;
    const ProtobufCMessageDescriptor *type = &cachew__v1__list_decisions_reply__descriptor;
    (void)state;
    cw_decision_record(&made_up, job_of(of_vision), &made);
    for (int i = 0; i < 5; i++)
        cw_decision_record(&made_up, job_of(of_audio), &made);
    peers_caller = &vision;
    list.limit = 2;
    const Cachew__V1__ListDecisionsReply *reply =
        (const Cachew__V1__ListDecisionsReply *)peers_ask("ListDecisions", &list.base, type)->reply;
    assert_true(reply->n_decisions > 0);
    list.after_id = reply->decisions[reply->n_decisions - 1]->id;
    reply =
        (const Cachew__V1__ListDecisionsReply *)peers_ask("ListDecisions", &list.base, type)->reply;
    assert_true(reply->n_decisions == 0 && !reply->more);
    cw_decision_record(&made_up, job_of(of_vision), &made);
    reply =
        (const Cachew__V1__ListDecisionsReply *)peers_ask("ListDecisions", &list.base, type)->reply;
    assert_int_equal(reply->n_decisions, 1);
    assert_string_equal(reply->decisions[0]->job_id, job_of(of_vision)->id);
}

static void caches_of_others_stay(void **state)
{
    char other[] = "audio", none[] = "nobody", key[CW_HASH_TEXT_BYTES];
    Cachew__V1__CacheEvictRequest evict = CACHEW__V1__CACHE_EVICT_REQUEST__INIT;
    Cachew__V1__CachePinRequest pin = CACHEW__V1__CACHE_PIN_REQUEST__INIT;
    (void)state;
    cw_hash_text(KEY_2, key);
    peers_caller = &vision;
    evict.key = pin.key = key;
    peers_refused("CacheEvict", &evict.base, CW_E_NOT_FOUND, "no key");
    peers_refused("CachePin", &pin.base, CW_E_NOT_FOUND, "no key");
    evict.tenant = pin.tenant = other;
    peers_refused("CacheEvict", &evict.base, CW_E_DENIED, "another tenant's");
    peers_refused("CachePin", &pin.base, CW_E_DENIED, "another tenant's");
    cachew__v1__cache_evict_request__init(&evict);
    evict.all = true; /* of the own cache */
    const struct peers_answer *got =
        peers_ask("CacheEvict", &evict.base, &cachew__v1__cache_evict_reply__descriptor);
    assert_int_equal(((const Cachew__V1__CacheEvictReply *)got->reply)->bytes, 100);
    assert_int_equal(cw_catalogue_tenant(made_up.cache->catalogue, other)->bytes, 30);
    /* A tenant that is asked for is not made by that. */
    size_t n = made_up.cache->catalogue->tenants.n;
    peers_caller = &root;
    evict.tenant = none;
    got = peers_ask("CacheEvict", &evict.base, &cachew__v1__cache_evict_reply__descriptor);
    assert_int_equal(((const Cachew__V1__CacheEvictReply *)got->reply)->chunks, 0);
    assert_int_equal(made_up.cache->catalogue->tenants.n, n);
}

static struct cw_stream *beside_says(const char *only_job)
{
    struct cw_stream *stream = peers_attach("Fleet/Attach");
    cw_autofree char *job = cw_mem_strdup(only_job);
    char version[] = "", address[] = "beside:1";
    Cachew__V1__WorkerHello hello = CACHEW__V1__WORKER_HELLO__INIT;
    hello.version = version;
    hello.worker_id = 77;
    hello.address = address;
    hello.threads = 1;
    hello.only_job = job;
    hello.protocol = CW_PROTOCOL;
    Cachew__V1__WorkerMessage message = CACHEW__V1__WORKER_MESSAGE__INIT;
    message.kind_case = CACHEW__V1__WORKER_MESSAGE__KIND_HELLO;
    message.hello = &hello;
    peers_say(stream, &message.base);
    return stream;
}

/* A worker of one job serves that job alone, and reports of its tenant's chunks alone. */
static void a_worker_of_one_job(void **state)
{
    char name[256];
    (void)state;
    beside = (struct cw_caller){.kind = CW_CALLER_JOB_WORKER, .name = "vision"};
    snprintf(beside.job_id, sizeof(beside.job_id), "%s", job_of(of_vision)->id);
    peers_caller = &beside;
    assert_int_equal(peers_end_code(beside_says("")), CW_E_DENIED);
    assert_int_equal(peers_end_code(beside_says(job_of(of_audio)->id)), CW_E_DENIED);
    struct cw_stream *stream = beside_says(job_of(of_vision)->id);
    assert_false(peers_is_ended(stream));
    Cachew__V1__CacheEvent gone = CACHEW__V1__CACHE_EVENT__INIT, *events[] = {&gone};
    Cachew__V1__Progress progress = CACHEW__V1__PROGRESS__INIT;
    Cachew__V1__WorkerMessage message = CACHEW__V1__WORKER_MESSAGE__INIT;
    gone.kind = CACHEW__V1__CACHE_EVENT__KIND__GONE;
    gone.name = name;
    progress.cache_events = events;
    progress.n_cache_events = 1;
    message.kind_case = CACHEW__V1__WORKER_MESSAGE__KIND_PROGRESS;
    message.progress = &progress;
    snprintf(name, sizeof(name), "%s", made_up_name("audio", KEY_2, 0));
    peers_say(stream, &message.base);
    assert_int_equal(cw_catalogue_tenant(made_up.cache->catalogue, "audio")->bytes, 30);
    snprintf(name, sizeof(name), "%s", made_up_name("vision", KEY_1, 0));
    peers_say(stream, &message.base);
    assert_int_equal(cw_catalogue_tenant(made_up.cache->catalogue, "vision")->bytes, 0);
    /* What it says of the store is shown as its own, and to nobody as the cache's. */
    char why[] = "it hangs";
    Cachew__V1__StoreState store = CACHEW__V1__STORE_STATE__INIT;
    store.away = true;
    store.why = store.lost_why = why;
    progress.store = &store;
    peers_say(stream, &message.base);
    assert_int_equal(made_up.cache->away.n, 0);
    assert_string_equal(made_up.cache->lost_why, "");
}

/* The secrets of a job are those that were stored, whoever starts. */
static void secrets_outlive_the_dispatcher(void **state)
{
    unsigned char data[CW_SECRET_BYTES], worker[CW_SECRET_BYTES];
    (void)state;
    memcpy(data, job_of(of_vision)->data_secret, sizeof(data));
    memcpy(worker, job_of(of_vision)->worker_secret, sizeof(worker));
    assert_memory_not_equal(data, worker, sizeof(data));
    assert_memory_not_equal(data, job_of(of_audio)->data_secret, sizeof(data));
    peers_restart();
    assert_memory_equal(data, job_of(of_vision)->data_secret, sizeof(data));
    assert_memory_equal(worker, job_of(of_vision)->worker_secret, sizeof(worker));
    peers_caller = &vision;
    struct cw_stream *trainer = peers_back(100, job_of(of_vision)->id);
    peers_turn();
    const Cachew__V1__ClientCommand *welcome =
        peers_to_client(trainer, CACHEW__V1__CLIENT_COMMAND__KIND_WELCOME);
    assert_non_null(welcome);
    assert_int_equal(welcome->welcome->secret.len, sizeof(data));
    assert_memory_equal(welcome->welcome->secret.data, data, sizeof(data));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(jobs_are_of_the_token, begin, end),
        cmocka_unit_test_setup_teardown(jobs_of_others_are_not_joined, begin, end),
        cmocka_unit_test_setup_teardown(lists_show_own_things, begin, end),
        cmocka_unit_test_setup_teardown(info_hides_the_state_directory, begin, end),
        cmocka_unit_test_setup_teardown(calls_about_other_jobs, begin, end),
        cmocka_unit_test_setup_teardown(decisions_of_own_jobs_are_listed, begin, end),
        cmocka_unit_test_setup_teardown(decisions_of_others_do_not_count, begin, end),
        cmocka_unit_test_setup_teardown(caches_of_others_stay, begin, end),
        cmocka_unit_test_setup_teardown(a_worker_of_one_job, begin, end),
        cmocka_unit_test_setup_teardown(secrets_outlive_the_dispatcher, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
