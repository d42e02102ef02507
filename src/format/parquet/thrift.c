/* SPDX-License-Identifier: Apache-2.0 */
/* Thrift's compact protocol: numbers of variable length, fields with the distance of their ids. */
#include "format/parquet/thrift.h"

struct cw_thrift cw_thrift_begin(const void *p, size_t n)
{
    const uint8_t *begin = p;
    return (struct cw_thrift){.begin = begin, .p = begin, .end = begin + n};
}

void cw_thrift_fail(struct cw_thrift *t, const char *fault)
{
    if (t->fault)
        return;
    t->fault = fault;
    t->fault_at = (size_t)(t->p - t->begin);
    t->p = t->end;
}

static uint8_t get_byte(struct cw_thrift *t)
{
    if (t->p < t->end)
        return *t->p++;
    cw_thrift_fail(t, "ends in the middle of a value");
    return 0;
}

static uint64_t get_varint(struct cw_thrift *t)
{
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        uint8_t byte = get_byte(t);
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80))
            return value;
    }
    cw_thrift_fail(t, "a number has too many bytes");
    return 0;
}

static int64_t get_zigzag(struct cw_thrift *t)
{
    uint64_t value = get_varint(t);
    return (int64_t)(value >> 1) ^ -(int64_t)(value & 1);
}

bool cw_thrift_next(struct cw_thrift *t, struct cw_thrift_field *field)
{
    uint8_t head = t->fault ? CW_THRIFT_STOP : get_byte(t);
    field->type = head & 0xf;
    if (field->type == CW_THRIFT_STOP)
        return false;
    int64_t id = head >> 4 ? field->id + (head >> 4) : get_zigzag(t);
    if (field->type > CW_THRIFT_STRUCT || id < INT16_MIN || id > INT16_MAX)
        cw_thrift_fail(t, "a field has an unknown type or number");
    field->id = (int)id;
    return !t->fault;
}

static bool is_type(struct cw_thrift *t, bool fits)
{
    if (!fits)
        cw_thrift_fail(t, "a field is not of the type that Parquet says");
    return !t->fault;
}

int64_t cw_thrift_int(struct cw_thrift *t, const struct cw_thrift_field *field)
{
    if (!is_type(t, field->type >= CW_THRIFT_I8 && field->type <= CW_THRIFT_I64))
        return 0;
    return field->type == CW_THRIFT_I8 ? (int8_t)get_byte(t) : get_zigzag(t);
}

bool cw_thrift_bool(struct cw_thrift *t, const struct cw_thrift_field *field)
{
    is_type(t, field->type == CW_THRIFT_TRUE || field->type == CW_THRIFT_FALSE);
    return field->type == CW_THRIFT_TRUE;
}

static size_t get_run(struct cw_thrift *t, const uint8_t **ret_p)
{
    uint64_t n = get_varint(t);
    if (n > (uint64_t)(t->end - t->p)) {
        cw_thrift_fail(t, "a text is longer than what holds it");
        n = 0;
    }
    *ret_p = t->p;
    t->p += n;
    return (size_t)n;
}

size_t cw_thrift_bytes(struct cw_thrift *t, const struct cw_thrift_field *field,
                       const uint8_t **ret_p)
{
    *ret_p = t->p;
    return is_type(t, field->type == CW_THRIFT_BYTES) ? get_run(t, ret_p) : 0;
}

static size_t get_list(struct cw_thrift *t, unsigned *ret_of)
{
    uint8_t head = get_byte(t);
    uint64_t n = head >> 4 == 15 ? get_varint(t) : (uint64_t)(head >> 4);
    *ret_of = head & 0xf;
    if (n > (uint64_t)(t->end - t->p)) {
        cw_thrift_fail(t, "a list has more items than bytes follow");
        n = 0;
    }
    return (size_t)n;
}

size_t cw_thrift_list(struct cw_thrift *t, const struct cw_thrift_field *field, unsigned of)
{
    unsigned type = 0;
    if (!is_type(t, field->type == CW_THRIFT_LIST))
        return 0;
    size_t n = get_list(t, &type);
    return n == 0 || is_type(t, type == of) ? n : 0;
}

bool cw_thrift_struct(struct cw_thrift *t, const struct cw_thrift_field *field)
{
    return is_type(t, field->type == CW_THRIFT_STRUCT);
}

/* What is skipped: a struct, or the items of a list (of a map, keys and values in turn). */
struct level {
    bool is_struct;
    struct cw_thrift_field field;
    size_t left;
    unsigned type[2];
};

static void skip_fixed(struct cw_thrift *t, size_t n)
{
    if ((size_t)(t->end - t->p) < n)
        cw_thrift_fail(t, "ends in the middle of a value");
    else
        t->p += n;
}

/* Skips a value, or returns true with the level that it begins. */
static bool skip_value(struct cw_thrift *t, unsigned type, bool in_list, struct level *ret_level)
{
    const uint8_t *p;
    *ret_level = (struct level){0};
    if (type == CW_THRIFT_STRUCT) {
        ret_level->is_struct = true;
        return true;
    }
    if (type == CW_THRIFT_LIST || type == CW_THRIFT_SET) {
        ret_level->left = get_list(t, &ret_level->type[0]);
        ret_level->type[1] = ret_level->type[0];
        return true;
    }
    if (type == CW_THRIFT_MAP) {
        uint64_t n = get_varint(t);
        if (n > (uint64_t)(t->end - t->p))
            cw_thrift_fail(t, "a map has more items than bytes follow");
        uint8_t types = n > 0 && !t->fault ? get_byte(t) : 0;
        ret_level->left = t->fault ? 0 : 2 * (size_t)n;
        ret_level->type[0] = types >> 4;
        ret_level->type[1] = types & 0xf;
        return true;
    }
    if (type == CW_THRIFT_BYTES)
        get_run(t, &p);
    else if (type == CW_THRIFT_DOUBLE)
        skip_fixed(t, 8);
    else if (type == CW_THRIFT_I8 || (type < CW_THRIFT_I8 && in_list))
        skip_fixed(t, 1);
    else if (type >= CW_THRIFT_I16 && type <= CW_THRIFT_I64)
        get_varint(t);
    else if (type > CW_THRIFT_STRUCT || type == CW_THRIFT_STOP)
        cw_thrift_fail(t, "a value has an unknown type");
    return false;
}

/* Returns true with the type of the next value of a level, false at the end of the level. */
static bool next_of(struct cw_thrift *t, struct level *level, unsigned *ret_type)
{
    if (level->is_struct) {
        bool more = cw_thrift_next(t, &level->field);
        *ret_type = level->field.type;
        return more;
    }
    if (level->left == 0 || t->fault)
        return false;
    *ret_type = level->type[level->left & 1];
    level->left--;
    return true;
}

void cw_thrift_skip(struct cw_thrift *t, const struct cw_thrift_field *field)
{
    struct level levels[CW_THRIFT_DEPTH_MAX];
    size_t depth = skip_value(t, field->type, false, &levels[0]) ? 1 : 0;
    while (depth > 0 && !t->fault) {
        unsigned type = 0;
        struct level *top = &levels[depth - 1], inner;
        if (!next_of(t, top, &type)) {
            depth--;
        } else if (skip_value(t, type, !top->is_struct, &inner)) {
            if (depth == CW_THRIFT_DEPTH_MAX)
                cw_thrift_fail(t, "nested too deep");
            else
                levels[depth++] = inner;
        }
    }
}
