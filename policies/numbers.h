/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers of structs as JSON: what policies are shown is stored with their decisions, and read again. A table
 * for each struct names its numbers, so that printing and reading cannot differ. */
#ifndef CW_POLICIES_NUMBERS_H
#define CW_POLICIES_NUMBERS_H

#include <float.h>
#include <stddef.h>

#include "conf/value.h"

#define CW_NUMBER_LARGEST 1e18

enum cw_number_kind {
    CW_NUMBER_F64,   /* a double */
    CW_NUMBER_WHOLE, /* an unsigned */
    CW_NUMBER_FLAG   /* a bool */
};
struct cw_number {
    const char *key;
    size_t offset;
    enum cw_number_kind kind;
    bool is_always_there; /* else it is left out where it is `usual` */
    double least, most;   /* that is read */
    double usual;         /* what one that is left out is; a flag: false */
};
#define CW_NUMBER(type, field, least, most, usual)                                                 \
    {                                                                                              \
#field, offsetof(struct type, field), CW_NUMBER_F64, false, least, most, usual             \
    }
/* 0 if it is left out: any number, or one that is not below 0. */
#define CW_NUMBER_ANY(type, field) CW_NUMBER(type, field, -DBL_MAX, DBL_MAX, 0)
#define CW_NUMBER_FROM_0(type, field) CW_NUMBER(type, field, 0, CW_NUMBER_LARGEST, 0)
#define CW_NUMBER_WHOLE_OF(type, field, most)                                                      \
    {                                                                                              \
#field, offsetof(struct type, field), CW_NUMBER_WHOLE, true, 0, most, 0                    \
    }
#define CW_NUMBER_FLAG_OF(type, field, is_always_there)                                            \
    {                                                                                              \
#field, offsetof(struct type, field), CW_NUMBER_FLAG, is_always_there, 0, 1, 0             \
    }
/* A table and its length, as the functions want them. */
#define CW_NUMBERS(table) (table), CW_ARRAY_LEN(table)

/* Appends members of an object as text, in the table's order, behind a comma if something stands before
 * them. What is no finite number is left out. */
void cw_numbers_print(const void *from, const struct cw_number *numbers, size_t n,
                      struct cw_str *out);
/* Adds the same members to an object. */
void cw_numbers_add(const void *from, const struct cw_number *numbers, size_t n,
                    struct cw_value *object);
/* Reads them from an object, which may have other members. Messages name the key. */
int cw_numbers_read(const struct cw_value *object, const struct cw_number *numbers, size_t n,
                    void *to, struct cw_err *err);
/* Whether it is a finite number, which is returned. */
bool cw_number_of(const struct cw_value *value, double *ret_v);

#endif
