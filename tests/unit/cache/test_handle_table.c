/* SPDX-License-Identifier: Apache-2.0 */
/* The handle table by itself: its objects are never looked at. */
#include "support/cm.h"
#include <string.h>

#include "base/mem.h"
#include "base/thread.h"
#include "cache/record/handle_table.h"

#define READERS 4
#define READS 20000

struct cw_cache_chunk { /* stands in for the cache's: the table does not know either */
    int no;
};

static struct cw_handle_table table;
static atomic_uint reclaimed, wrong; /* wrong: references to a handle without its object */
static struct cw_cache_handle *last;

static void reclaim(struct cw_cache_handle *handle)
{
    last = handle;
    atomic_fetch_add(&reclaimed, 1);
}

static int set_up(void **state)
{
    (void)state;
    memset(&table, 0, sizeof(table));
    last = NULL;
    atomic_store(&reclaimed, 0);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    cw_handle_table_fini(&table);
    return 0;
}

static void test_reclaimed_once_by_the_last_reference(void **state)
{
    struct cw_cache_chunk chunk = {0};

    (void)state;
    struct cw_cache_handle *handle = cw_cache_handle_new(&table, &chunk, NULL, reclaim);
    assert_non_null(handle);
    assert_ptr_equal(cw_cache_handle_at(&table, handle->no), handle);
    assert_true(cw_cache_handle_is_live(handle));
    assert_true(cw_cache_handle_acquire(handle));
    assert_true(cw_cache_handle_try_acquire(handle));
    assert_true(cw_cache_handle_invalidate(handle));
    assert_false(cw_cache_handle_invalidate(handle)); /* only the first caller is told */
    assert_false(cw_cache_handle_is_live(handle));
    assert_false(cw_cache_handle_acquire(handle)); /* takes back what it added */
    assert_false(cw_cache_handle_try_acquire(handle));
    cw_cache_handle_release(handle);
    cw_cache_handle_release(handle);
    assert_int_equal(atomic_load(&reclaimed), 0); /* the object's own is left */
    cw_cache_handle_release(handle);
    assert_int_equal(atomic_load(&reclaimed), 1);
    assert_ptr_equal(last, handle);
    assert_ptr_equal(handle->chunk, &chunk);
    assert_false(cw_cache_handle_acquire(handle)); /* late: nothing is reclaimed twice */
    assert_int_equal(atomic_load(&reclaimed), 1);
}

static void test_a_live_one_is_not_reclaimed_without_references(void **state)
{
    struct cw_cache_chunk chunk = {0};

    (void)state;
    struct cw_cache_handle *handle = cw_cache_handle_new(&table, &chunk, NULL, reclaim);
    cw_cache_handle_release(handle);
    assert_int_equal(atomic_load(&reclaimed), 0);
    assert_true(cw_cache_handle_acquire(handle));
    cw_cache_handle_ref(handle);
    assert_true(cw_cache_handle_invalidate(handle));
    cw_cache_handle_release(handle);
    assert_int_equal(atomic_load(&reclaimed), 0);
    cw_cache_handle_release(handle);
    assert_int_equal(atomic_load(&reclaimed), 1);
}

static void test_recycled_ones_are_used_again(void **state)
{
    struct cw_cache_chunk one = {1}, other = {2};

    (void)state;
    struct cw_cache_handle *handle = cw_cache_handle_new(&table, &one, NULL, reclaim);
    uint32_t made = table.made;
    cw_cache_handle_invalidate(handle);
    cw_cache_handle_release(handle);
    cw_cache_handle_recycle(&table, handle);
    assert_null(handle->chunk);
    assert_false(cw_cache_handle_is_live(handle));
    assert_ptr_equal(cw_cache_handle_new(&table, &other, NULL, reclaim), handle);
    assert_true(cw_cache_handle_is_live(handle));
    assert_ptr_equal(handle->chunk, &other);
    assert_int_equal(table.made, made);
}

static void test_handles_stay_where_they_are(void **state)
{
    struct cw_cache_chunk chunk = {0};
    struct cw_cache_handle *first = cw_cache_handle_new(&table, &chunk, NULL, reclaim);

    (void)state;
    for (uint32_t i = 1; i < 2 * CW_HANDLES_OF_SEGMENT; i++)
        assert_int_equal(cw_cache_handle_new(&table, &chunk, NULL, reclaim)->no, i);
    assert_int_equal(first->no, 0);
    assert_ptr_equal(cw_cache_handle_at(&table, 0), first);
}

static void test_full(void **state)
{
    struct cw_cache_chunk chunk = {0};

    (void)state;
    table.made = CW_HANDLES_OF_SEGMENT * CW_HANDLE_SEGMENTS; /* as if all were in use */
    assert_null(cw_cache_handle_new(&table, &chunk, NULL, reclaim));
}

static void read_often(void *arg)
{
    struct cw_cache_handle *handle = arg;

    for (int i = 0; i < READS; i++)
        if (cw_cache_handle_acquire(handle)) {
            atomic_fetch_add(&wrong, handle->chunk == NULL);
            cw_cache_handle_release(handle);
        }
}

/* Readers add references to a handle while it is invalidated: it is reclaimed exactly once. */
static void test_readers_race_with_the_end(void **state)
{
    struct cw_cache_chunk chunk = {0};
    struct cw_thread threads[READERS];

    (void)state;
    struct cw_cache_handle *handle = cw_cache_handle_new(&table, &chunk, NULL, reclaim);
    for (int i = 0; i < READERS; i++)
        cw_thread_start(&threads[i], "reader", read_often, handle);
    assert_true(cw_cache_handle_invalidate(handle));
    cw_cache_handle_release(handle);
    for (int i = 0; i < READERS; i++)
        cw_thread_join(&threads[i]);
    assert_int_equal(atomic_load(&reclaimed), 1);
    assert_int_equal(atomic_load(&wrong), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

static const struct CMUnitTest tests[] = {
    TEST(test_reclaimed_once_by_the_last_reference),
    TEST(test_a_live_one_is_not_reclaimed_without_references),
    TEST(test_recycled_ones_are_used_again),
    TEST(test_handles_stay_where_they_are),
    TEST(test_full),
    TEST(test_readers_race_with_the_end),
};

CW_TESTS_MAIN(tests)
