/* SPDX-License-Identifier: Apache-2.0 */
/* Named caches, as tools and the coming controller ask for them: attached, described, closed,
 * detached, over restarts, and what workers are told of them. */
#include <string.h>

#include "base/clock.h"
#include "cache/store/store.h"
#include "dispatcher/access/access.h"
#include "dispatcher/cache/cache_int.h"
#include "dispatcher/job/job.h"
#include "dispatcher/session/session.h"
#include "support/soon.h"
#include "unit/dispatcher/peers.h"

static char photos[] = "team/photos", place[] = "mem:photos", no_tenant[] = "";

static void attach(char *name, char *url, char *tenant)
{
    Cachew__V1__CacheAttachRequest request = CACHEW__V1__CACHE_ATTACH_REQUEST__INIT;
    request.name = name;
    request.url = url;
    request.tenant = tenant;
    request.quota = 1000;
    request.high = 0.9;
    const struct peers_answer *got =
        peers_ask("CacheAttach", &request.base, &cachew__v1__cache_attach_reply__descriptor);
    if (!got->reply)
        fail_msg("%s", got->msg);
}

static uint64_t detach(bool keep)
{
    Cachew__V1__CacheDetachRequest request = CACHEW__V1__CACHE_DETACH_REQUEST__INIT;
    request.name = photos;
    request.keep = keep;
    const struct peers_answer *got =
        peers_ask("CacheDetach", &request.base, &cachew__v1__cache_detach_reply__descriptor);
    if (!got->reply)
        fail_msg("%s", got->msg);
    return ((const Cachew__V1__CacheDetachReply *)got->reply)->jobs;
}

/* What is said of the cache; NULL: there is none. */
static const Cachew__V1__CacheState *describe(void)
{
    Cachew__V1__CacheDescribeRequest request = CACHEW__V1__CACHE_DESCRIBE_REQUEST__INIT;
    request.name = photos;
    const struct peers_answer *got =
        peers_ask("CacheDescribe", &request.base, &cachew__v1__cache_describe_reply__descriptor);
    return got->reply ? ((const Cachew__V1__CacheDescribeReply *)got->reply)->caches[0] : NULL;
}

static const Cachew__V1__CacheCloseReply *close_cache(int64_t since_ms, bool reopen)
{
    Cachew__V1__CacheCloseRequest request = CACHEW__V1__CACHE_CLOSE_REQUEST__INIT;
    request.name = photos;
    request.since_ms = since_ms;
    request.reopen = reopen;
    const struct peers_answer *got =
        peers_ask("CacheClose", &request.base, &cachew__v1__cache_close_reply__descriptor);
    if (!got->reply)
        fail_msg("%s", got->msg);
    return (const Cachew__V1__CacheCloseReply *)got->reply;
}

/* A trainer asks for a job of this cache. */
static struct cw_stream *trainer(uint64_t id, char *name, char *tenant)
{
    Cachew__V1__JobOptions options = CACHEW__V1__JOB_OPTIONS__INIT;
    options.name = name;
    options.tenant = tenant;
    options.cache = photos;
    options.epochs = 2;
    struct cw_stream *stream = peers_trainer(id, &options);
    peers_turn();
    return stream;
}

static struct cw_job *running(uint64_t id, char *name)
{
    (void)trainer(id, name, no_tenant);
    peers_prepared(peers_worker_of(1)->stream, 10);
    peers_turn();
    struct cw_job *job = cw_job_find(&made_up, name);
    assert_int_equal(job->status, CW_JOB_RUNNING);
    return job;
}

static bool is_gone(void)
{
    peers_turn();
    return describe() == NULL;
}

static void is_attached_and_described(void **state)
{
    (void)state;
    static char other[] = "mem:other", inside[] = "mem:photos/in", none[] = "", red[] = "red";
    attach(photos, place, none);
    const Cachew__V1__CacheState *c = describe();
    assert_string_equal(c->url, place);
    assert_string_equal(c->state, "open");
    assert_true(c->quota == 1000 && c->high == 0.9 && c->low == 0.85 && c->n_users == 0);
    uint64_t id = c->id;
    attach(photos, place, none); /* again: the same one */
    assert_true(describe()->id == id);
    Cachew__V1__CacheAttachRequest request = CACHEW__V1__CACHE_ATTACH_REQUEST__INIT;
    request.name = photos;
    request.url = other;
    peers_refused("CacheAttach", &request.base, CW_E_EXISTS, "with another store");
    request.url = place;
    request.tenant = red;
    peers_refused("CacheAttach", &request.base, CW_E_EXISTS, "or tenant");
    request.tenant = none;
    request.name = red;
    peers_refused("CacheAttach", &request.base, CW_E_EXISTS, "is that of cache");
    request.url = inside;
    peers_refused("CacheAttach", &request.base, CW_E_EXISTS, "or lies in it");
    request.url = other;
    request.low = 0.95;
    peers_refused("CacheAttach", &request.base, CW_E_INVALID, "the low one below");
    peers_restart();
    c = describe();
    assert_true(c && c->id == id && c->quota == 1000 && c->high == 0.9);
    assert_int_equal(detach(true), 0);
    assert_null(describe());
}

static int note_source(void)
{
    static char of_another[] = "files:/of/another/tenant/*";
    Cachew__V1__CacheSource source = CACHEW__V1__CACHE_SOURCE__INIT, *sources[] = {&source};
    Cachew__V1__CacheNoteSourceRequest request = CACHEW__V1__CACHE_NOTE_SOURCE_REQUEST__INIT;
    source.source = of_another;
    request.cache = photos;
    request.sources = sources;
    request.n_sources = 1;
    return peers_ask("CacheNoteSource", &request.base,
                     &cachew__v1__cache_note_source_reply__descriptor)
        ->code;
}

/* What was warmed into a cache that all share is not told to each of them; into an own one it is. */
static void sources_of_others_are_not_told(void **state)
{
    (void)state;
    static const struct cw_caller vision = {.kind = CW_CALLER_TENANT, .name = "vision"};
    static char own[] = "vision";
    for (int is_own = 0; is_own < 2; is_own++) {
        attach(photos, place, is_own ? own : no_tenant);
        assert_int_equal(note_source(), 0);
        assert_int_equal(describe()->n_sources, 1);
        peers_caller = &vision;
        assert_int_equal(describe()->n_sources, is_own);
        peers_caller = NULL;
        (void)detach(true);
        assert_null(describe());
    }
}

/* A tenant notes what it has warmed in a cache of its own, and not in one that all share, whose list
 * is everybody's and has an end. */
static void tenants_note_sources_in_their_own_cache(void **state)
{
    (void)state;
    static const struct cw_caller vision = {.kind = CW_CALLER_TENANT, .name = "vision"},
                                  root = {.kind = CW_CALLER_OPERATOR, .name = "root"};
    static char own[] = "vision";
    for (int is_own = 0; is_own < 2; is_own++) {
        attach(photos, place, is_own ? own : no_tenant);
        peers_caller = &vision;
        assert_int_equal(note_source(), is_own ? 0 : CW_E_DENIED);
        peers_caller = NULL;
        assert_int_equal(describe()->n_sources, is_own);
        peers_caller = &root;
        assert_int_equal(note_source(), 0);
        peers_caller = NULL;
        assert_int_equal(describe()->n_sources, 1);
        (void)detach(true);
        assert_null(describe());
    }
}

/* Jobs use it until it goes; one of another tenant does not get it. */
static void jobs_have_it_until_it_goes(void **state)
{
    (void)state;
    static char a[] = "a", b[] = "b", red[] = "red", blue[] = "blue", none[] = "";
    made_up.options.silence_ms = 3000; /* The worker says nothing of it, and is lost. */
    (void)peers_worker(1, 2);
    attach(photos, place, red);
    struct cw_stream *refused = trainer(100, a, blue);
    assert_true(peers_is_ended(refused));
    assert_null(cw_job_find(&made_up, a));
    detach(true);
    attach(photos, place, none);
    struct cw_job *job = running(101, b);
    assert_string_equal(job->cache->name, photos);
    const Cachew__V1__CacheState *c = describe();
    assert_int_equal(c->n_users, 1);
    assert_string_equal(c->users[0], b);
    assert_true(c->used_ms > 0);
    assert_int_equal(detach(false), 1);
    assert_null(job->cache);
    assert_int_equal(job->cache_uses_n, 0);
    soon(is_gone());
    attach(photos, place, none);
    assert_string_equal(job->cache->name, photos); /* It uses the next one of this name. */
}

/* Nobody has used it: it is closed, and new jobs wait. */
static void closes_if_nobody_uses_it(void **state)
{
    (void)state;
    static char a[] = "a", b[] = "b", none[] = "";
    (void)peers_worker(1, 2);
    attach(photos, place, none);
    struct cw_job *job = running(100, a);
    const Cachew__V1__CacheCloseReply *got = close_cache(INT64_MAX, false);
    assert_false(got->closed);
    assert_int_equal(got->n_users, 1);
    assert_string_equal(got->users[0], a);
    cw_clients_end_job(job, "by a test");
    peers_turn();
    got = close_cache(0, false); /* It was used since. */
    assert_true(!got->closed && got->n_users == 0 && got->used_ms > 0);
    int64_t used_ms = got->used_ms;
    Cachew__V1__CacheDetachRequest request = CACHEW__V1__CACHE_DETACH_REQUEST__INIT;
    request.name = photos;
    request.if_closed = true;
    peers_refused("CacheDetach", &request.base, CW_E_STATE, "close it first");
    assert_true(close_cache(used_ms, false)->closed);
    assert_string_equal(describe()->state, "closed");
    struct cw_stream *waits = trainer(101, b, none);
    assert_int_equal(peers_end_code(waits), CW_E_UNAVAILABLE);
    assert_null(cw_job_find(&made_up, b));
    assert_false(close_cache(0, true)->closed); /* reopened */
    assert_string_equal(describe()->state, "open");
    peers_refused("CacheDetach", &request.base, CW_E_STATE, "close it first");
    assert_true(close_cache(INT64_MAX, false)->closed);
    cw_cache_find(&made_up, photos)->closed_until_ms = cw_clock_ms(); /* a minute later */
    job = running(102, b);
    assert_string_equal(job->cache->name, photos);
}

/* A trainer that comes back to its job opens the cache: whoever wanted to detach it is refused. */
static void who_comes_back_opens_it(void **state)
{
    (void)state;
    static char a[] = "a", none[] = "";
    (void)peers_worker(1, 2);
    attach(photos, place, none);
    struct cw_job *job = running(100, a);
    struct cw_stream *gone = job->clients->stream;
    peers_break(gone, CW_E_UNAVAILABLE, "cut");
    peers_turn();
    job->no_client_ms = cw_clock_ms() - 100000;
    assert_true(close_cache(INT64_MAX, false)->closed);
    (void)peers_back(100, job->id);
    peers_turn();
    assert_string_equal(describe()->state, "open");
    assert_int_equal(describe()->n_users, 1);
}

static struct cw_store *open_store(void)
{
    struct cw_store *store = NULL;
    struct cw_err err = {0};
    if (cw_store_open(place, &store, &err) != 0)
        fail_msg("%s", err.msg);
    return store;
}

static void put(struct cw_store *store, const char *name)
{
    struct cw_err err = {0};
    char byte = 0;
    const struct iovec part = {&byte, 1};
    assert_int_equal(cw_store_put(store, name, &part, 1, &err), 0);
}

static bool has(struct cw_store *store, const char *name)
{
    struct cw_err err = {0};
    uint64_t bytes;
    return cw_store_stat(store, name, &bytes, &err) == 0;
}

/* The files go when the workers have left, and a restart in between changes nothing. */
static void files_go_when_workers_have_left(void **state)
{
    (void)state;
    static char none[] = "";
    struct cw_store *store = open_store();
    cw_autofree char *chunk = cw_mem_strdup(made_up_name("default", KEY_1, 0));
    attach(photos, place, none);
    struct cw_stream *worker = peers_worker(1, 2);
    uint64_t id = describe()->id;
    put(store, chunk);
    put(store, "_source/1.pack");
    put(store, "README");
    detach(false);
    const Cachew__V1__WorkerCommand *told =
        peers_to_worker(worker, CACHEW__V1__WORKER_COMMAND__KIND_LEAVE_CACHE);
    assert_true(told && told->leave_cache->cache == id && !told->leave_cache->keep);
    soon((peers_turn(), !has(store, chunk)));
    assert_string_equal(describe()->state, "leaving");
    Cachew__V1__CacheAttachRequest request = CACHEW__V1__CACHE_ATTACH_REQUEST__INIT;
    request.name = photos;
    request.url = place;
    peers_refused("CacheAttach", &request.base, CW_E_EXISTS, "still being deleted");
    peers_restart();
    put(store, chunk); /* The worker was still at it. */
    worker = peers_worker(1, 2);
    assert_non_null(peers_to_worker(worker, CACHEW__V1__WORKER_COMMAND__KIND_LEAVE_CACHE));
    Cachew__V1__Progress progress = CACHEW__V1__PROGRESS__INIT;
    progress.caches_left = &id;
    progress.n_caches_left = 1;
    Cachew__V1__WorkerMessage message = CACHEW__V1__WORKER_MESSAGE__INIT;
    message.kind_case = CACHEW__V1__WORKER_MESSAGE__KIND_PROGRESS;
    message.progress = &progress;
    peers_say(worker, &message.base);
    soon(is_gone());
    assert_true(!has(store, chunk) && !has(store, "_source/1.pack"));
    assert_true(has(store, "README"));
    peers_restart();
    assert_null(describe());
    cw_store_close(store);
}

/* Jobs do not use a cache before state.db says that it is attached: the next dispatcher might not know
 * whose the files are. */
static void jobs_wait_until_it_is_stored(void **state)
{
    (void)state;
    static char a[] = "a";
    struct cw_state_cache row = {.name = photos, .url = place, .tenant = no_tenant, .high = 90};
    struct cw_cache_service *cache;
    struct cw_err err = {0};
    attach(photos, place, no_tenant);
    (void)peers_worker(1, 2);
    struct cw_job *job = running(100, a);
    detach(true);
    assert_null(job->cache);
    made_up.unwritten = true; /* the disk is full */
    made_up.commit_retry_ms = cw_clock_ms() + 3600000;
    assert_int_equal(cw_cache_attach(&made_up, &row, &cache, &err), 0);
    peers_one_turn();
    assert_null(job->cache);
    assert_null(cw_cache_of_job(job)); /* Nor has it a job that is made now. */
    made_up.unwritten = false;
    soon((peers_turn(), job->cache == cache));
    assert_ptr_equal(cw_cache_of_job(job), cache);
}

static bool was_told_to_leave(struct cw_stream *worker, uint64_t id)
{
    const Cachew__V1__WorkerCommand *told =
        peers_to_worker(worker, CACHEW__V1__WORKER_COMMAND__KIND_LEAVE_CACHE);
    return told && told->leave_cache->cache == id && !told->leave_cache->keep;
}

static void confirm(struct cw_stream *worker, uint64_t id)
{
    Cachew__V1__Progress progress = CACHEW__V1__PROGRESS__INIT;
    progress.caches_left = &id;
    progress.n_caches_left = 1;
    Cachew__V1__WorkerMessage message = CACHEW__V1__WORKER_MESSAGE__INIT;
    message.kind_case = CACHEW__V1__WORKER_MESSAGE__KIND_PROGRESS;
    message.progress = &progress;
    peers_say(worker, &message.base);
}

/* A worker that was taken for lost wrote on, and comes back: what it wrote goes, too, also if the
 * dispatcher was started anew meanwhile; but not once another cache is there. */
static void files_of_the_lost_go(void **state)
{
    (void)state;
    struct cw_store *store = open_store();
    cw_autofree char *chunk = cw_mem_strdup(made_up_name("default", KEY_1, 0));
    attach(photos, place, no_tenant);
    uint64_t id = describe()->id;
    detach(false);
    soon(is_gone());
    peers_restart();
    put(store, chunk);
    struct cw_stream *worker = peers_worker(1, 2);
    peers_turn();
    assert_false(was_told_to_leave(worker, id));
    cw_leaving_hello(peers_worker_of(1), &id, 1);
    peers_turn();
    assert_true(was_told_to_leave(worker, id));
    assert_string_equal(describe()->state, "leaving");
    confirm(worker, id);
    soon(is_gone());
    assert_false(has(store, chunk));
    attach(photos, place, no_tenant);
    put(store, chunk);
    peers_forget(worker);
    cw_leaving_hello(peers_worker_of(1), &id, 1);
    peers_turn();
    assert_false(was_told_to_leave(worker, id));
    assert_true(has(store, chunk));
    cw_store_close(store);
}

/* As long as state.db does not say that the cache is detached, no file is deleted: the next dispatcher
 * would have the cache still. */
static void files_stay_until_it_is_stored(void **state)
{
    (void)state;
    enum { TURNS = 300 };
    struct cw_store *store = open_store();
    cw_autofree char *chunk = cw_mem_strdup(made_up_name("default", KEY_1, 0));
    attach(photos, place, no_tenant);
    put(store, chunk);
    uint64_t id = describe()->id;
    made_up.unwritten = true; /* the disk is full, and it is tried again in an hour */
    made_up.commit_retry_ms = cw_clock_ms() + 3600000;
    (void)cw_cache_detach(cw_cache_by_id(&made_up, id), false);
    for (int i = 0; i < TURNS; i++) {
        peers_one_turn();
        assert_true(has(store, chunk));
        cw_clock_sleep_ns(100000); /* for the threads of the store, if they have something to do */
    }
    made_up.unwritten = false;
    soon(is_gone());
    assert_false(has(store, chunk));
    cw_store_close(store);
}

/* A worker that has a cache open which is not there any more is told to leave it; an older one gets
 * jobs of a named cache as jobs without one. */
static void workers_are_told(void **state)
{
    (void)state;
    static char a[] = "a", none[] = "";
    attach(photos, place, none);
    struct cw_stream *worker = peers_worker(1, 2);
    struct cw_job *job = running(100, a);
    const Cachew__V1__WorkerCommand *told =
        peers_to_worker(worker, CACHEW__V1__WORKER_COMMAND__KIND_JOB);
    assert_non_null(told);
    assert_string_equal(told->job->store->name, photos);
    assert_string_equal(told->job->store->url, place);
    assert_true(told->job->store->id == job->cache->id);
    assert_true(cw_cache_is_known_to(job->cache, peers_worker_of(1)));
    peers_worker_of(1)->named_caches = false;
    assert_false(cw_cache_is_known_to(job->cache, peers_worker_of(1)));
    peers_worker_of(1)->named_caches = true;
    detach(true);
    told = peers_to_worker(worker, CACHEW__V1__WORKER_COMMAND__KIND_CACHE_PLAN);
    assert_string_equal(told->cache_plan->store->url, ""); /* It has none any more. */
    told = peers_to_worker(worker, CACHEW__V1__WORKER_COMMAND__KIND_LEAVE_CACHE);
    assert_true(told->leave_cache->keep);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(is_attached_and_described, peers_begin_caching, peers_end),
        cmocka_unit_test_setup_teardown(tenants_note_sources_in_their_own_cache,
                                        peers_begin_caching, peers_end),
        cmocka_unit_test_setup_teardown(sources_of_others_are_not_told, peers_begin_caching,
                                        peers_end),
        cmocka_unit_test_setup_teardown(jobs_have_it_until_it_goes, peers_begin_caching, peers_end),
        cmocka_unit_test_setup_teardown(closes_if_nobody_uses_it, peers_begin_caching, peers_end),
        cmocka_unit_test_setup_teardown(who_comes_back_opens_it, peers_begin_caching, peers_end),
        cmocka_unit_test_setup_teardown(files_go_when_workers_have_left, peers_begin_caching,
                                        peers_end),
        cmocka_unit_test_setup_teardown(jobs_wait_until_it_is_stored, peers_begin_caching,
                                        peers_end),
        cmocka_unit_test_setup_teardown(files_of_the_lost_go, peers_begin_caching, peers_end),
        cmocka_unit_test_setup_teardown(files_stay_until_it_is_stored, peers_begin_caching,
                                        peers_end),
        cmocka_unit_test_setup_teardown(workers_are_told, peers_begin_caching, peers_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
