/* SPDX-License-Identifier: Apache-2.0 */
#include "python/python_answer.h"

#include <string.h>

/* A field that the child says lies in the memory. */
static bool take_field(const struct cw_python_field *field, unsigned char *map, size_t map_bytes,
                       struct cw_view *ret_view)
{
    if (field->dtype >= CW_DTYPE_N || field->rank > CW_RANK_MAX || field->at > map_bytes ||
        field->bytes > map_bytes - field->at)
        return false;
    *ret_view = (struct cw_view){.data = map + field->at,
                                 .bytes = (size_t)field->bytes,
                                 .dtype = (enum cw_dtype)field->dtype,
                                 .rank = (int)field->rank};
    memcpy(ret_view->dims, field->dims, field->rank * sizeof(field->dims[0]));
    if (ret_view->dtype == CW_DTYPE_STR)
        return field->rank == 0;
    uint64_t bytes = cw_dtype_bytes(ret_view->dtype);
    for (uint32_t i = 0; i < field->rank; i++)
        if (field->dims[i] < 0 || __builtin_mul_overflow(bytes, (uint64_t)field->dims[i], &bytes))
            return false;
    return bytes == field->bytes;
}

/* Where the fields of a result end; 0 if the answer is too short for them. */
static size_t fields_end(const struct cw_python_reply *reply)
{
    if (reply->n < sizeof(reply->u.head) || reply->u.head.n > CW_FIELDS_MAX)
        return 0;
    size_t end = sizeof(reply->u.head) + reply->u.head.n * sizeof(reply->u.with.fields[0]);
    return end <= reply->n ? end : 0;
}

bool cw_python_answer_fields(const struct cw_python_reply *reply, unsigned char *map,
                             size_t map_bytes, struct cw_view *ret_fields, size_t *ret_n)
{
    if (fields_end(reply) == 0 || reply->u.head.status != CW_PYTHON_KEEP)
        return false;
    for (size_t i = 0; i < reply->u.head.n; i++)
        if (!take_field(&reply->u.with.fields[i], map, map_bytes, &ret_fields[i]))
            return false;
    *ret_n = reply->u.head.n;
    return true;
}

void cw_python_answer_names(const struct cw_python_reply *reply, char *ret_text, size_t cap)
{
    size_t end = fields_end(reply);
    size_t n = end ? CW_MIN(reply->n - end, cap - 1) : 0;
    memcpy(ret_text, reply->u.bytes + end, n);
    ret_text[n] = '\0';
}
