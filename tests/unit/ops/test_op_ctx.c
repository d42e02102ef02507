/* SPDX-License-Identifier: Apache-2.0 */
/* What an operator is given during a call: the place of its result, and what is refused. */
#include <string.h>

#include "base/arena.h"
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_slot_is_used_when_it_fits),
        cmocka_unit_test(sizes_that_cannot_be_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
