/* SPDX-License-Identifier: Apache-2.0 */
/* Reads Thrift's compact protocol from memory, as far as Parquet uses it. A fault is remembered with
 * its place; from then on every function gives nothing, so callers check once, at the end. One
 * thread uses a reader. */
#ifndef CW_FORMAT_PARQUET_THRIFT_H
#define CW_FORMAT_PARQUET_THRIFT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CW_THRIFT_DEPTH_MAX 32 /* how deep what is skipped may be nested */

enum cw_thrift_type {
    CW_THRIFT_STOP = 0,
    CW_THRIFT_TRUE = 1,
    CW_THRIFT_FALSE = 2,
    CW_THRIFT_I8 = 3,
    CW_THRIFT_I16 = 4,
    CW_THRIFT_I32 = 5,
    CW_THRIFT_I64 = 6,
    CW_THRIFT_DOUBLE = 7,
    CW_THRIFT_BYTES = 8,
    CW_THRIFT_LIST = 9,
    CW_THRIFT_SET = 10,
    CW_THRIFT_MAP = 11,
    CW_THRIFT_STRUCT = 12
};
struct cw_thrift {
    const uint8_t *begin, *p, *end;
    const char *fault; /* NULL: none so far */
    size_t fault_at;   /* byte of the fault, from begin */
};
/* The place in a struct: zeroed before its first field. */
struct cw_thrift_field {
    int id;
    unsigned type;
};

struct cw_thrift cw_thrift_begin(const void *p, size_t n);
/* Goes to the next field of a struct. Returns false at its end, or after a fault. The caller reads
 * the value, or skips it. */
bool cw_thrift_next(struct cw_thrift *t, struct cw_thrift_field *field);
void cw_thrift_skip(struct cw_thrift *t, const struct cw_thrift_field *field);
/* The value of a field; another type than the wanted one is a fault. */
int64_t cw_thrift_int(struct cw_thrift *t, const struct cw_thrift_field *field);
bool cw_thrift_bool(struct cw_thrift *t, const struct cw_thrift_field *field);
/* *ret_p points into the memory that is read. */
size_t cw_thrift_bytes(struct cw_thrift *t, const struct cw_thrift_field *field,
                       const uint8_t **ret_p);
/* Begins a list of structs or numbers: returns how many follow, which are never more than there are
 * bytes. */
size_t cw_thrift_list(struct cw_thrift *t, const struct cw_thrift_field *field, unsigned of);
/* Begins a struct that is a field: only looks at the type. */
bool cw_thrift_struct(struct cw_thrift *t, const struct cw_thrift_field *field);
void cw_thrift_fail(struct cw_thrift *t, const char *fault);

#endif
