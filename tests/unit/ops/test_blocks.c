/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of blocks: what is joined, and what a manifest says of them. */
#include "ops/blocks.h"
#include "ops/source/line_blocks.h"
#include "support/cm.h"

static void what_is_empty_is_left_out(void **state)
{
    struct cw_blocks blocks = {0};
    (void)state;
    const int64_t begins[] = {0, 0, 3, 3, 5, 9, 9, 12};
    for (size_t i = 0; i < CW_ARRAY_LEN(begins); i++)
        cw_blocks_add(&blocks, begins[i]);
    cw_blocks_finish(&blocks, 9);
    assert_int_equal(blocks.n, 3);
    assert_int_equal(cw_blocks_length(&blocks, 0), 3);
    assert_int_equal(cw_blocks_length(&blocks, 1), 2);
    assert_int_equal(cw_blocks_length(&blocks, 2), 4);
    cw_blocks_fini(&blocks);
}

/* Of more than there may be, as many neighbours are joined everywhere. */
static void neighbours_are_joined(void **state)
{
    static const size_t sizes[] = {CW_BLOCKS_MAX,         CW_BLOCKS_MAX + 1,     2 * CW_BLOCKS_MAX,
                                   2 * CW_BLOCKS_MAX + 1, 5 * CW_BLOCKS_MAX + 3, 8 * CW_BLOCKS_MAX};
    static const int64_t joined[] = {1, 2, 2, 4, 8, 8};
    (void)state;
    for (size_t k = 0; k < CW_ARRAY_LEN(sizes); k++) {
        struct cw_blocks blocks = {0};
        for (size_t i = 0; i < sizes[k]; i++)
            cw_blocks_add(&blocks, (int64_t)i * 3);
        cw_blocks_finish(&blocks, (int64_t)sizes[k] * 3);
        assert_true(blocks.n <= CW_BLOCKS_MAX);
        for (size_t i = 0; i + 1 < blocks.n; i++)
            assert_int_equal(cw_blocks_length(&blocks, i), 3 * joined[k]);
        assert_int_equal(blocks.begins[0], 0);
        cw_blocks_fini(&blocks);
    }
}

static void a_manifest_says_them(void **state)
{
    struct cw_blocks blocks = {0}, read = {0};
    struct cw_value manifest = {0};
    struct cw_err err = {0};
    (void)state;
    cw_blocks_add(&blocks, 0);
    cw_blocks_add(&blocks, 7);
    cw_blocks_finish(&blocks, 10);
    cw_value_set_object(&manifest);
    cw_blocks_write(&blocks, &manifest);
    assert_int_equal(cw_blocks_read(&manifest, &read, &err), 0);
    assert_int_equal(read.n, 2);
    assert_int_equal(read.begins[1], 7);
    assert_int_equal(read.end, 10);
    cw_blocks_fini(&read);
    (void)cw_value_set_list(cw_value_member(&manifest, "blocks"), CW_BLOCKS_MAX + 1);
    assert_int_equal(cw_blocks_read(&manifest, &read, &err), CW_E_INVALID);
    cw_value_fini(&manifest);
    cw_blocks_fini(&blocks);
}

static struct cw_line_index *index_of(uint64_t n, uint64_t bytes)
{
    struct cw_line_index *index = cw_line_index_new();
    for (uint64_t i = 0; i < n; i++)
        assert_int_equal(cw_line_index_add(index, i * bytes), 0);
    assert_int_equal(cw_line_index_end(index, n * bytes), 0);
    return index;
}

/* A block begins with the first record that begins in a stretch; one that has none is none. */
static void records_of_a_stretch_are_a_block(void **state)
{
    struct cw_access_point at[] = {
        {.at = 0}, {.at = 1500}, {.at = 1600}, {.at = 5000}, {.at = 9001}};
    const struct cw_access_points points = {.size = 10000, .n = CW_ARRAY_LEN(at), .v = at};
    struct cw_blocks blocks = {0};
    struct cw_line_index *index = index_of(10, 1000);
    (void)state;
    cw_line_blocks(index, &points, 100, &blocks);
    assert_int_equal(blocks.n, 3);
    assert_int_equal(blocks.begins[0], 100);
    assert_int_equal(blocks.begins[1], 102);
    assert_int_equal(blocks.begins[2], 105);
    cw_line_index_free(index);
    cw_blocks_fini(&blocks);
    blocks = (struct cw_blocks){0};
    index = index_of(10000, 1000); /* not compressed: each 4 MiB */
    cw_line_blocks(index, NULL, 0, &blocks);
    assert_int_equal(blocks.n, 3);
    assert_int_equal(blocks.begins[1], 4195);
    assert_int_equal(blocks.begins[2], 8389);
    cw_line_index_free(index);
    cw_blocks_fini(&blocks);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_empty_is_left_out),
        cmocka_unit_test(neighbours_are_joined),
        cmocka_unit_test(a_manifest_says_them),
        cmocka_unit_test(records_of_a_stretch_are_a_block),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
