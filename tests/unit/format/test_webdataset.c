/* SPDX-License-Identifier: Apache-2.0 */
/* Tar files and the index of samples, on files that are made here. */
#include "support/cm.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "format/webdataset.h"

#define BLOCK CW_TAR_BLOCK_BYTES

static void add_sum(char *header)
{
    unsigned sum = 0;
    memset(header + 148, ' ', 8);
    for (size_t i = 0; i < BLOCK; i++)
        sum += (unsigned char)header[i];
    snprintf(header + 148, 8, "%06o", sum);
}

static void add_member(struct cw_str *tar, const char *name, char type, const void *data, size_t n)
{
    char header[BLOCK] = {0};
    static const char zeros[BLOCK] = {0};
    snprintf(header, 100, "%s", name);
    snprintf(header + 124, 12, "%011zo", n);
    header[156] = type;
    add_sum(header);
    cw_str_add_bytes(tar, header, BLOCK);
    cw_str_add_bytes(tar, data, n);
    cw_str_add_bytes(tar, zeros, (BLOCK - n % BLOCK) % BLOCK);
}

static void add_end(struct cw_str *tar)
{
    static const char zeros[2 * BLOCK] = {0};
    cw_str_add_bytes(tar, zeros, sizeof(zeros));
}

static int field_of(const void *arg, const char *ext, size_t n)
{
    (void)arg;
    return n == 1 && ext[0] >= 'a' && ext[0] <= 'c' ? ext[0] - 'a' : -1;
}
static const struct cw_wds_want want = {.field_of = field_of, .fields_n = 3, .key_field = -1};

static int scan(const struct cw_readable_bytes *bytes, struct cw_wds_index *ret, struct cw_err *err)
{
    struct cw_readable file = cw_readable_mem("f.tar", bytes);
    return cw_wds_scan(&file, &want, ret, err);
}

static void check_member(const struct cw_str *tar, const struct cw_wds_part *part, const char *text)
{
    assert_true(part->is_there);
    assert_int_equal(part->bytes, strlen(text));
    assert_memory_equal(tar->s + part->offset, text, strlen(text));
}

/* Samples of one to three members, of all sizes around a block. */
static void finds_all(void **state)
{
    enum { SAMPLES = 1000 };
    CW_STR_AUTO tar = {0};
    struct cw_wds_index index;
    struct cw_err err = {0};
    (void)state;
    for (int i = 0; i < SAMPLES; i++)
        for (int f = 2; f >= i % 3; f--) {
            char name[40], text[1200] = {0};
            snprintf(name, sizeof(name), "s/%d.%c", i, 'a' + f);
            memset(text, 'a' + (i + f) % 26, (size_t)((i * 7 + f * 31) % 1100));
            add_member(&tar, name, '0', text, strlen(text));
        }
    add_end(&tar);
    struct cw_readable_bytes bytes = {tar.s, tar.len};
    assert_int_equal(scan(&bytes, &index, &err), 0);
    assert_int_equal(index.n, SAMPLES);
    for (int i = SAMPLES - 1; i >= 0; i--) {
        struct cw_wds_part parts[3];
        cw_wds_find(&index, (uint64_t)i, parts, 3);
        for (int f = 0; f < 3; f++) {
            char text[1200] = {0};
            memset(text, 'a' + (i + f) % 26, (size_t)((i * 7 + f * 31) % 1100));
            assert_int_equal(parts[f].is_there, f >= i % 3);
            if (parts[f].is_there)
                check_member(&tar, &parts[f], text);
        }
    }
    /* 2,000 members */
    assert_in_range(cw_wds_index_bytes(&index), 2000, 4 * 2000);
    cw_wds_index_fini(&index);
}

/* Members far from each other are read one by one, others at once. */
static void reads(void **state)
{
    CW_STR_AUTO tar = {0}, far = {0};
    struct cw_wds_index index;
    struct cw_err err = {0};
    struct cw_arena *arena = cw_arena_new(1 << 20);
    (void)state;
    for (int i = 0; i < 1 << 20; i++)
        cw_str_add_char(&far, 'x');
    add_member(&tar, "1.a", '0', "one", 3);
    add_member(&tar, "2.a", '0', "two", 3);
    add_member(&tar, "2.b", '0', "", 0);
    add_member(&tar, "large", '0', far.s, far.len);
    add_member(&tar, "1.c", '0', "three", 5);
    add_end(&tar);
    struct cw_readable_bytes bytes = {tar.s, tar.len};
    struct cw_readable file = cw_readable_mem("f.tar", &bytes);
    assert_int_equal(cw_wds_scan(&file, &want, &index, &err), 0);
    assert_int_equal(index.n, 2);
    for (uint64_t k = 0; k < 2; k++) {
        struct cw_wds_part parts[3];
        cw_wds_find(&index, k, parts, 3);
        assert_int_equal(cw_wds_read(&file, parts, 3, arena, &err), 0);
        assert_memory_equal(parts[0].data, k == 0 ? "one" : "two", 3);
        if (k == 0)
            assert_memory_equal(parts[2].data, "three", 5);
        assert_true(cw_arena_used(arena) < 4096);
    }
    cw_arena_free(arena);
    cw_wds_index_fini(&index);
}

/* Wherever a file is cut, that is an error that says where. */
static void cut_anywhere(void **state)
{
    CW_STR_AUTO tar = {0};
    (void)state;
    add_member(&tar, "1.a", '0', "one", 3);
    add_member(&tar, "x", 'L', "2.b", 4);
    add_member(&tar, "cut", '0', "two", 3);
    add_member(&tar, "x", 'x', "12 path=3.c\n", 12);
    add_member(&tar, "cut", '0', "three", 5);
    size_t n = tar.len;
    add_end(&tar);
    for (size_t i = 0; i < n + BLOCK; i++) {
        struct cw_wds_index index;
        struct cw_err err = {0};
        cw_autofree char *copy = cw_mem_try(i + 1);
        memcpy(copy, tar.s, i);
        struct cw_readable_bytes bytes = {copy, i};
        assert_int_equal(scan(&bytes, &index, &err), CW_E_CORRUPT);
        if (!strstr(err.msg, "f.tar: member") || !strstr(err.msg, "truncated"))
            fail_msg("%zu bytes: %s", i, err.msg);
    }
    struct cw_wds_index index;
    struct cw_readable_bytes bytes = {tar.s, n + BLOCK};
    assert_int_equal(scan(&bytes, &index, NULL), 0);
    assert_int_equal(index.n, 3);
    cw_wds_index_fini(&index);
}

static void refused(const struct cw_str *tar, int code, const char *why)
{
    struct cw_wds_index index;
    struct cw_err err = {0};
    struct cw_readable_bytes bytes = {tar->s, tar->len};
    assert_int_equal(scan(&bytes, &index, &err), code);
    if (!strstr(err.msg, why))
        fail_msg("%s, not %s", err.msg, why);
}

static void refused_one(const char *name, char type, const char *data, size_t n, const char *why)
{
    CW_STR_AUTO tar = {0};
    add_member(&tar, name, type, data, n);
    add_member(&tar, "1.a", '0', "one", 3);
    add_end(&tar);
    refused(&tar, CW_E_CORRUPT, why);
}

static void lies(void **state)
{
    cw_autofree char *large = cw_mem_new((size_t)CW_TAR_PAX_BYTES_MAX + 1);
    (void)state;
    memset(large, 'n', (size_t)CW_TAR_PAX_BYTES_MAX);
    refused_one("x", 'L', large, (size_t)CW_TAR_PAX_BYTES_MAX + 1, "extended header is too long");
    refused_one("x", 'L', large, CW_TAR_NAME_BYTES_MAX + 1, "name is too long");
    refused_one("x", 'L', "", 0, "name is empty");
    refused_one("x", 'x', "5 a\n", 4, "extended header is damaged");
    refused_one("x", 'x', "999999999999999999999999 a=b\n", 29, "extended header is damaged");
    refused_one("x", 'x', "6 a=b", 5, "extended header is damaged");
    refused_one("x", 'x', "27 size=9223372036854775806\n", 28, "extended header is damaged");
    refused_one("x", 'x', "28 size=8223372036854775806\n", 28, "truncated");
    refused_one("x", 'x', "28 size=92233720368547758070", 28, "extended header is damaged");
    refused_one("x", 'x', "10 size=x\n", 10, "not a number");
    refused_one("x", 'x', "10 path=\0\n", 10, "zero byte");
    refused_one("x", 'g', "10 path=a\n", 10, "global header");
    refused_one("x", 'M', "", 0, "another volume");
}

/* Numbers of base 256, and a size that does not fit. */
static void large_sizes(void **state)
{
    static const char sizes[][12] = {{'\x80', 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 3},
                                     {'\x80', 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0},
                                     {'\xff', -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1},
                                     {'9'}};
    static const char *const says[] = {NULL, "truncated", "size is not a number",
                                       "size is not a number"};
    (void)state;
    for (size_t i = 0; i < CW_ARRAY_LEN(sizes); i++) {
        CW_STR_AUTO tar = {0};
        struct cw_wds_index index;
        add_member(&tar, "1.a", '0', "one", 3);
        memcpy(tar.s + 124, sizes[i], 12);
        add_sum(tar.s);
        add_end(&tar);
        struct cw_readable_bytes bytes = {tar.s, tar.len};
        if (says[i]) {
            refused(&tar, CW_E_CORRUPT, says[i]);
            continue;
        }
        assert_int_equal(scan(&bytes, &index, NULL), 0);
        cw_wds_index_fini(&index);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_all), cmocka_unit_test(reads),       cmocka_unit_test(cut_anywhere),
        cmocka_unit_test(lies),      cmocka_unit_test(large_sizes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
