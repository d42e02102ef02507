/* SPDX-License-Identifier: Apache-2.0 */
/* The pipelines of docs/examples give the bytes whose hashes stand in example_hashes.txt, on every architecture
 * and at every level of instructions. With --print it writes that file anew: only where a pipeline was meant to
 * change. */
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "example_data.h"
#include "run.h"
#include "support/cm.h"

#define SEED 7
#define EPOCH 1

static const char *const names[] = {
    "audio/speech",          "cedar/pipeline_coco",     "cedar/pipeline_common_voice",
    "cedar/pipeline_simclr", "cedar/pipeline_wikitext", "photos",
    "tables/numbers",        "text/next_token"};

/* The hash of all batches of an epoch, which is that of two threads as well. */
static void hash_of(const char *name, char ret_text[CW_HASH_TEXT_BYTES])
{
    struct cw_plan *plan = example_data_plan(name, SEED);
    uint64_t rows = 0;
    const struct cw_hash here = hash_here(plan, EPOCH, CW_BAD_FAIL),
                         pool = hash_pool(plan, 2, EPOCH, CW_BAD_FAIL, &rows);
    cw_plan_unref(plan);
    assert_true(rows > 0);
    assert_true(cw_hash_eq(here, pool));
    cw_hash_text(here, ret_text);
}

/* Finds the stored hash of a pipeline; "" if there is none. */
static void find_stored(const char *wanted, char ret_text[CW_HASH_TEXT_BYTES])
{
    char hash[CW_HASH_TEXT_BYTES], name[64];
    FILE *file = fopen(CW_TEST_HASHES, "r");
    assert_non_null(file);
    *ret_text = 0;
    while (fscanf(file, "%32s %63s", hash, name) == 2)
        if (strcmp(name, wanted) == 0)
            memcpy(ret_text, hash, CW_HASH_TEXT_BYTES);
    assert_int_equal(fclose(file), 0);
}

static void hashes_are_those_that_are_stored(void **state)
{
    (void)state;
    for (size_t i = 0; i < CW_ARRAY_LEN(names); i++) {
        char hash[CW_HASH_TEXT_BYTES], stored[CW_HASH_TEXT_BYTES];
        hash_of(names[i], hash);
        find_stored(names[i], stored);
        if (strcmp(stored, hash) != 0)
            fail_msg("%s: %s, and not %s", names[i], hash, stored);
    }
}

static int make(void **state)
{
    (void)state;
    example_data_make(false); /* of lossy sound each architecture has its own */
    return 0;
}

static int clean_up(void **state)
{
    (void)state;
    example_data_remove();
    return 0;
}

static int print(void)
{
    example_data_make(false);
    for (size_t i = 0; i < CW_ARRAY_LEN(names); i++) {
        char hash[CW_HASH_TEXT_BYTES];
        hash_of(names[i], hash);
        printf("%s %s\n", hash, names[i]);
    }
    example_data_remove();
    return 0;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(hashes_are_those_that_are_stored)};
    if (argc > 1 && strcmp(argv[1], "--print") == 0)
        return print();
    return cmocka_run_group_tests(tests, make, clean_up);
}
