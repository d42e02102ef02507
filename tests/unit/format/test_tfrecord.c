/* SPDX-License-Identifier: Apache-2.0 */
/* Framing against every single damage of a small file; large records cross the reading window. */
#include "support/cm.h"

#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "format/crc32c.h"
#include "format/tfrecord.h"

static void add_record(struct cw_str *file, const void *p, uint64_t n)
{
    uint32_t crc = cw_crc32c_masked(&n, 8);
    cw_str_add_bytes(file, &n, 8);
    cw_str_add_bytes(file, &crc, 4);
    cw_str_add_bytes(file, p, (size_t)n);
    crc = cw_crc32c_masked(p, (size_t)n);
    cw_str_add_bytes(file, &crc, 4);
}

/* Reads all of a file in memory; the first error's code, or the number of records. */
static int read_all(const void *p, size_t n, struct cw_arena *arena, struct cw_err *err)
{
    struct cw_readable_bytes bytes = {p, n};
    struct cw_readable file = cw_readable_mem("f", &bytes);
    struct cw_line_index *index = NULL;
    int rc = cw_tfrecord_scan(&file, &index, err);
    for (size_t k = 0; rc == 0 && k < cw_line_index_n(index); k++) {
        void *data;
        size_t data_n;
        rc = cw_tfrecord_get(&file, index, k, arena, &data, &data_n, err);
    }
    rc = rc < 0 ? rc : (int)cw_line_index_n(index);
    cw_line_index_free(index);
    cw_arena_reset(arena);
    return rc;
}

static void every_damage_is_found(void **state)
{
    struct cw_arena *arena = cw_arena_new(1 << 16);
    CW_STR_AUTO file = {0};
    struct cw_err err = {0};
    (void)state;
    add_record(&file, "first", 5);
    add_record(&file, "", 0);
    add_record(&file, "the third", 9);
    assert_int_equal(read_all(file.s, file.len, arena, &err), 3);
    for (size_t bit = 0; bit < 8 * file.len; bit++) {
        file.s[bit / 8] = (char)(file.s[bit / 8] ^ (1 << bit % 8));
        assert_int_equal(read_all(file.s, file.len, arena, &err), CW_E_CORRUPT);
        assert_true(cw_str_starts(err.msg, "f: record "));
        file.s[bit / 8] = (char)(file.s[bit / 8] ^ (1 << bit % 8));
    }
    for (size_t cut = 0; cut < file.len; cut++) {
        int got = read_all(file.s, cut, arena, &err);
        assert_true(cut == 0 || cut == 21 || cut == 37 ? got >= 0 : got == CW_E_CORRUPT);
    }
    cw_arena_free(arena);
}

static void records_of_all_sizes(void **state)
{
    enum { LARGE = 300 << 10 };
    struct cw_arena *arena = cw_arena_new(1 << 20);
    cw_autofree char *zeros = cw_mem_new(LARGE);
    CW_STR_AUTO file = {0};
    struct cw_err err = {0};
    (void)state;
    for (uint64_t n = 0; n < 1500; n++)
        add_record(&file, zeros, n % 500 == 7 ? LARGE : n);
    assert_int_equal(read_all(file.s, file.len, arena, &err), 1500);
    cw_arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_damage_is_found),
                                       cmocka_unit_test(records_of_all_sizes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
