/* SPDX-License-Identifier: Apache-2.0 */
/* Who is evicted by default, and why: the policy `benefit` through the dispatcher, from what workers
 * report to the decision that tools are told. */
#include <string.h>

#include "dispatcher/cache/cache_int.h"
#include "unit/dispatcher/peers.h"

#define MINUTE_MS 60000
#define RECORDS 10 /* of a chunk, as made_up_name says */
#define KEY_3 ((struct cw_hash){3, 3})

static int64_t now_ms;

static int begin(void **state)
{
    const int rc = peers_begin_caching(state);
    made_up.cache->catalogue->evict = cw_evict_find("benefit");
    made_up.cache->catalogue->quota = 1000;
    now_ms = cw_clock_wall_ms();
    return rc;
}

/* Chunks from..to-1 of a key, each of so many bytes, that took so much CPU time each. The key was
 * used last at `used`. */
static struct cw_catalogue_key *fill(struct cw_hash hash, unsigned from, unsigned to,
                                     uint64_t bytes, uint64_t cost_ns, int64_t used)
{
    for (unsigned n = from; n < to; n++)
        made_up_chunk("team", hash, n, bytes, used - MINUTE_MS);
    struct cw_catalogue_key *key = cw_catalogue_find(made_up.cache->catalogue, "team", hash);
    key->cost_ns += (to - from) * cost_ns;
    key->cost_records += (uint64_t)(to - from) * RECORDS;
    key->used_ms = used;
    return key;
}

static void enforce(void)
{
    made_up.cache->due.quotas = true;
    made_up.cache->quota_ms = 0;
    cw_cache_enforce_quotas(made_up.cache);
}

/* A worker has read so many records of a key since it uses it. */
static void read_by_worker(struct cw_worker *worker, struct cw_hash hash, uint64_t hits)
{
    static char team[] = "team";
    uint8_t bytes[CW_WIRE_HASH_BYTES];
    Cachew__V1__CacheCounts counts = CACHEW__V1__CACHE_COUNTS__INIT, *list[] = {&counts};
    Cachew__V1__Progress progress = CACHEW__V1__PROGRESS__INIT;
    cw_wire_hash_to(hash, bytes);
    counts.key = (ProtobufCBinaryData){sizeof(bytes), bytes};
    counts.tenant = team;
    counts.hits = hits;
    progress.cache = list;
    progress.n_cache = 1;
    cw_cache_take_report(worker, &progress);
}

static uint64_t left(struct cw_hash hash)
{
    const struct cw_catalogue_key *key = cw_catalogue_find(made_up.cache->catalogue, "team", hash);
    return key ? key->chunks_n : 0;
}

static void expect_decision(const char *choice)
{
    Cachew__V1__ListDecisionsRequest request = CACHEW__V1__LIST_DECISIONS_REQUEST__INIT;
    static char kind[] = "evict";
    request.kind = kind;
    const struct peers_answer *got =
        peers_ask("ListDecisions", &request.base, &cachew__v1__list_decisions_reply__descriptor);
    assert_non_null(got->reply);
    const Cachew__V1__ListDecisionsReply *listed =
        (const Cachew__V1__ListDecisionsReply *)got->reply;
    assert_true(listed->n_decisions > 0);
    const Cachew__V1__Decision *last = listed->decisions[listed->n_decisions - 1];
    assert_string_equal(last->policy, "benefit");
    assert_string_equal(last->choice, choice);
    assert_string_equal(last->reason,
                        "1000 of 1000 bytes of the cache were used: these are worth the least.");
    assert_non_null(strstr(last->inputs, "\"limit\":1000"));
}

/* What saves the least CPU time a byte goes first, however lately it was used: `lru` would evict the
 * costly ones. */
static void the_cheapest_to_compute_leaves_first(void **state)
{
    (void)state;
    fill(KEY_1, 0, 4, 100, 1000000, now_ms - MINUTE_MS); /* costly */
    fill(KEY_2, 0, 3, 100, 1000, now_ms);                /* cheap, used just now */
    fill(KEY_3, 0, 1, 300, 1000000, now_ms);             /* as costly, for three times the bytes */
    enforce();
    assert_true(left(KEY_1) == 4 && left(KEY_2) == 1 && left(KEY_3) == 1);
    expect_decision("2 chunks, 200 bytes");
    /* Next the last cheap one, and then the large one. */
    fill(KEY_1, 4, 6, 100, 1000000, now_ms - MINUTE_MS);
    enforce();
    assert_true(left(KEY_1) == 6 && left(KEY_2) == 0 && left(KEY_3) == 0);
    expect_decision("2 chunks, 400 bytes");
}

/* What workers read was worth it: hits of a cheap key save more than a costly one's first use. */
static void hits_count(void **state)
{
    (void)state;
    struct cw_worker *worker = made_up_worker(1, 1);
    fill(KEY_1, 0, 5, 100, 10000, now_ms);
    fill(KEY_2, 0, 5, 100, 1000, now_ms);
    read_by_worker(worker, KEY_2, 10000); /* 100 ns each: 1 ms, 200 us a chunk */
    enforce();
    assert_true(left(KEY_1) == 3 && left(KEY_2) == 5);
    expect_decision("2 chunks, 200 bytes");
}

/* And what nobody has used for hours is not worth what it was. */
static void worth_falls_with_age(void **state)
{
    (void)state;
    fill(KEY_1, 0, 5, 100, 10000, now_ms - (int64_t)600 * MINUTE_MS); /* a 61st of it */
    fill(KEY_2, 0, 5, 100, 1000, now_ms);
    enforce();
    assert_true(left(KEY_1) == 3 && left(KEY_2) == 5);
    expect_decision("2 chunks, 200 bytes");
}

/* A chunk that was found in the store, of unknown cost, counts as decoded: 10 ns a byte. */
static void unknown_costs_count_as_decoding(void **state)
{
    (void)state;
    fill(KEY_1, 0, 4, 100, 500, now_ms);  /* 5 ns a byte */
    fill(KEY_2, 0, 3, 100, 2000, now_ms); /* 20 */
    struct cw_catalogue_key *found = fill(KEY_3, 0, 3, 100, 0, now_ms);
    found->cost_records = 0;
    enforce();
    assert_true(left(KEY_1) == 2 && left(KEY_2) == 3 && left(KEY_3) == 3);
    fill(KEY_2, 3, 7, 100, 2000, now_ms);
    enforce(); /* four more than may be: both that are left, and one or two of those found */
    assert_true(left(KEY_1) == 0 && left(KEY_2) == 7 && left(KEY_3) == 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, peers_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_cheapest_to_compute_leaves_first),
        TEST(hits_count),
        TEST(worth_falls_with_age),
        TEST(unknown_costs_count_as_decoding),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
