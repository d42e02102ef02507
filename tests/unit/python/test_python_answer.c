/* SPDX-License-Identifier: Apache-2.0 */
/* What a child says is checked before anything of it is read. */
#include "support/cm.h"

#include <string.h>

#include "python/python_answer.h"

#define MAP_BYTES 4096

static unsigned char map[MAP_BYTES];

static struct cw_python_reply one_field(struct cw_python_field field)
{
    struct cw_python_reply reply = {0};
    reply.u.head = (struct cw_python_answer){.status = CW_PYTHON_KEEP, .n = 1};
    reply.u.with.fields[0] = field;
    reply.n = sizeof(reply.u.head) + sizeof(field);
    return reply;
}

static bool is_taken(const struct cw_python_reply *reply)
{
    struct cw_view fields[CW_FIELDS_MAX];
    size_t n = 0;
    return cw_python_answer_fields(reply, map, MAP_BYTES, fields, &n);
}

static bool field_is_taken(struct cw_python_field field)
{
    struct cw_python_reply reply = one_field(field);
    return is_taken(&reply);
}

static void sound_fields(void **state)
{
    struct cw_python_reply reply = one_field((struct cw_python_field){
        .dtype = CW_DTYPE_F32, .rank = 2, .at = 64, .bytes = 24, .dims = {2, 3}});
    struct cw_view fields[CW_FIELDS_MAX];
    char names[16];
    size_t n = 0;
    (void)state;
    memcpy(reply.u.bytes + reply.n, "[\"x\"]", 5);
    reply.n += 5;
    assert_true(cw_python_answer_fields(&reply, map, MAP_BYTES, fields, &n));
    assert_int_equal(n, 1);
    assert_ptr_equal(fields[0].data, map + 64);
    assert_int_equal(fields[0].dims[1], 3);
    cw_python_answer_names(&reply, names, sizeof(names));
    assert_string_equal(names, "[\"x\"]");
    cw_python_answer_names(&reply, names, 3);
    assert_string_equal(names, "[\"");
    assert_true(field_is_taken((struct cw_python_field){
        .dtype = CW_DTYPE_U8, .rank = 1, .bytes = MAP_BYTES, .dims = {MAP_BYTES}}));
    assert_true(field_is_taken(
        (struct cw_python_field){.dtype = CW_DTYPE_STR, .at = MAP_BYTES, .bytes = 0}));
}

static void fields_that_are_not_there(void **state)
{
    const struct cw_python_field bad[] = {
        {.dtype = CW_DTYPE_N, .bytes = 1},
        {.dtype = CW_DTYPE_U8, .rank = CW_RANK_MAX + 1, .bytes = 1},
        {.dtype = CW_DTYPE_U8, .rank = 1, .at = MAP_BYTES, .bytes = 1, .dims = {1}},
        {.dtype = CW_DTYPE_U8, .rank = 1, .at = UINT64_MAX, .bytes = 1, .dims = {1}},
        {.dtype = CW_DTYPE_U8, .rank = 1, .at = 1, .bytes = MAP_BYTES, .dims = {MAP_BYTES}},
        {.dtype = CW_DTYPE_U8, .rank = 1, .bytes = 8, .dims = {9}},
        {.dtype = CW_DTYPE_I64, .rank = 1, .bytes = 8, .dims = {-1}},
        {.dtype = CW_DTYPE_I64, .rank = 2, .bytes = 0, .dims = {INT64_MAX / 2, 1 << 3}},
        {.dtype = CW_DTYPE_STR, .rank = 1, .bytes = 8, .dims = {1}},
    };
    (void)state;
    for (size_t i = 0; i < CW_ARRAY_LEN(bad); i++)
        assert_false(field_is_taken(bad[i]));
}

static void answers_that_are_none(void **state)
{
    struct cw_python_reply reply =
        one_field((struct cw_python_field){.dtype = CW_DTYPE_I64, .bytes = 8});
    char names[16];
    (void)state;
    assert_true(is_taken(&reply));
    reply.u.head.status = CW_PYTHON_NEED;
    assert_false(is_taken(&reply));
    reply.u.head.status = CW_PYTHON_KEEP;
    reply.u.head.n = 2; /* more than it has bytes for */
    assert_false(is_taken(&reply));
    cw_python_answer_names(&reply, names, sizeof(names));
    assert_string_equal(names, "");
    reply.u.head.n = UINT32_MAX;
    assert_false(is_taken(&reply));
    reply.n = 3;
    reply.u.head.n = 0;
    assert_false(is_taken(&reply));
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(sound_fields),
    cmocka_unit_test(fields_that_are_not_there),
    cmocka_unit_test(answers_that_are_none),
};

CW_TESTS_MAIN(tests)
