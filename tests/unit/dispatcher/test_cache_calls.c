/* SPDX-License-Identifier: Apache-2.0 */
/* What tools ask of the cache, with a store that is there: listed, evicted, pinned, and refused. */
#include <stdio.h>
#include <string.h>

#include "cache/store/store.h"
#include "dispatcher/cache/cache_int.h"
#include "dispatcher/job/job.h"
#include "unit/dispatcher/peers.h"

/* ---- files of the store ---- */
static struct cw_store *store;

static void put(const char *tenant, struct cw_hash key, unsigned n, size_t bytes)
{
    struct cw_err err = {0};
    cw_autofree char *data = cw_mem_new(bytes);
    const struct iovec part = {data, bytes};
    if (cw_store_put(store, made_up_name(tenant, key, n), &part, 1, &err) != 0)
        fail_msg("%s", err.msg);
}

static bool is_there(const char *tenant, struct cw_hash key, unsigned n)
{
    struct cw_err err = {0};
    uint64_t bytes;
    return cw_store_stat(store, made_up_name(tenant, key, n), &bytes, &err) == 0;
}

static int remove_one(void *arg, const char *name, uint64_t bytes, int64_t mtime_ms)
{
    (void)bytes;
    (void)mtime_ms;
    char **names = arg;
    while (*names)
        names++;
    *names = cw_mem_strdup(name);
    return 0;
}

static void remove_all(void)
{
    char *names[64] = {NULL};
    struct cw_err err = {0};
    assert_int_equal(cw_store_list(store, "", remove_one, names, &err), 0);
    for (size_t i = 0; names[i]; i++) {
        assert_int_equal(cw_store_remove(store, names[i], &err), 0);
        cw_mem_free(names[i]);
    }
}

static const Cachew__V1__CacheScanReply *scan(void)
{
    Cachew__V1__CacheScanRequest request = CACHEW__V1__CACHE_SCAN_REQUEST__INIT;
    const struct peers_answer *got =
        peers_ask("CacheScan", &request.base, &cachew__v1__cache_scan_reply__descriptor);
    assert_non_null(got->reply);
    return (const Cachew__V1__CacheScanReply *)got->reply;
}

static int begin(void **state)
{
    struct cw_err err = {0};
    if (cw_store_open(PEERS_STORE, &store, &err) != 0)
        return -1;
    int rc = peers_begin_caching(state);
    (void)scan(); /* the first one, of nothing, is behind us */
    return rc;
}

static int end(void **state)
{
    remove_all();
    cw_store_close(store);
    return peers_end(state);
}

static const Cachew__V1__CacheListReply *list(char *key, bool chunks)
{
    Cachew__V1__CacheListRequest request = CACHEW__V1__CACHE_LIST_REQUEST__INIT;
    if (key)
        request.key = key;
    request.chunks = chunks;
    const struct peers_answer *got =
        peers_ask("CacheList", &request.base, &cachew__v1__cache_list_reply__descriptor);
    assert_non_null(got->reply);
    return (const Cachew__V1__CacheListReply *)got->reply;
}

/* ---- listed ---- */
static void what_is_in_the_store_is_listed(void **state)
{
    (void)state;
    char prefix[CW_HASH_TEXT_BYTES], strange[] = "notes.txt";
    cw_hash_text(KEY_1, prefix);
    put("default", KEY_1, 0, 100);
    put("default", KEY_1, 1, 50);
    put("team", KEY_2, 0, 30);
    struct cw_err err = {0};
    const struct iovec part = {strange, 4};
    assert_int_equal(cw_store_put(store, strange, &part, 1, &err), 0);
    const Cachew__V1__CacheScanReply *scanned = scan();
    assert_true(scanned->chunks == 3 && scanned->bytes == 180 && scanned->added == 3);
    const Cachew__V1__CacheListReply *all = list(NULL, false);
    assert_true(all->n_rows == 2 && all->bytes == 180 && all->chunks == 3 && !all->away);
    assert_string_equal(all->url, PEERS_STORE);
    assert_string_equal(all->evict, "lru");
    assert_int_equal(all->n_tenants, 2);
    const Cachew__V1__CacheListReply *one = list(prefix, true);
    assert_int_equal(one->n_rows, 1);
    assert_true(one->rows[0]->n_chunk == 2 && one->rows[0]->records == 20);
    assert_string_equal(one->rows[0]->tenant, "default");
    assert_true(one->rows[0]->chunk[0]->bytes + one->rows[0]->chunk[1]->bytes == 150);
    remove_all();
    scanned = scan();
    assert_true(scanned->chunks == 0 && scanned->removed == 3);
    assert_int_equal(list(NULL, false)->n_rows, 0);
}

/* ---- evicted ---- */
static void evictions_are_refused(void **state)
{
    (void)state;
    char prefix[CW_HASH_TEXT_BYTES], none[] = "ffff", bad[] = "a/b", zero[] = "0";
    cw_hash_text(KEY_1, prefix);
    put("default", KEY_1, 0, 100);
    put("default", KEY_2, 0, 100);
    put("team", KEY_1, 0, 100);
    (void)scan();
    Cachew__V1__CacheEvictRequest request = CACHEW__V1__CACHE_EVICT_REQUEST__INIT;
    peers_refused("CacheEvict", &request.base, CW_E_INVALID, "what is to be evicted?");
    request.all = true, request.bytes = 5;
    peers_refused("CacheEvict", &request.base, CW_E_INVALID, "what is to be evicted?");
    request.bytes = 0;
    request.tenant = bad;
    peers_refused("CacheEvict", &request.base, CW_E_INVALID, "is no name of a tenant");
    cachew__v1__cache_evict_request__init(&request);
    request.key = none;
    peers_refused("CacheEvict", &request.base, CW_E_NOT_FOUND, "no key that begins with \"ffff\"");
    request.key = prefix; /* of two tenants */
    peers_refused("CacheEvict", &request.base, CW_E_INVALID, "2 keys begin with");
    request.key = zero;
    peers_refused("CacheEvict", &request.base, CW_E_INVALID, "3 keys begin with");
    made_up.cache->unavailable = true;
    snprintf(made_up.cache->unavailable_why, sizeof(made_up.cache->unavailable_why), "it hangs");
    peers_refused("CacheEvict", &request.base, CW_E_UNAVAILABLE, "unavailable: it hangs");
    made_up.cache->unavailable = false;
    made_up.stopping = true;
    peers_refused("CacheEvict", &request.base, CW_E_UNAVAILABLE, "the dispatcher is stopping");
    made_up.stopping = false;
    assert_true(is_there("default", KEY_1, 0));
}

/* Whoever names tenants that are not there makes none. */
static void who_has_nothing_in_the_cache_is_not_noted(void **state)
{
    (void)state;
    char tenant[] = "nobody-yet";
    put("default", KEY_1, 0, 100);
    (void)scan();
    const size_t n = made_up.cache->catalogue->tenants.n;
    Cachew__V1__CacheEvictRequest request = CACHEW__V1__CACHE_EVICT_REQUEST__INIT;
    request.all = true;
    request.tenant = tenant;
    const struct peers_answer *got =
        peers_ask("CacheEvict", &request.base, &cachew__v1__cache_evict_reply__descriptor);
    assert_int_equal(((const Cachew__V1__CacheEvictReply *)got->reply)->chunks, 0);
    assert_int_equal(made_up.cache->catalogue->tenants.n, n);
    assert_true(is_there("default", KEY_1, 0));
}

static void keys_are_evicted(void **state)
{
    (void)state;
    char prefix[CW_HASH_TEXT_BYTES], team[] = "team";
    cw_hash_text(KEY_1, prefix);
    put("default", KEY_1, 0, 100);
    put("team", KEY_1, 0, 30);
    put("team", KEY_2, 0, 20);
    (void)scan();
    Cachew__V1__CacheEvictRequest request = CACHEW__V1__CACHE_EVICT_REQUEST__INIT;
    const ProtobufCMessageDescriptor *type = &cachew__v1__cache_evict_reply__descriptor;
    request.key = prefix;
    request.tenant = team;
    const struct peers_answer *got = peers_ask("CacheEvict", &request.base, type);
    const Cachew__V1__CacheEvictReply *reply = (const Cachew__V1__CacheEvictReply *)got->reply;
    assert_true(reply->chunks == 1 && reply->bytes == 30);
    assert_false(is_there("team", KEY_1, 0)); /* answered when the files are gone */
    assert_true(is_there("default", KEY_1, 0) && is_there("team", KEY_2, 0));
    cachew__v1__cache_evict_request__init(&request);
    request.all = true;
    request.tenant = team;
    got = peers_ask("CacheEvict", &request.base, type);
    assert_int_equal(((const Cachew__V1__CacheEvictReply *)got->reply)->bytes, 20);
    assert_true(is_there("default", KEY_1, 0) && !is_there("team", KEY_2, 0));
    cachew__v1__cache_evict_request__init(&request);
    request.bytes = 1;
    got = peers_ask("CacheEvict", &request.base, type);
    assert_int_equal(((const Cachew__V1__CacheEvictReply *)got->reply)->chunks, 1);
    assert_false(is_there("default", KEY_1, 0));
    got = peers_ask("CacheEvict", &request.base, type); /* nothing is left: it is answered, too */
    assert_int_equal(((const Cachew__V1__CacheEvictReply *)got->reply)->chunks, 0);
}

/* ---- pinned ---- */
static void what_is_pinned_stays(void **state)
{
    (void)state;
    char prefix[CW_HASH_TEXT_BYTES];
    cw_hash_text(KEY_1, prefix);
    put("default", KEY_1, 0, 100);
    (void)scan();
    Cachew__V1__CachePinRequest pin = CACHEW__V1__CACHE_PIN_REQUEST__INIT;
    pin.key = prefix;
    pin.pin = true;
    const struct peers_answer *got =
        peers_ask("CachePin", &pin.base, &cachew__v1__cache_pin_reply__descriptor);
    assert_int_equal(((const Cachew__V1__CachePinReply *)got->reply)->keys, 1);
    assert_true(list(NULL, false)->rows[0]->pinned);
    Cachew__V1__CacheEvictRequest evict = CACHEW__V1__CACHE_EVICT_REQUEST__INIT;
    evict.key = prefix;
    peers_refused("CacheEvict", &evict.base, CW_E_STATE, "it is pinned: unpin it first");
    cachew__v1__cache_evict_request__init(&evict);
    evict.all = true;
    got = peers_ask("CacheEvict", &evict.base, &cachew__v1__cache_evict_reply__descriptor);
    assert_int_equal(((const Cachew__V1__CacheEvictReply *)got->reply)->chunks, 0);
    assert_true(is_there("default", KEY_1, 0));
    pin.pin = false;
    (void)peers_ask("CachePin", &pin.base, NULL);
    assert_false(list(NULL, false)->rows[0]->pinned);
    char none[] = "ffff";
    pin.key = none;
    peers_refused("CachePin", &pin.base, CW_E_NOT_FOUND, "no key that begins with");
}

static void without_a_message(void **state)
{
    (void)state;
    static const char *const names[] = {"CacheList", "CacheEvict", "CachePin"};
    for (size_t i = 0; i < CW_ARRAY_LEN(names); i++)
        assert_int_equal(peers_ask_bytes(names[i], "\xff\xff\xff")->code, CW_E_INVALID);
}

static void without_a_cache(void **state)
{
    (void)state;
    Cachew__V1__CacheListRequest lists = CACHEW__V1__CACHE_LIST_REQUEST__INIT;
    Cachew__V1__CacheScanRequest scans = CACHEW__V1__CACHE_SCAN_REQUEST__INIT;
    Cachew__V1__CacheEvictRequest evict = CACHEW__V1__CACHE_EVICT_REQUEST__INIT;
    Cachew__V1__CachePinRequest pin = CACHEW__V1__CACHE_PIN_REQUEST__INIT;
    peers_refused("CacheList", &lists.base, CW_E_STATE, "start it with --cache-store");
    peers_refused("CacheScan", &scans.base, CW_E_STATE, "start it with --cache-store");
    peers_refused("CacheEvict", &evict.base, CW_E_STATE, "start it with --cache-store");
    peers_refused("CachePin", &pin.base, CW_E_STATE, "start it with --cache-store");
}

/* ---- keys are remembered ---- */
static void pins_and_hits_survive_a_restart(void **state)
{
    (void)state;
    put("default", KEY_1, 0, 100);
    (void)scan();
    struct cw_catalogue_key *key = cw_catalogue_find(made_up.cache->catalogue, "default", KEY_1);
    assert_non_null(key);
    key->pinned = true;
    key->hits = 9;
    cw_catalogue_set_builder(key, "photos", "decode", "decode_image", 1000);
    cw_cache_store_key(made_up.cache, key);
    peers_turn();
    peers_restart();
    key = cw_catalogue_find(made_up.cache->catalogue, "default", KEY_1);
    assert_non_null(key);
    assert_true(key->pinned && key->hits == 9 && key->ids == 1000);
    assert_string_equal(key->pipeline, "photos");
    (void)scan();
    assert_int_equal(key->chunks_n, 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(what_is_in_the_store_is_listed),
        TEST(evictions_are_refused),
        TEST(who_has_nothing_in_the_cache_is_not_noted),
        TEST(keys_are_evicted),
        TEST(what_is_pinned_stays),
        TEST(without_a_message),
        cmocka_unit_test_setup_teardown(without_a_cache, peers_begin, peers_end),
        TEST(pins_and_hits_survive_a_restart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
