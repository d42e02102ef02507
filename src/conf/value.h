/* SPDX-License-Identifier: Apache-2.0 */
/* JSON values, which jansson has parsed: the form that options have before a table gives them
 * types. */
#ifndef CW_CONF_VALUE_H
#define CW_CONF_VALUE_H

#include <stdbool.h>
#include "base/err.h"
#include "base/str.h"

#define CW_VALUE_DEPTH_MAX 32

enum cw_value_type {
    CW_VALUE_NULL,
    CW_VALUE_BOOL,
    CW_VALUE_I64,
    CW_VALUE_F64,
    CW_VALUE_STR,
    CW_VALUE_LIST,
    CW_VALUE_OBJECT
};

struct cw_value {
    enum cw_value_type type;
    bool b;
    int64_t i;
    double f;
    char *s;                /* NUL-terminated; JSON strings with NUL inside are refused */
    size_t n;               /* number of items of a list, or of members of an object */
    struct cw_value *items; /* items of a list, or values of an object */
    char **keys;            /* the n keys of an object, in the file's order, without duplicates */
};

/* Parses one JSON text, which may be nested 32 deep. Error messages give line and column, and begin
 * with `where` (a file's name). */
int cw_value_parse(const char *text, size_t n, const char *where, struct cw_value *ret_value,
                   struct cw_err *err);
/* Parses a file of at most 64 MiB. */
int cw_value_load(const char *path, struct cw_value *ret_value, struct cw_err *err);
/* Frees what the value owns; a zeroed value is accepted. */
void cw_value_fini(struct cw_value *value);
void cw_value_copy(struct cw_value *value, const struct cw_value *other);
/* Whether two values are equal. The order of an object's members does not matter; 1 and 1.0 are
 * different. */
bool cw_value_eq(const struct cw_value *a, const struct cw_value *b);
/* Returns the value of a member, or NULL if there is none. */
const struct cw_value *cw_value_get(const struct cw_value *object, const char *key);
/* Appends the canonical text: keys sorted, no spaces, the shortest number that reads back the same,
 * 1.0 as 1.0. */
void cw_value_print(const struct cw_value *value, struct cw_str *out);
const char *cw_value_type_name(enum cw_value_type type); /* "a number", "a list", ... */

/* Builders. The given value must be zeroed, or finished before. */
void cw_value_set_str(struct cw_value *value, const char *s);
void cw_value_set_i64(struct cw_value *value, int64_t i);
void cw_value_set_f64(struct cw_value *value, double f);
void cw_value_set_bool(struct cw_value *value, bool b);
/* Makes a list of n null items, and returns them. */
struct cw_value *cw_value_set_list(struct cw_value *value, size_t n);
void cw_value_set_object(struct cw_value *value);
/* Adds or replaces a member. Returns its value, which is null, for a setter. */
struct cw_value *cw_value_member(struct cw_value *object, const char *key);
/* Adds a member that the caller knows not to be there; no key is compared. Returns as above. */
struct cw_value *cw_value_append(struct cw_value *object, const char *key);

#endif
