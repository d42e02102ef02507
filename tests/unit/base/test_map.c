/* SPDX-License-Identifier: Apache-2.0 */
#include "support/cm.h"

#include <stdio.h>
#include <string.h>

#include "base/map.h"
#include "base/rng.h"

#define N 500u

static void numbers_agree_with_an_array(void **state)
{
    static int marks[N];
    void *want[N] = {NULL};
    struct cw_map map = {0};
    struct cw_rng rng;
    size_t n = 0;

    (void)state;
    cw_rng_init(&rng, 3, 0, 0, 0, 0);
    assert_null(cw_map_get(&map, 1));
    assert_null(cw_map_remove(&map, 1));
    for (uint32_t i = 0; i < 20000; i++) {
        uint64_t key = cw_rng_below(&rng, 2 * i, N);
        bool set = cw_rng_below(&rng, 2 * i + 1, 3) == 0;
        void *value = set ? &marks[(key + i) % N] : NULL;
        assert_ptr_equal(set ? cw_map_set(&map, key << 32, value) : cw_map_remove(&map, key << 32),
                         want[key]);
        n += (size_t)(value != NULL) - (size_t)(want[key] != NULL);
        want[key] = value;
        assert_int_equal(map.n, n);
        assert_ptr_equal(cw_map_get(&map, key << 32), value);
    }
    assert_true(map.cap <= 4 * N); /* graves are swept */
    cw_map_fini(&map);
    cw_map_fini(&map);
}

static void entries_may_be_removed_on_the_way(void **state)
{
    struct cw_map map = {0};
    int mark = 0;
    uint64_t key, sum = 0;
    void *value;

    (void)state;
    for (uint64_t k = 0; k < 100; k++)
        cw_map_set(&map, k, &mark);
    for (size_t i = 0; cw_map_next(&map, &i, &key, &value);) {
        assert_ptr_equal(value, &mark);
        sum += key;
        if (key % 2)
            assert_ptr_equal(cw_map_remove(&map, key), &mark);
    }
    assert_int_equal(sum, 4950);
    assert_int_equal(map.n, 50);
    cw_map_fini(&map);
}

static void strings_are_copied(void **state)
{
    struct cw_strmap map = {0};
    int marks[200];
    char key[32];
    const char *name;
    size_t n = 0;

    (void)state;
    for (int round = 0; round < 20; round++) {
        for (int i = 0; i < 200; i++) {
            snprintf(key, sizeof(key), "key %d", i);
            assert_null(cw_strmap_set(&map, key, &marks[i]));
            assert_ptr_equal(cw_strmap_set(&map, key, &marks[i]), &marks[i]);
        }
        memset(key, 0, sizeof(key));
        assert_ptr_equal(cw_strmap_get(&map, "key 150"), &marks[150]);
        assert_null(cw_strmap_get(&map, "key"));
        n = 0;
        for (size_t i = 0; cw_strmap_next(&map, &i, &name, NULL); n++)
            assert_non_null(cw_strmap_remove(&map, name));
        assert_int_equal(n, 200);
        assert_int_equal(map.n, 0);
    }
    cw_strmap_set(&map, "left", &marks[0]);
    cw_strmap_fini(&map);
    assert_null(cw_strmap_get(&map, "left"));
}

static const struct CMUnitTest tests[] = {cmocka_unit_test(numbers_agree_with_an_array),
                                          cmocka_unit_test(entries_may_be_removed_on_the_way),
                                          cmocka_unit_test(strings_are_copied)};
CW_TESTS_MAIN(tests)
