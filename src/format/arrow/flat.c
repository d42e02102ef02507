/* SPDX-License-Identifier: Apache-2.0 */
/* Finds members of tables, with a look at each bound. */
#include "format/arrow/flat.h"

#include <endian.h>
#include <string.h>

#include "base/compiler.h"

/* Whether n bytes from `at` on lie inside. */
static bool has(struct cw_flat *f, size_t at, size_t n)
{
    const bool inside = at <= f->n && n <= f->n - at;
    if (!inside)
        f->bad = true;
    return inside;
}

static uint16_t u16_at(struct cw_flat *f, size_t at)
{
    uint16_t v = 0;
    if (has(f, at, sizeof(v)))
        memcpy(&v, f->p + at, sizeof(v));
    return le16toh(v);
}

static uint32_t u32_at(struct cw_flat *f, size_t at)
{
    uint32_t v = 0;
    if (has(f, at, sizeof(v)))
        memcpy(&v, f->p + at, sizeof(v));
    return le32toh(v);
}

static uint64_t u64_at(struct cw_flat *f, size_t at)
{
    uint64_t v = 0;
    if (has(f, at, sizeof(v)))
        memcpy(&v, f->p + at, sizeof(v));
    return le64toh(v);
}

/* The table at a place: its first four bytes say how far before it the offsets of its members are. */
static struct cw_flat_table table_at(struct cw_flat *f, size_t at)
{
    struct cw_flat_table t = {0};
    const int64_t back = (int32_t)u32_at(f, at);
    if (f->bad || back > (int64_t)at || (int64_t)at - back > (int64_t)f->n) {
        f->bad = true;
        return t;
    }
    const size_t offsets = (size_t)((int64_t)at - back);
    const uint16_t bytes = u16_at(f, offsets);
    if (bytes < 4 || !has(f, offsets, bytes)) {
        f->bad = true;
        return t;
    }
    return (struct cw_flat_table){
        .flat = f, .at = at, .members = offsets + 4, .members_end = offsets + bytes};
}

struct cw_flat_table cw_flat_root(struct cw_flat *f)
{
    return table_at(f, u32_at(f, 0));
}

/* Returns the place of a member; 0: it is not there. */
static size_t place(const struct cw_flat_table *t, unsigned member)
{
    const size_t at = t->members + 2 * (size_t)member;
    if (!t->flat || at + 2 > t->members_end)
        return 0;
    const uint16_t offset = u16_at(t->flat, at);
    return offset == 0 ? 0 : t->at + offset;
}

int64_t cw_flat_i64(const struct cw_flat_table *t, unsigned member, int64_t none)
{
    const size_t at = place(t, member);
    return at ? (int64_t)u64_at(t->flat, at) : none;
}

int32_t cw_flat_i32(const struct cw_flat_table *t, unsigned member, int32_t none)
{
    const size_t at = place(t, member);
    return at ? (int32_t)u32_at(t->flat, at) : none;
}

int16_t cw_flat_i16(const struct cw_flat_table *t, unsigned member, int16_t none)
{
    const size_t at = place(t, member);
    return at ? (int16_t)u16_at(t->flat, at) : none;
}

uint8_t cw_flat_u8(const struct cw_flat_table *t, unsigned member, uint8_t none)
{
    const size_t at = place(t, member);
    return at && has(t->flat, at, 1) ? t->flat->p[at] : none;
}

/* Follows the offset at a place. */
static size_t follow(struct cw_flat *f, size_t at)
{
    return at + u32_at(f, at);
}

struct cw_flat_table cw_flat_table(const struct cw_flat_table *t, unsigned member)
{
    const size_t at = place(t, member);
    return at ? table_at(t->flat, follow(t->flat, at)) : (struct cw_flat_table){0};
}

struct cw_flat_vector cw_flat_vector(const struct cw_flat_table *t, unsigned member, size_t each)
{
    const size_t at = place(t, member);
    if (!at)
        return (struct cw_flat_vector){0};
    const size_t begin = follow(t->flat, at);
    const size_t n = u32_at(t->flat, begin);
    if (t->flat->bad || !has(t->flat, begin + 4, n * each))
        return (struct cw_flat_vector){0};
    return (struct cw_flat_vector){.flat = t->flat, .at = begin + 4, .n = n};
}

struct cw_flat_table cw_flat_entry(const struct cw_flat_vector *v, size_t i)
{
    CW_ASSERT(i < v->n);
    return table_at(v->flat, follow(v->flat, v->at + 4 * i));
}

int64_t cw_flat_vector_i64(const struct cw_flat_vector *v, size_t i, size_t each, size_t offset)
{
    CW_ASSERT(i < v->n);
    return (int64_t)u64_at(v->flat, v->at + each * i + offset);
}

int32_t cw_flat_vector_i32(const struct cw_flat_vector *v, size_t i, size_t each, size_t offset)
{
    CW_ASSERT(i < v->n);
    return (int32_t)u32_at(v->flat, v->at + each * i + offset);
}

const char *cw_flat_string(const struct cw_flat_table *t, unsigned member, size_t *ret_n)
{
    const struct cw_flat_vector v = cw_flat_vector(t, member, 1);
    *ret_n = v.n;
    return v.flat ? (const char *)v.flat->p + v.at : "";
}
