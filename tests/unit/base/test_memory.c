/* SPDX-License-Identifier: Apache-2.0 */
/* mem, buf, arena */
#include "support/cm.h"

#include <malloc.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/mem.h"

static void owned_pointers_move(void **state)
{
    cw_autofree char *a = cw_mem_printf("%d-%s", 7, "x");
    cw_autofree char *b = cw_steal(&a);
    int *numbers = NULL;
    size_t n = 0, cap = 0;

    (void)state;
    assert_null(a);
    assert_string_equal(b, "7-x");
    cw_autofree char *c = cw_mem_strndup("abcdef", 3);
    assert_string_equal(c, "abc");
    assert_null(cw_mem_strdup(NULL));
    for (int i = 0; i < 1000; i++) {
        CW_GROW(numbers, n, cap);
        numbers[n++] = i;
    }
    assert_int_equal(numbers[999], 999);
    cw_mem_free(numbers);
    assert_null(cw_mem_try(SIZE_MAX / 2));
}

/* Whatever the alignment of either side; nothing around it is touched. */
static void copies_away(void **state)
{
    static const size_t sizes[] = {0, 1, 63, 16383, 16384, 16385, 150528};
    const size_t max = 150528 + 256;
    cw_autofree unsigned char *src = cw_mem_new(max);
    (void)state;
    for (size_t i = 0; i < max; i++)
        src[i] = (unsigned char)(i * 31 >> 3);
    for (size_t i = 0; i < CW_ARRAY_LEN(sizes); i++)
        for (size_t at = 0; at < 130; at += 13) {
            cw_autofree unsigned char *dst = cw_mem_new(max);
            memset(dst, 0xee, max);
            cw_mem_copy_nontemporal(dst + at, src + at / 2, sizes[i]);
            assert_memory_equal(dst + at, src + at / 2, sizes[i]);
            for (size_t k = 0; k < at; k++)
                assert_int_equal(dst[k], 0xee);
            for (size_t k = at + sizes[i]; k < at + sizes[i] + 64; k++)
                assert_int_equal(dst[k], 0xee);
        }
}

/* What is counted for a piece of memory is what it takes; but for what the allocator leaves on a
 * piece since it is too little for another one. */
static void costs(void **state)
{
    (void)state;
    for (size_t bytes = 1; bytes < 3000000; bytes += 1 + bytes / 7) {
        cw_autofree char *p = cw_mem_new(bytes);
        size_t usable = malloc_usable_size(p);
        size_t slack = bytes < 100u << 10 ? 16 : CW_MEM_PAGE;
        assert_in_range(cw_mem_cost(bytes) + slack, usable, bytes + bytes / 100 + 32 + 2 * slack);
        struct cw_buf *buf = cw_buf_new(bytes);
        assert_non_null(buf);
        assert_int_equal((uintptr_t)buf->data % CW_BUF_ALIGN, 0);
        assert_true(buf->cap >= bytes && cw_buf_held(buf) + slack >= malloc_usable_size(buf));
        memset(buf->data, 1, buf->cap);
        cw_buf_unref(buf);
    }
    assert_int_equal(cw_mem_cost(SIZE_MAX), SIZE_MAX);
    assert_null(cw_buf_new(SIZE_MAX - 10));
}

static void count_release(void *arg, struct cw_buf *buf)
{
    (void)buf;
    ++*(int *)arg;
}

static void buffers_end_with_their_last_ref(void **state)
{
    char memory[10];
    int released = 0;
    struct cw_buf *buf = cw_buf_wrap(memory, sizeof(memory), count_release, &released);

    (void)state;
    cw_buf_ref(buf);
    assert_null(cw_buf_unref(buf));
    assert_int_equal(released, 0);
    assert_null(cw_buf_unref(buf));
    assert_int_equal(released, 1);
    assert_null(cw_buf_unref(NULL));
    buf = cw_buf_copy("hello", 5);
    assert_int_equal((uintptr_t)buf->data % CW_BUF_ALIGN, 0);
    assert_true(buf->len == 5 && buf->cap >= 5);
    assert_memory_equal(buf->data, "hello", 5);
    cw_buf_unref(buf);
    buf = cw_buf_new(0);
    assert_non_null(buf->data);
    cw_buf_unref(buf);
    assert_null(cw_buf_new(SIZE_MAX / 2));
    assert_null(cw_buf_new(SIZE_MAX));
}

static void arena_keeps_its_memory(void **state)
{
    struct cw_arena *arena = cw_arena_new(1 << 20);
    char *first = NULL;

    (void)state;
    for (int turn = 0; turn < 5; turn++) {
        char *all[300];
        for (size_t i = 0; i < 300; i++) {
            all[i] = cw_arena_alloc(arena, 1000);
            assert_non_null(all[i]);
            assert_int_equal((uintptr_t)all[i] % 64, 0);
            memset(all[i], (int)i, 1000);
        }
        for (size_t i = 0; i < 300; i++)
            assert_int_equal((unsigned char)all[i][999], i & 255);
        assert_true(cw_arena_used(arena) >= 300000);
        if (turn == 2)
            first = all[0];
        if (turn > 2)
            assert_ptr_equal(all[0], first);
        cw_arena_reset(arena);
        assert_int_equal(cw_arena_used(arena), 0);
    }
    assert_non_null(cw_arena_alloc(arena, 0));
    assert_null(cw_arena_alloc(arena, SIZE_MAX));
    assert_null(cw_arena_alloc(arena, SIZE_MAX / 4));
    cw_arena_free(arena);
    cw_arena_free(NULL);
}

static void arena_gives_back_what_is_above_keep(void **state)
{
    struct cw_arena *arena = cw_arena_new(0);

    (void)state;
    for (int i = 0; i < 10; i++) {
        char *p = cw_arena_alloc(arena, 100000);
        assert_non_null(p);
        memset(p, 1, 100000);
        cw_arena_reset(arena);
    }
    cw_arena_free(arena);
}

/* It tells what it has, and gives it back when it is told to, or may keep less. */
static void arena_tells_what_it_has(void **state)
{
    struct cw_arena *arena = cw_arena_new(1 << 20);
    (void)state;
    assert_int_equal(cw_arena_bytes(arena), 0);
    for (int turn = 0; turn < 3; turn++) {
        for (int i = 0; i < 6; i++)
            assert_non_null(cw_arena_alloc(arena, 100000));
        assert_true(cw_arena_bytes(arena) >= 600000);
        cw_arena_reset(arena);
    }
    assert_true(cw_arena_bytes(arena) >= 600000);
    cw_arena_set_keep(arena, 200000);
    cw_arena_reset(arena);
    assert_true(cw_arena_bytes(arena) <= 200000);
    for (int turn = 0; turn < 3; turn++) {
        for (int i = 0; i < 6; i++)
            assert_non_null(cw_arena_alloc(arena, 100000));
        cw_arena_reset(arena);
        assert_true(cw_arena_bytes(arena) <= 200000);
    }
    assert_non_null(cw_arena_alloc(arena, 500000));
    cw_arena_trim(arena);
    assert_int_equal(cw_arena_bytes(arena), 0);
    assert_non_null(cw_arena_alloc(arena, 10));
    cw_arena_free(arena);
}

static const struct CMUnitTest tests[] = {cmocka_unit_test(arena_tells_what_it_has),
                                          cmocka_unit_test(owned_pointers_move),
                                          cmocka_unit_test(copies_away),
                                          cmocka_unit_test(costs),
                                          cmocka_unit_test(buffers_end_with_their_last_ref),
                                          cmocka_unit_test(arena_keeps_its_memory),
                                          cmocka_unit_test(arena_gives_back_what_is_above_keep)};
CW_TESTS_MAIN(tests)
