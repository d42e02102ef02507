/* SPDX-License-Identifier: Apache-2.0 */
/* What is worth packing is found by trial, and what was found is remembered for a while. */
#include "records.h"

#include "fake_store.h"

#define RECORDS 256u
#define RECORD_BYTES 4096u
#define CHUNK_BYTES ((uint64_t)RECORDS * RECORD_BYTES)
#define NOT_TRIED 15 /* chunks, after one that was not worth it */

static void put(struct cw_cache_dataset *node, uint64_t id, bool noise)
{
    uint64_t words[RECORD_BYTES / 8];
    struct cw_element element = {.n = 2};

    for (size_t i = 0; i < CW_ARRAY_LEN(words); i++)
        words[i] = noise ? cw_mix64(id * 1000 + i) : id;
    element.fields[0] = (struct cw_view){.data = words,
                                         .bytes = sizeof(words),
                                         .dtype = CW_DTYPE_U8,
                                         .rank = 1,
                                         .dims = {RECORD_BYTES}};
    element.fields[1] =
        (struct cw_view){.data = &id, .bytes = 8, .dtype = CW_DTYPE_U64, .rank = 1, .dims = {1}};
    cw_cache_put(node, id, &element, 1000);
}

/* Writes one chunk; whether it is smaller than its records. */
static bool is_packed(struct fixture *f, uint64_t *id, bool noise)
{
    size_t files = fake_files();

    for (unsigned i = 0; i < RECORDS; i++)
        put(f->node, (*id)++, noise);
    settle(f);
    assert_int_equal(fake_files(), files + 1);
    return fake_bytes(files) < CHUNK_BYTES / 2;
}

static void test_trial(void **state)
{
    struct cw_cache_options options = {.level = CW_CHUNK_AUTO, .chunk_bytes = 4 * CHUNK_BYTES};
    struct fixture f;
    uint64_t id = 0;

    (void)state;
    fake_reset();
    fixture_open(&f, "fake:read", options);
    for (int i = 0; i < 3; i++)
        assert_true(is_packed(&f, &id, false));
    assert_false(is_packed(&f, &id, true));
    for (int i = 0; i < NOT_TRIED; i++)
        assert_false(is_packed(&f, &id, false));
    assert_true(is_packed(&f, &id, false)); /* tried again */
    assert_true(is_packed(&f, &id, false));
    assert_int_equal(counts_of(f.node).lost, 0);
    fixture_close(&f, 0);
}

/* A level that was asked for is not a trial. */
static void test_level(void **state)
{
    struct cw_cache_options options = {.level = 3, .chunk_bytes = 4 * CHUNK_BYTES};
    struct fixture f;
    uint64_t id = 0;

    (void)state;
    fake_reset();
    fixture_open(&f, "fake:read", options);
    assert_false(is_packed(&f, &id, true));
    assert_true(is_packed(&f, &id, false));
    fixture_close(&f, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_trial),
        cmocka_unit_test(test_level),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
