/* SPDX-License-Identifier: Apache-2.0 */
/* Sets of fields, by their numbers in a spec. */
#ifndef CW_DATA_FIELD_SET_H
#define CW_DATA_FIELD_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Most fields that an element has. */
#define CW_FIELDS_MAX 512
#define CW_FIELD_SET_WORDS (CW_FIELDS_MAX / 64)

/* Zeroed: no field. */
struct cw_field_set {
    uint64_t word[CW_FIELD_SET_WORDS];
};

static inline bool cw_field_set_has(const struct cw_field_set *set, size_t field)
{
    return field < CW_FIELDS_MAX && (set->word[field / 64] >> field % 64 & 1);
}

/* Adds a field. One that an element cannot have, behind the last of a full spec, is none. */
static inline void cw_field_set_add(struct cw_field_set *set, size_t field)
{
    if (field < CW_FIELDS_MAX)
        set->word[field / 64] |= UINT64_C(1) << field % 64;
}

static inline void cw_field_set_remove(struct cw_field_set *set, size_t field)
{
    if (field < CW_FIELDS_MAX)
        set->word[field / 64] &= ~(UINT64_C(1) << field % 64);
}

/* Adds all fields of another set. */
static inline void cw_field_set_join(struct cw_field_set *set, const struct cw_field_set *other)
{
    for (size_t i = 0; i < CW_FIELD_SET_WORDS; i++)
        set->word[i] |= other->word[i];
}

/* Removes all fields of another set. */
static inline void cw_field_set_subtract(struct cw_field_set *set, const struct cw_field_set *other)
{
    for (size_t i = 0; i < CW_FIELD_SET_WORDS; i++)
        set->word[i] &= ~other->word[i];
}

/* Keeps only what is in the other set, too. */
static inline void cw_field_set_meet(struct cw_field_set *set, const struct cw_field_set *other)
{
    for (size_t i = 0; i < CW_FIELD_SET_WORDS; i++)
        set->word[i] &= other->word[i];
}

static inline bool cw_field_set_is_empty(const struct cw_field_set *set)
{
    uint64_t any = 0;
    for (size_t i = 0; i < CW_FIELD_SET_WORDS; i++)
        any |= set->word[i];
    return any == 0;
}

/* Whether two sets have a field in common. */
static inline bool cw_field_set_meets(const struct cw_field_set *a, const struct cw_field_set *b)
{
    uint64_t any = 0;
    for (size_t i = 0; i < CW_FIELD_SET_WORDS; i++)
        any |= a->word[i] & b->word[i];
    return any != 0;
}

static inline bool cw_field_set_eq(const struct cw_field_set *a, const struct cw_field_set *b)
{
    uint64_t any = 0;
    for (size_t i = 0; i < CW_FIELD_SET_WORDS; i++)
        any |= a->word[i] ^ b->word[i];
    return any == 0;
}

static inline size_t cw_field_set_count(const struct cw_field_set *set)
{
    size_t n = 0;
    for (size_t i = 0; i < CW_FIELD_SET_WORDS; i++)
        n += (size_t)__builtin_popcountll(set->word[i]);
    return n;
}

/* Returns the lowest field; CW_FIELDS_MAX if there is none. */
static inline size_t cw_field_set_first(const struct cw_field_set *set)
{
    for (size_t i = 0; i < CW_FIELD_SET_WORDS; i++)
        if (set->word[i])
            return 64 * i + (size_t)__builtin_ctzll(set->word[i]);
    return CW_FIELDS_MAX;
}

/* Returns the set of the first n fields. */
static inline struct cw_field_set cw_field_set_of_first(size_t n)
{
    struct cw_field_set set = {{0}};
    for (size_t i = 0; i < n && i < CW_FIELDS_MAX; i++)
        cw_field_set_add(&set, i);
    return set;
}

#endif
