/* SPDX-License-Identifier: Apache-2.0 */
/* The catalogue of the cache with made-up chunks. */
#include "dispatcher/cache/cache.h"
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "unit/dispatcher/made_up.h"

static void sums_are_true(void **state)
{
    (void)state;
    for (unsigned n = 0; n < 5; n++)
        made_up_chunk("a", KEY_1, n, 100, WALL + n);
    made_up_chunk("a", KEY_2, 0, 7, WALL);
    made_up_chunk("b", KEY_1, 0, 30, WALL);
    made_up_chunk("b", KEY_1, 0, 31, WALL); /* again, of another size */
    struct cw_catalogue_key *key = cw_catalogue_find(made_up.cache->catalogue, "a", KEY_1);
    assert_true(key->chunks_n == 5 && key->records == 50 && key->bytes == 500 &&
                key->created_ms == WALL);
    assert_int_equal(key->tenant->bytes, 507);
    assert_int_equal(cw_catalogue_tenant(made_up.cache->catalogue, "b")->bytes, 31);
    assert_true(made_up.cache->catalogue->bytes == 538 && made_up.cache->catalogue->chunks_n == 7);
    cw_catalogue_remove(cw_catalogue_chunk(made_up.cache->catalogue, made_up_name("a", KEY_1, 2)));
    cw_catalogue_remove(key->first);
    cw_catalogue_remove(key->last);
    assert_true(key->chunks_n == 2 && key->records == 20 && key->bytes == 200 &&
                made_up.cache->catalogue->bytes == 238);
    assert_null(cw_catalogue_chunk(made_up.cache->catalogue, made_up_name("a", KEY_1, 2)));
    assert_string_equal(key->first->name, made_up_name("a", KEY_1, 1));
    assert_ptr_equal(key->first->next, key->last);
    assert_false(cw_catalogue_drop_key(key));
    cw_catalogue_remove(key->first);
    cw_catalogue_remove(key->first);
    assert_true(key->chunks_n == 0 && key->bytes == 0 && !key->first && !key->last);
    assert_true(cw_catalogue_drop_key(key));
    assert_null(cw_catalogue_find(made_up.cache->catalogue, "a", KEY_1));
}

static void other_names_are_no_chunks(void **state)
{
    (void)state;
    static const char *const names[] = {
        "",
        "a",
        "a/b",
        "a/b/c.chunk",
        "/",
        "../../etc/passwd",
        "default/README",
        "default/00000000000000010000000000000001",
        "default/00000000000000010000000000000001/",
        "default/00000000000000010000000000000001/x.chunk",
        "default/00000000000000010000000000000001/0-10.chunk",
        "default/00000000000000010000000000000001/0-10-0000000000000001.chun",
        "default/00000000000000010000000000000001/0-10-0000000000000001.chunk.tmp",
        "default/00000000000000010000000000000001/-1-10-0000000000000001.chunk",
        "default/0000000000000001000000000000000/0-10-0000000000000001.chunk",
        "00000000000000010000000000000001/0-10-0000000000000001.chunk",
        ".hidden/00000000000000010000000000000001/0-10-0000000000000001.chunk",
        "a b/00000000000000010000000000000001/0-10-0000000000000001.chunk",
        ("default/00000000000000010000000000000001/"
         "99999999999999999999999-10-0000000000000001.chunk"),
    };
    for (size_t i = 0; i < CW_ARRAY_LEN(names); i++) {
        if (cw_catalogue_put(made_up.cache->catalogue, names[i], 1, WALL))
            fail_msg("\"%s\" was taken for a chunk", names[i]);
    }
    assert_true(made_up.cache->catalogue->chunks_n == 0 && made_up.cache->catalogue->keys.n == 0);
}

static uint64_t below(uint64_t *draw, uint64_t n)
{
    return cw_mix64(++*draw * 0x9e3779b97f4a7c15u) % n;
}

/* Chunks' names with bytes changed, cut, doubled: no crash, sums stay true, what is taken has a
 * tenant and a key. */
static void mangled_names_do_no_harm(void **state)
{
    (void)state;
    uint64_t taken = 0, draw = 0;
    for (int round = 0; round < 20000; round++) {
        char name[256];
        snprintf(name, sizeof(name), "%s", made_up_name("tenant", KEY_1, (unsigned)round % 100));
        size_t n = strlen(name);
        for (uint64_t k = below(&draw, 3) + 1; k > 0; k--)
            name[below(&draw, n)] = (char)below(&draw, 256);
        if (below(&draw, 4) == 0)
            name[below(&draw, n)] = '\0';
        bool known = cw_catalogue_chunk(made_up.cache->catalogue, name) != NULL;
        struct cw_catalogue_chunk *chunk =
            cw_catalogue_put(made_up.cache->catalogue, name, 3, WALL);
        taken += chunk && !known;
        if (chunk)
            assert_true(cw_name_check_tenant(chunk->key->tenant->name, NULL) == 0);
    }
    assert_int_equal(made_up.cache->catalogue->chunks_n, taken);
    assert_int_equal(made_up.cache->catalogue->bytes, 3 * taken);
}

static void a_listing_corrects(void **state)
{
    (void)state;
    for (unsigned n = 0; n < 4; n++)
        made_up_chunk("a", KEY_1, n, 10, WALL);
    cw_catalogue_scan_begin(made_up.cache->catalogue);
    made_up_chunk("a", KEY_1, 1, 10, WALL); /* listed */
    made_up_chunk("a", KEY_1, 3, 12, WALL); /* listed, larger */
    made_up_chunk("a", KEY_1, 9, 10, WALL); /* listed, new */
    made_up_chunk("a", KEY_2, 0, 10, WALL); /* written meanwhile */
    assert_int_equal(cw_catalogue_scan_end(made_up.cache->catalogue), 2);
    assert_int_equal(made_up.cache->catalogue->bytes, 42);
    assert_null(cw_catalogue_chunk(made_up.cache->catalogue, made_up_name("a", KEY_1, 0)));
    assert_non_null(cw_catalogue_chunk(made_up.cache->catalogue, made_up_name("a", KEY_2, 0)));
}

static void totals_become_counts(void **state)
{
    (void)state;
    struct cw_catalogue_key *key = cw_catalogue_key(made_up.cache->catalogue, "a", KEY_1);
    key->cost_ns = 1000;
    key->cost_records = 10;
    struct cw_catalogue_totals totals = {.hits = 5, .misses = 2, .lost = 1};
    assert_int_equal(cw_catalogue_count(key, 1, &totals, false), 1);
    totals = (struct cw_catalogue_totals){.hits = 8, .misses = 2, .lost = 3, .last_heard_ms = 50};
    assert_int_equal(cw_catalogue_count(key, 1, &totals, false), 2);
    assert_true(key->hits == 8 && key->misses == 2 && key->saved_ns == 800 && key->used_ms > 0);
    totals = (struct cw_catalogue_totals){.hits = 3, .last_heard_ms = 50}; /* it began anew */
    assert_int_equal(cw_catalogue_count(key, 1, &totals, false), 0);
    assert_int_equal(key->hits, 11);
    /* it was counting before this dispatcher came */
    totals = (struct cw_catalogue_totals){.hits = 100, .last_heard_ms = 200};
    cw_catalogue_count(key, 2, &totals, true);
    assert_int_equal(key->hits, 11);
    totals.hits = 104;
    cw_catalogue_count(key, 2, &totals, true);
    assert_int_equal(key->hits, 15);
    cw_catalogue_forget_silent(made_up.cache->catalogue, 250, 100);
    assert_int_equal(key->seen.n, 1);
}

static size_t pick(struct cw_catalogue_pick what, struct cw_catalogue_chunk ***ret_chunks)
{
    what.wall_ms = WALL + 100000;
    return cw_catalogue_pick(made_up.cache->catalogue, &what, ret_chunks);
}

static void the_least_worth_leaves_first(void **state)
{
    (void)state;
    const struct cw_hash key_3 = {3, 3}, key_4 = {4, 4};
    for (unsigned n = 0; n < 3; n++) {
        made_up_chunk("a", KEY_1, n, 100, WALL + n);     /* used lately */
        made_up_chunk("a", KEY_2, n, 100, WALL + n);     /* not used for long */
        made_up_chunk("b", key_3, n, 100, WALL + n);     /* still less; pinned */
        made_up_chunk("b", key_4, n, 100, WALL + 95000); /* young */
    }
    cw_catalogue_find(made_up.cache->catalogue, "a", KEY_1)->used_ms = WALL + 90000;
    cw_catalogue_find(made_up.cache->catalogue, "a", KEY_2)->used_ms = WALL + 50000;
    cw_catalogue_find(made_up.cache->catalogue, "b", key_3)->pinned = true;
    struct cw_catalogue_chunk **chunks;
    size_t n = pick((struct cw_catalogue_pick){.bytes = 350}, &chunks);
    assert_int_equal(n, 4);
    for (unsigned i = 0; i < 3; i++)
        assert_string_equal(chunks[i]->name, made_up_name("a", KEY_2, i));
    assert_string_equal(chunks[3]->name, made_up_name("a", KEY_1, 0));
    cw_mem_free(chunks);

    cw_catalogue_find(made_up.cache->catalogue, "a", KEY_2)->readers = 1; /* now it leaves last */
    n = pick((struct cw_catalogue_pick){.bytes = 100000}, &chunks);
    assert_int_equal(n, 6);
    assert_ptr_equal(chunks[0]->key, cw_catalogue_find(made_up.cache->catalogue, "a", KEY_1));
    assert_ptr_equal(chunks[5]->key, cw_catalogue_find(made_up.cache->catalogue, "a", KEY_2));
    cw_mem_free(chunks);

    n = pick(
        (struct cw_catalogue_pick){.bytes = 1,
                                   .tenant = cw_catalogue_tenant(made_up.cache->catalogue, "b")},
        &chunks);
    assert_int_equal(n, 0);
    cw_mem_free(chunks);
    n = pick(
        (struct cw_catalogue_pick){.bytes = 1,
                                   .young = true,
                                   .tenant = cw_catalogue_tenant(made_up.cache->catalogue, "b")},
        &chunks);
    assert_int_equal(n, 1);
    cw_mem_free(chunks);
    n = pick((struct cw_catalogue_pick){.all = true}, &chunks);
    assert_int_equal(n, 9); /* young ones too, but not what is pinned */
    cw_mem_free(chunks);
    n = pick(
        (struct cw_catalogue_pick){.key = cw_catalogue_find(made_up.cache->catalogue, "b", key_4)},
        &chunks);
    assert_int_equal(n, 3);
    cw_mem_free(chunks);
}

static void watermarks(void **state)
{
    (void)state;
    assert_int_equal(cw_catalogue_excess(made_up.cache->catalogue, 949, 1000), 0);
    assert_int_equal(cw_catalogue_excess(made_up.cache->catalogue, 950, 1000), 100);
    assert_int_equal(cw_catalogue_excess(made_up.cache->catalogue, 2000, 1000), 1150);
    assert_int_equal(cw_catalogue_excess(made_up.cache->catalogue, 5, 0), 5);
    assert_int_equal(cw_catalogue_excess(made_up.cache->catalogue, 0, 0), 0);
    assert_int_equal(cw_catalogue_excess(made_up.cache->catalogue, UINT64_MAX - 1, UINT64_MAX),
                     UINT64_MAX - 1 - UINT64_MAX / 100 * 85);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, made_up_begin_caching, made_up_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(sums_are_true),
        TEST(other_names_are_no_chunks),
        TEST(mangled_names_do_no_harm),
        TEST(a_listing_corrects),
        TEST(totals_become_counts),
        TEST(the_least_worth_leaves_first),
        TEST(watermarks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
