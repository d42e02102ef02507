/* SPDX-License-Identifier: Apache-2.0 */
/* dtypes, and specs: what is known of elements before any data are read. */
#ifndef CW_DATA_SPEC_H
#define CW_DATA_SPEC_H

#include <stdbool.h>
#include "base/err.h"
#include "base/hash.h"
#include "base/compiler.h"
#include "base/str.h"
#include "data/field_set.h"

/* CW_DTYPE(NAME, text, bytes, DLPack code (0 int, 1 uint, 2 float, 4 bfloat, 6 bool)). STR is a string of
 * bytes, or a list of strings (data/strings.h). */
#define CW_DTYPE_LIST                                                                              \
    CW_DTYPE(U8, "u8", 1, 1)                                                                       \
    CW_DTYPE(I8, "i8", 1, 0)                                                                       \
    CW_DTYPE(U16, "u16", 2, 1)                                                                     \
    CW_DTYPE(I16, "i16", 2, 0)                                                                     \
    CW_DTYPE(U32, "u32", 4, 1)                                                                     \
    CW_DTYPE(I32, "i32", 4, 0)                                                                     \
    CW_DTYPE(U64, "u64", 8, 1)                                                                     \
    CW_DTYPE(I64, "i64", 8, 0)                                                                     \
    CW_DTYPE(F16, "f16", 2, 2)                                                                     \
    CW_DTYPE(F32, "f32", 4, 2)                                                                     \
    CW_DTYPE(F64, "f64", 8, 2)                                                                     \
    CW_DTYPE(BOOL, "bool", 1, 6)                                                                   \
    CW_DTYPE(STR, "str", 0, 0)                                                                     \
    CW_DTYPE(BF16, "bf16", 2, 4)

enum cw_dtype {
#define CW_DTYPE(name, text, bytes, dl) CW_DTYPE_##name,
    CW_DTYPE_LIST
#undef CW_DTYPE
        CW_DTYPE_N
};
extern const char *const cw_dtype_names[]; /* for option tables; ends with NULL */
const char *cw_dtype_name(enum cw_dtype dtype);
size_t cw_dtype_bytes(enum cw_dtype dtype); /* 0 for STR */
bool cw_dtype_is_float(enum cw_dtype dtype);
int cw_dtype_parse(const char *text, enum cw_dtype *ret_dtype); /* 0 or CW_E_INVALID */

#define CW_RANK_MAX 8
#define CW_FIELD_NAME_BYTES 48
/* In dims of a batch: this dimension has another size in each row (data/ragged.h). */
#define CW_DIM_RAGGED (-2)

struct cw_field {
    char name[CW_FIELD_NAME_BYTES];
    enum cw_dtype dtype;
    int rank; /* a STR field with dimensions is a list of strings */
    /* -1: not known before the data are read; CW_DIM_RAGGED: another one in each row, which is
     * only possible behind the first dimension */
    int64_t dims[CW_RANK_MAX];
};
/* Zeroed: no fields. Its memory is as large as its fields need, so it is copied by functions. */
struct cw_spec {
    size_t n;
    /* how many fields there is memory for, which the spec owns; 0: the fields are another one's, and
     * must not be changed */
    size_t room;
    struct cw_field *fields;
};
void cw_spec_fini(struct cw_spec *spec);
/* Declares a spec that is freed at the end of its scope. */
#define CW_SPEC_AUTO CW_CLEANUP(cw_spec_fini) struct cw_spec
struct cw_spec cw_spec_copy(const struct cw_spec *spec) CW_MUST_CHECK;
/* Returns what the spec owns, and leaves no fields in it. */
struct cw_spec cw_spec_take(struct cw_spec *spec) CW_MUST_CHECK;
/* Returns a spec with the fields of another one, which must live longer and not be changed. */
struct cw_spec cw_spec_borrow(const struct cw_spec *spec) CW_MUST_CHECK;
/* Adds a field that a spec has: its name is not in this one, which has room (CW_FIELDS_MAX). */
void cw_spec_push(struct cw_spec *spec, const struct cw_field *field);
/* Gives a spec n zeroed fields instead of those that it has. */
void cw_spec_reset(struct cw_spec *spec, size_t n);

/* Whether every dim is known, and the dtype is not STR. */
bool cw_field_is_fixed(const struct cw_field *field);
/* Whether rows of the field have different shapes: some dim is CW_DIM_RAGGED. */
bool cw_field_is_ragged(const struct cw_field *field);
/* Returns the product of dims; -1 if it is unknown. */
int64_t cw_field_count(const struct cw_field *field);
/* Returns the bytes of the field; -1 if they are unknown, or the dtype is STR. */
int64_t cw_field_bytes(const struct cw_field *field);
/* Returns the index of a field, or -1. */
int cw_spec_find(const struct cw_spec *spec, const char *name);
/* Adds a field. Errors: too many fields, a name that is not allowed ([A-Za-z_][A-Za-z0-9_.]*), a
 * name that is used already. */
int cw_spec_add(struct cw_spec *spec, const char *name, enum cw_dtype dtype, int rank,
                const int64_t *dims, struct cw_err *err);
bool cw_spec_eq(const struct cw_spec *a, const struct cw_spec *b);
/* Appends a text like "image: f32[64,224,224,3]"; "?" stands for an unknown dim, and "ragged" for one
 * that differs from row to row. */
void cw_field_print(const struct cw_field *field, struct cw_str *out);
/* Appends the texts of all fields, with ", " between them. */
void cw_spec_print(const struct cw_spec *spec, struct cw_str *out);
/* Adds a field that is given as such a text. Errors are those of cw_spec_add, and INVALID. */
int cw_spec_add_text(struct cw_spec *spec, const char *text, struct cw_err *err);

#endif
