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

/* ---- without an index ---- */

struct starts {
    uint64_t v[64];
    size_t n;
};

static void add_starts(struct starts *all, const struct cw_tfrecord_part *part)
{
    for (size_t i = 0; i < part->n; i++) {
        assert_true(all->n < CW_ARRAY_LEN(all->v));
        all->v[all->n++] = part->at[i];
    }
}

/* Finds the records of all ranges of so many bytes. Returns 0, or the code of the last one that fails. */
static int find_all(const struct cw_str *bytes, uint64_t range, struct starts *ret,
                    struct cw_err *err)
{
    const struct cw_readable_bytes mem = {bytes->s, bytes->len};
    const struct cw_readable file = cw_readable_mem("f", &mem);
    int failed = 0;
    ret->n = 0;
    for (uint64_t from = 0; from < bytes->len; from += range) {
        struct cw_tfrecord_part part = {0};
        int rc = cw_tfrecord_find(&file, from, from + range, &part, err);
        if (rc < 0)
            failed = rc;
        else
            add_starts(ret, &part);
        for (size_t i = 0; rc == 0 && i < part.n; i++)
            assert_true(part.at[i] >= from && part.at[i] < from + range &&
                        part.at[i + 1] > part.at[i]);
        cw_tfrecord_part_fini(&part);
    }
    return failed;
}

static void starts_of(const struct cw_str *bytes, struct starts *ret)
{
    const struct cw_readable_bytes mem = {bytes->s, bytes->len};
    const struct cw_readable file = cw_readable_mem("f", &mem);
    struct cw_line_index *index = NULL;
    assert_int_equal(cw_tfrecord_scan(&file, &index, NULL), 0);
    ret->n = 0;
    for (uint64_t k = 0; k < cw_line_index_n(index); k++)
        ret->v[ret->n++] = cw_line_index_at(index, k);
    cw_line_index_free(index);
}

static void expect_same(const struct starts *a, const struct starts *b)
{
    assert_int_equal(a->n, b->n);
    assert_memory_equal(a->v, b->v, a->n * sizeof(a->v[0]));
}

/* A file with the beginning of zeros, and of lengths, in its records. */
static void make_file(struct cw_str *file)
{
    static const char zeros[200];
    add_record(file, "first", 5);
    add_record(file, zeros, sizeof(zeros));
    add_record(file, "", 0);
    add_record(file, "", 0);
    add_record(file, file->s, 12); /* a header alone */
    add_record(file, "the last", 8);
}

/* Whatever the length of ranges is, the records of all of them are those of the index. */
static void ranges_have_each_record_once(void **state)
{
    CW_STR_AUTO file = {0};
    struct starts all, found;
    struct cw_err err = {0};
    (void)state;
    make_file(&file);
    starts_of(&file, &all);
    for (uint64_t range = 1; range <= file.len + 1; range++) {
        if (find_all(&file, range, &found, &err) < 0)
            fail_msg("%s", err.msg);
        expect_same(&found, &all);
    }
    file.len = 0;
    assert_int_equal(find_all(&file, 1, &found, &err), 0);
    assert_int_equal(found.n, 0);
}

/* A large record, of which most ranges have no beginning, crosses the windows. */
static void ranges_in_a_large_record(void **state)
{
    enum { LARGE = 300 << 10 };
    cw_autofree char *zeros = cw_mem_new(LARGE);
    CW_STR_AUTO file = {0};
    struct starts all, found;
    struct cw_err err = {0};
    (void)state;
    add_record(&file, "first", 5);
    add_record(&file, zeros, LARGE);
    add_record(&file, "behind", 6);
    starts_of(&file, &all);
    for (uint64_t range = (64 << 10) - 40; range <= (64 << 10) + 40; range++) {
        assert_int_equal(find_all(&file, range, &found, &err), 0);
        expect_same(&found, &all);
    }
}

/* A TFRecord file inside of a record: never a record of it instead of one of the file, or besides. */
static void files_inside_of_records(void **state)
{
    CW_STR_AUTO file = {0};
    CW_STR_AUTO inner = {0};
    struct starts all, found;
    struct cw_err err = {0};
    size_t failed = 0, whole = 0;
    (void)state;
    for (int i = 0; i < 5; i++)
        add_record(&inner, "inside of it", 12);
    add_record(&file, "first", 5);
    add_record(&file, inner.s, inner.len);
    add_record(&file, "behind", 6);
    add_record(&file, inner.s, inner.len);
    starts_of(&file, &all);
    assert_int_equal(all.n, 4);
    for (uint64_t range = 1; range <= file.len + 1; range++) {
        int rc = find_all(&file, range, &found, &err);
        if (rc == 0) {
            expect_same(&found, &all);
            whole++;
            continue;
        }
        assert_int_equal(rc, CW_E_STATE);
        assert_non_null(strstr(err.msg, "leave out index: false"));
        failed++;
    }
    assert_true(failed > file.len / 2 && whole > 0);
    /* the range in which the outer record begins is the one that tells */
    assert_int_equal(find_all(&file, 60, &found, &err), CW_E_STATE);
    const struct cw_readable_bytes mem = {file.s, file.len};
    const struct cw_readable readable = cw_readable_mem("f", &mem);
    struct cw_tfrecord_part part = {0};
    assert_int_equal(cw_tfrecord_find(&readable, 0, 60, &part, &err), CW_E_STATE);
    assert_string_equal(err.msg, "f: what stands at byte 61 looks like a record, but lies inside "
                                 "of the one at byte 21: an index is needed to tell them apart "
                                 "(leave out index: false)");
}

/* What looks like a record inside of another one, and ends where that one does: the records behind it are the file's,
 * so only the range before can tell. */
static void a_header_inside_of_a_record(void **state)
{
    enum { BEFORE = 10, BEHIND = 30 };
    CW_STR_AUTO file = {0};
    CW_STR_AUTO data = {0};
    struct starts all, found;
    struct cw_err err = {0};
    const uint64_t n = BEHIND; /* its checksum would be that of the record around it */
    const uint32_t crc = cw_crc32c_masked(&n, 8);
    size_t failed = 0, whole = 0;
    (void)state;
    for (int i = 0; i < BEFORE; i++)
        cw_str_add(&data, "x");
    cw_str_add_bytes(&data, &n, 8);
    cw_str_add_bytes(&data, &crc, 4);
    for (int i = 0; i < BEHIND; i++)
        cw_str_add(&data, "y");
    add_record(&file, "first", 5);
    add_record(&file, data.s, data.len);
    add_record(&file, "behind", 6);
    starts_of(&file, &all);
    for (uint64_t range = 1; range <= file.len + 1; range++) {
        int rc = find_all(&file, range, &found, &err);
        if (rc == 0)
            expect_same(&found, &all);
        assert_true(rc == 0 || rc == CW_E_STATE);
        failed += rc < 0;
        whole += rc == 0;
    }
    assert_true(failed > 0 && whole > 0);
}

/* Damage of a header is found, whatever the ranges are; damage of data when a record is taken out of its frame. */
static void damage_without_an_index(void **state)
{
    CW_STR_AUTO file = {0};
    struct starts all, found;
    struct cw_err err = {0};
    (void)state;
    make_file(&file);
    starts_of(&file, &all);
    for (size_t bit = 0; bit < 8 * file.len; bit++) {
        file.s[bit / 8] = (char)(file.s[bit / 8] ^ (1 << bit % 8));
        for (uint64_t range = 30; range < 300; range += 90) {
            int rc = find_all(&file, range, &found, &err);
            size_t k = all.n;
            while (all.v[k - 1] > bit / 8)
                k--;
            assert_int_equal(rc,
                             bit / 8 - all.v[k - 1] < CW_TFRECORD_HEADER_BYTES ? CW_E_STATE : 0);
            if (rc == 0)
                expect_same(&found, &all);
        }
        file.s[bit / 8] = (char)(file.s[bit / 8] ^ (1 << bit % 8));
    }
    for (size_t cut = file.len - 1; cut > 0; cut--) {
        size_t k = 0;
        while (k < all.n && all.v[k] != cut)
            k++;
        file.len = cut;
        for (uint64_t range = 30; range < 300; range += 90)
            assert_int_equal(find_all(&file, range, &found, &err), k < all.n ? 0 : CW_E_STATE);
    }
}

static void out_of_a_frame(void **state)
{
    CW_STR_AUTO frame = {0};
    struct cw_err err = {0};
    const void *data = NULL;
    size_t n = 0;
    (void)state;
    add_record(&frame, "data", 4);
    assert_int_equal(cw_tfrecord_unframe(frame.s, frame.len, &data, &n, &err), 0);
    assert_int_equal(n, 4);
    assert_memory_equal(data, "data", 4);
    for (size_t bit = 0; bit < 8 * frame.len; bit++) {
        frame.s[bit / 8] = (char)(frame.s[bit / 8] ^ (1 << bit % 8));
        assert_int_equal(cw_tfrecord_unframe(frame.s, frame.len, &data, &n, &err), CW_E_CORRUPT);
        frame.s[bit / 8] = (char)(frame.s[bit / 8] ^ (1 << bit % 8));
    }
    for (size_t cut = 0; cut < frame.len; cut++)
        assert_int_equal(cw_tfrecord_unframe(frame.s, cut, &data, &n, &err), CW_E_CORRUPT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_damage_is_found),
                                       cmocka_unit_test(records_of_all_sizes),
                                       cmocka_unit_test(ranges_have_each_record_once),
                                       cmocka_unit_test(ranges_in_a_large_record),
                                       cmocka_unit_test(files_inside_of_records),
                                       cmocka_unit_test(a_header_inside_of_a_record),
                                       cmocka_unit_test(damage_without_an_index),
                                       cmocka_unit_test(out_of_a_frame)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
