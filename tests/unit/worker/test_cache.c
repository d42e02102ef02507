/* SPDX-License-Identifier: Apache-2.0 */
/* The cache of a worker, between a dispatcher and clients that only speak the protocol: what it
 * reads and writes, and what it tells. */
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "unit/worker/fleet.h"

#define ELEMENTS 200
#define ITEMS 20
#define PIPELINE                                                                                   \
    "{\"pipeline\":[{\"op\":\"range\",\"stop\":200},{\"op\":\"sleep\",\"ms\":1},{\"op\":"          \
    "\"cache\"},{\"op\":\"batch\",\"size\":10}]}"

static char dir[64], url[128];

static int make_dir(void **state)
{
    (void)state;
    snprintf(dir, sizeof(dir), "/tmp/cachew-test-XXXXXX");
    assert_non_null(mkdtemp(dir));
    snprintf(url, sizeof(url), "dir:%s/store", dir);
    return 0;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
    (void)st;
    (void)type;
    (void)at;
    return remove(path);
}
static int remove_dir(void **state)
{
    (void)state;
    return nftw(dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

struct key {
    uint8_t bytes[16];
};
/* The pipeline is prepared, so that its key is known. */
static struct key key_of(struct fleet *f, const char *json)
{
    struct key key = {
        {0},
    };
    size_t found = 0;
    fleet_prepare(f, "keys", json);
    for (size_t i = 0; i < f->info->n_cacheable; i++) {
        const Cachew__V1__Cacheable *c = f->info->cacheable[i];
        if (strcmp(c->node, "cache") != 0)
            continue;
        assert_string_equal(c->why_not, "");
        assert_true(c->asked);
        assert_int_equal(c->key.len, sizeof(key.bytes));
        memcpy(key.bytes, c->key.data, sizeof(key.bytes));
        found++;
    }
    assert_int_equal(found, 1);
    return key;
}

static void begin_job(struct fleet *f, const char *id, struct key *key, const char *tenant)
{
    char node[] = "cache";
    Cachew__V1__CacheUse use = CACHEW__V1__CACHE_USE__INIT;
    use.node = node;
    use.read = use.write = true;
    use.key = (ProtobufCBinaryData){16, key->bytes};
    fleet_job_cached(f, id, PIPELINE, 1, false, tenant, &use);
}

static void send_plan(struct fleet *f, const char *id, struct key *key, bool read, bool write)
{
    char node[] = "cache", job[64];
    snprintf(job, sizeof(job), "%s", id);
    Cachew__V1__CacheUse use = CACHEW__V1__CACHE_USE__INIT, *list = &use;
    use.node = node;
    use.read = read;
    use.write = write;
    use.key = (ProtobufCBinaryData){16, key->bytes};
    Cachew__V1__CachePlan plan = CACHEW__V1__CACHE_PLAN__INIT;
    plan.job_id = job;
    plan.cache = &list;
    plan.n_cache = 1;
    Cachew__V1__WorkerCommand c = CACHEW__V1__WORKER_COMMAND__INIT;
    c.kind_case = CACHEW__V1__WORKER_COMMAND__KIND_CACHE_PLAN;
    c.cache_plan = &plan;
    fleet_send(f, &c);
}

static void send_chunks(struct fleet *f, struct key *key, const char *tenant, bool reset,
                        char **added, size_t added_n, char **removed, size_t removed_n)
{
    char copy[64];
    snprintf(copy, sizeof(copy), "%s", tenant);
    Cachew__V1__CacheChunks chunks = CACHEW__V1__CACHE_CHUNKS__INIT;
    chunks.key = (ProtobufCBinaryData){16, key->bytes};
    chunks.tenant = copy;
    chunks.reset = reset;
    chunks.added = added;
    chunks.n_added = added_n;
    chunks.removed = removed;
    chunks.n_removed = removed_n;
    Cachew__V1__WorkerCommand c = CACHEW__V1__WORKER_COMMAND__INIT;
    c.kind_case = CACHEW__V1__WORKER_COMMAND__KIND_CACHE_CHUNKS;
    c.cache_chunks = &chunks;
    fleet_send(f, &c);
}

/* A client reads all items of an epoch, and checks them. */
static void run_epoch(struct fleet *f, const char *id, uint64_t epoch)
{
    struct client c;
    client_open(&c, f);
    client_hello(&c, id, 0, 1u << 30, false);
    fleet_lease(f, id, epoch, 0, ITEMS);
    fleet_wait(f, c.outputs == ITEMS);
    for (uint64_t i = 0; i < ITEMS; i++)
        assert_int_equal(c.first_value[i], 10 * i);
    assert_int_equal(c.duplicates, 0);
    fleet_revoke(f, id, epoch, 0, ITEMS);
    client_close(&c);
}

static uint64_t node_count(const struct fleet *f, const char *job, const char *node, bool hits)
{
    for (size_t i = 0; i < f->counts_n; i++)
        if (strcmp(f->counts[i].job, job) == 0 && strcmp(f->counts[i].node, node) == 0)
            return hits ? f->counts[i].hits : f->counts[i].elements;
    return 0;
}

/* One worker fills the cache because it has nothing left to do; another one, which is told of
 * the chunks before its job comes, computes nothing. */
static void test_fill_and_read(void **state)
{
    (void)state;
    struct fleet f;
    fleet_up_with_store(&f, NULL, url);
    struct key key = key_of(&f, PIPELINE);
    begin_job(&f, "a", &key, "");
    run_epoch(&f, "a", 0);
    fleet_wait(&f, f.written_records == ELEMENTS);
    fleet_wait(&f, f.written == ELEMENTS && node_count(&f, "a", "sleep", false) == ELEMENTS);
    char *chunks[CHUNKS_MAX];
    size_t n = f.chunks_n;
    for (size_t i = 0; i < n; i++)
        chunks[i] = cw_mem_strdup(f.chunks[i]);
    fleet_down(&f);

    /* the head start that loading gets may be too short when the machine is busy */
    for (int i = 0; i < 5; i++) {
        fleet_up_with_store(&f, NULL, url);
        send_chunks(&f, &key, "default", true, chunks, n, NULL, 0);
        begin_job(&f, "a", &key, "default");
        run_epoch(&f, "a", 0);
        fleet_wait(&f, f.hits + f.misses == ELEMENTS);
        if (f.misses == 0 || i == 4)
            break;
        fleet_down(&f);
    }
    assert_int_equal(f.misses, 0);
    fleet_wait(&f, node_count(&f, "a", "cache", true) == ELEMENTS);
    assert_int_equal(f.records, ELEMENTS);
    assert_int_equal(node_count(&f, "a", "sleep", false), 0);
    assert_int_equal(f.written_n, 0);
    /* Taken away: it computes again, and does not write what it is told not to. */
    send_plan(&f, "a", &key, true, false);
    send_chunks(&f, &key, "default", false, NULL, 0, chunks, n);
    run_epoch(&f, "a", 1);
    fleet_wait(&f, node_count(&f, "a", "sleep", false) == ELEMENTS);
    assert_int_equal(f.written_n, 0);
    /* All there is, and nothing of it is there. */
    send_chunks(&f, &key, "default", true, NULL, 0, NULL, 0);
    send_plan(&f, "a", &key, false, false);
    run_epoch(&f, "a", 2);
    fleet_wait(&f, node_count(&f, "a", "sleep", false) == 2 * ELEMENTS);
    assert_int_equal(f.written_n, 0); /* by now the turn of the epoch has written what waits */
    fleet_down(&f);
    for (size_t i = 0; i < n; i++)
        cw_mem_free(chunks[i]);
}

/* Tenants have chunks of their own; a key that is not the plan's own and a chunk of another key
 * are left out. */
static void test_what_is_ignored(void **state)
{
    (void)state;
    struct fleet f;
    fleet_up_with_store(&f, NULL, url);
    struct key key = key_of(&f, PIPELINE), wrong = key;
    wrong.bytes[3] ^= 1;
    begin_job(&f, "other", &wrong, "");
    run_epoch(&f, "other", 0);
    begin_job(&f, "tenant", &key, "blue");
    run_epoch(&f, "tenant", 0);
    fleet_wait(&f, f.written_records == ELEMENTS);
    for (size_t i = 0; i < f.chunks_n; i++)
        assert_memory_equal(f.chunks[i], "blue/", 5);
    send_chunks(&f, &key, "red", true, f.chunks, f.chunks_n, NULL, 0); /* blue's */
    begin_job(&f, "red", &key, "red");
    run_epoch(&f, "red", 0);
    fleet_wait(&f, node_count(&f, "red", "sleep", false) == ELEMENTS);
    begin_job(&f, "blue", &key, "blue");
    run_epoch(&f, "blue", 0);
    fleet_wait(&f, node_count(&f, "blue", "cache", true) == ELEMENTS);
    assert_int_equal(node_count(&f, "blue", "sleep", false), 0);
    fleet_down(&f);
}

/* A dispatcher that comes back hears of what was written while it was away, and again of what
 * may have been lost with its stream. */
static void test_told_again(void **state)
{
    (void)state;
    struct fleet f;
    fleet_up_with_store(&f, NULL, url);
    struct key key = key_of(&f, PIPELINE);
    begin_job(&f, "a", &key, "");
    run_epoch(&f, "a", 0);
    fleet_wait(&f, f.written_records == ELEMENTS);
    size_t told = f.written_n;
    cw_stream_finish(f.stream, CW_E_UNAVAILABLE, "restarted");
    f.generation++;
    fleet_wait(&f, f.hellos == 2 && f.written_n >= 2 * told);
    assert_int_equal(f.written_records, ELEMENTS); /* the same chunks */
    /* Another store: what was written to the former is not told of it, and all is written anew. */
    size_t before = f.written_n;
    snprintf(f.store, sizeof(f.store), "%s-2", url);
    cw_stream_finish(f.stream, CW_E_UNAVAILABLE, "restarted");
    f.generation++;
    fleet_wait(&f, f.hellos == 3 && fleet_has_store(&f));
    run_epoch(&f, "a", 1);
    fleet_wait(&f, f.written_n > before);
    for (size_t i = 0; i < f.chunks_n; i++)
        cw_mem_free(f.chunks[i]);
    f.chunks_n = 0;
    /* None. */
    f.store[0] = '\0';
    cw_stream_finish(f.stream, CW_E_UNAVAILABLE, "restarted");
    f.generation++;
    fleet_wait(&f, f.hellos == 4 && fleet_has_store(&f));
    before = f.written_n;
    run_epoch(&f, "a", 2);
    run_epoch(&f, "a", 3); /* what waits would be written when this begins */
    fleet_wait(&f, node_count(&f, "a", "sleep", false) >= 4 * ELEMENTS);
    assert_int_equal(f.written_n, before);
    fleet_down(&f);
}

/* A worker that cannot reach the store computes, and says why. */
static void test_no_access(void **state)
{
    (void)state;
    struct fleet f;
    fleet_up_with_store(&f, NULL, "dir:/proc/cachew/none");
    struct key key = key_of(&f, PIPELINE);
    begin_job(&f, "a", &key, "");
    run_epoch(&f, "a", 0);
    fleet_wait(&f, f.away);
    assert_non_null(strstr(f.away_why, "/proc/cachew"));
    run_epoch(&f, "a", 1);
    fleet_down(&f);
}

static void on_drained(void *arg)
{
    ((struct fleet *)arg)->drained = true;
}

/* What waits is written, and told, before the worker goes. */
static void test_drain(void **state)
{
    (void)state;
    struct fleet f;
    struct client c;
    fleet_up_with_store(&f, NULL, url);
    struct key key = key_of(&f, PIPELINE);
    begin_job(&f, "a", &key, "");
    client_open(&c, &f);
    client_hello(&c, "a", 0, 1u << 30, false);
    fleet_lease(&f, "a", 0, 0, ITEMS);
    fleet_wait(&f, c.outputs >= 5);
    cw_worker_drain(f.worker, on_drained, &f);
    fleet_wait(&f, f.draining);
    fleet_revoke(&f, "a", 0, 0, ITEMS);
    fleet_wait(&f, f.drained);
    fleet_wait(&f, f.written_records >= 50);
    client_close(&c);
    fleet_down(&f);
    /* With nobody left to give anything to as well. */
    fleet_up_with_store(&f, NULL, "mem:abandoned");
    begin_job(&f, "b", &key, "");
    fleet_lease(&f, "b", 0, 0, ITEMS);
    fleet_wait(&f, cw_set_count(&f.done) >= 5);
    cw_worker_abandon(f.worker, on_drained, &f);
    fleet_wait(&f, f.drained);
    fleet_wait(&f, f.written_records >= 50);
    fleet_down(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_fill_and_read, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(test_what_is_ignored, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(test_told_again, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(test_no_access, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(test_drain, make_dir, remove_dir),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
