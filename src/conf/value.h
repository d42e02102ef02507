/* SPDX-License-Identifier: Apache-2.0 */
/* JSON values (parsed by jansson): what options are before a table gives them types. */
#ifndef CW_CONF_VALUE_H
#define CW_CONF_VALUE_H

#include <stdbool.h>
#include "base/err.h"
#include "base/str.h"

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
    size_t n;               /* of list or object */
    struct cw_value *items; /* list: items; object: values */
    char **keys;            /* object: n keys, in the file's order, no duplicates */
};

/* Parses one JSON text; depth <= 32. Errors say line and column. `where` (a file's name) is put
 * before. */
int cw_value_parse(const char *text, size_t n, const char *where, struct cw_value *ret_value,
                   struct cw_err *err);
/* a file, at most 64 MiB */
int cw_value_load(const char *path, struct cw_value *ret_value, struct cw_err *err);
void cw_value_fini(struct cw_value *value); /* accepts zeroed */
void cw_value_copy(struct cw_value *value, const struct cw_value *other);
/* objects: in any order; 1 != 1.0 */
bool cw_value_eq(const struct cw_value *a, const struct cw_value *b);
/* NULL if none */
const struct cw_value *cw_value_get(const struct cw_value *object, const char *key);
/* Canonical text: keys sorted, no spaces, shortest number that reads back the same, 1.0 as 1.0. */
void cw_value_print(const struct cw_value *value, struct cw_str *out);
const char *cw_value_type_name(enum cw_value_type type); /* "a number", "a list", ... */

/* Builders: the value given must be zeroed or finished before. */
void cw_value_set_str(struct cw_value *value, const char *s);
void cw_value_set_i64(struct cw_value *value, int64_t i);
void cw_value_set_f64(struct cw_value *value, double f);
void cw_value_set_bool(struct cw_value *value, bool b);
struct cw_value *cw_value_set_list(struct cw_value *value, size_t n); /* returns its n null items */
void cw_value_set_object(struct cw_value *value);
/* Adds or replaces a member; returns its (null) value for a setter. */
struct cw_value *cw_value_member(struct cw_value *object, const char *key);

#endif
