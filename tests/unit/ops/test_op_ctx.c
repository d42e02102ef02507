/* SPDX-License-Identifier: Apache-2.0 */
/* What an operator is given during a call: the place of its result, and what is refused. */
#include <string.h>

#include "base/arena.h"
#include "base/mem.h"
#include "ops/op.h"
#include "support/cm.h"

static struct cw_view view_of(enum cw_dtype dtype, int rank, int64_t a, int64_t b)
{
    return (struct cw_view){.dtype = dtype, .rank = rank, .dims = {a, b}};
}

static void the_slot_is_used_when_it_fits(void **state)
{
    (void)state;
    struct cw_arena *arena = cw_arena_new(4096);
    float slot[6];
    struct cw_op_ctx ctx = {.arena = arena, .slot = slot, .slot_bytes = sizeof(slot)};
    struct cw_err err = {0};
    struct cw_view out = view_of(CW_DTYPE_F32, 2, 2, 3);
    assert_int_equal(cw_op_output(&ctx, &out, &err), 0);
    assert_ptr_equal(out.data, slot);
    assert_int_equal(out.bytes, sizeof(slot));
    out = view_of(CW_DTYPE_F32, 2, 2, 2); /* of another size: elsewhere */
    assert_int_equal(cw_op_output(&ctx, &out, &err), 0);
    assert_true(out.data && out.data != (void *)slot && out.bytes == 16);
    out = (struct cw_view){.dtype = CW_DTYPE_STR, .bytes = sizeof(slot)}; /* a string never */
    assert_int_equal(cw_op_output(&ctx, &out, &err), 0);
    assert_true(out.data && out.data != (void *)slot);
    ctx.slot = NULL;
    out = view_of(CW_DTYPE_F32, 2, 2, 3);
    assert_int_equal(cw_op_output(&ctx, &out, &err), 0);
    assert_true(out.data && out.data != (void *)slot);
    cw_arena_free(arena);
}

static void sizes_that_cannot_be_are_refused(void **state)
{
    (void)state;
    struct cw_arena *arena = cw_arena_new(4096);
    const struct cw_op_ctx ctx = {.arena = arena};
    struct cw_err err = {0};
    struct cw_view out = view_of(CW_DTYPE_F32, 2, 2, -1);
    assert_int_equal(cw_op_output(&ctx, &out, &err), CW_E_INTERNAL);
    assert_non_null(strstr(err.msg, "dimension 1 as -1"));
    out = view_of(CW_DTYPE_F32, 2, INT64_MAX, 4);
    assert_int_equal(cw_op_output(&ctx, &out, &err), CW_E_LIMIT);
    assert_non_null(strstr(err.msg, "too large"));
    out = view_of(CW_DTYPE_U8, 1, INT64_MAX, 0);
    assert_int_equal(cw_op_output(&ctx, &out, &err), CW_E_NOMEM);
    assert_non_null(strstr(err.msg, "no memory for 9223372036854775807 bytes"));
    cw_arena_free(arena);
}

static void what_is_in_the_slot_is_delivered(void **state)
{
    (void)state;
    float slot[6] = {0};
    struct cw_op_ctx ctx = {.slot = slot + 1, .slot_bytes = 4 * sizeof(float)};
    assert_false(cw_op_is_delivered(&ctx, slot));
    assert_true(cw_op_is_delivered(&ctx, slot + 1));
    assert_true(cw_op_is_delivered(&ctx, slot + 4));
    assert_false(cw_op_is_delivered(&ctx, slot + 5));
    ctx.slot = NULL;
    assert_false(cw_op_is_delivered(&ctx, slot + 1));
    assert_false(cw_op_is_delivered(&ctx, NULL));
}

/* The options of an operator, as they are written. */
static void *options_of(const struct cw_op *op, const char *text)
{
    struct cw_value value = {0};
    void *opts = cw_mem_new(op->options_bytes);
    assert_int_equal(cw_value_parse(text, strlen(text), op->name, &value, NULL), 0);
    assert_int_equal(cw_opt_parse(op->options, &value, opts, NULL), 0);
    cw_value_fini(&value);
    return opts;
}

/* A decoder has made the part that the crop asked for: it is taken as it is, called alone and by strips. */
static void a_crop_of_all_there_is_copies_nothing(void **state)
{
    (void)state;
    static const char *const crops[] = {"center_crop", "random_crop"};
    struct cw_arena *arena = cw_arena_new(4096);
    struct cw_op_ctx ctx = {.arena = arena};
    struct cw_err err = {0};
    uint8_t pixels[4 * 6] = {0};
    for (size_t i = 0; i < CW_ARRAY_LEN(crops); i++) {
        const struct cw_op *op = cw_op_find(crops[i]);
        void *opts = options_of(op, "{\"size\":[4,6]}");
        struct cw_rect part;
        assert_int_equal(op->want(&ctx, opts, 9, 10, &part, &err), 0);
        const struct cw_view in = {.dtype = CW_DTYPE_U8,
                                   .rank = 3,
                                   .dims = {4, 6, 1},
                                   .data = pixels,
                                   .bytes = sizeof(pixels),
                                   .part_y = part.y,
                                   .part_x = part.x,
                                   .full_h = 9,
                                   .full_w = 10};
        struct cw_view out = in;
        assert_int_equal(op->apply_field(&ctx, opts, NULL, NULL, &in, &out, &err), 0);
        assert_ptr_equal(out.data, pixels);
        assert_true(out.full_h == 0 && out.full_w == 0 && out.part_y == 0 && out.part_x == 0);
        out = in;
        assert_int_equal(op->strips->begin(&ctx, opts, NULL, NULL, &in, &out, &err), CW_STRIP_SAME);
        assert_true(out.full_h == 0 && out.dims[0] == 4 && out.dims[1] == 6);
        cw_opt_fini(op->options, opts);
        cw_mem_free(opts);
    }
    cw_arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_slot_is_used_when_it_fits),
        cmocka_unit_test(sizes_that_cannot_be_are_refused),
        cmocka_unit_test(what_is_in_the_slot_is_delivered),
        cmocka_unit_test(a_crop_of_all_there_is_copies_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
