/* SPDX-License-Identifier: Apache-2.0 */
/* NumPy's archives of arrays (.npz): zip archives whose members are .npy files. */
#ifndef CW_FORMAT_NPZ_H
#define CW_FORMAT_NPZ_H

#include "format/npy.h"
#include "format/zip.h"

/* The arrays of an archive, by name; other members are passed over. */
struct cw_npz {
    struct cw_zip zip; /* names are those of arrays, without ".npy" */
};
/* Errors name the file, and the byte or the member. Two arrays of one name are refused. */
int cw_npz_read(const struct cw_readable *file, struct cw_npz *ret_npz, struct cw_err *err);
void cw_npz_fini(struct cw_npz *npz);

/* An array, and where it lies. */
struct cw_npz_array {
    struct cw_zip_member member; /* without its name */
    uint64_t begin;              /* the member's packed bytes */
    struct cw_npy_header header;
};
/* Reads the head of array i, and compares its size with that of its member. An array of one value, which
 * has no rows, is refused. */
int cw_npz_array(const struct cw_readable *file, const struct cw_npz *npz, size_t i,
                 struct cw_npz_array *ret_array, struct cw_err *err);
/* Whether rows can be read at their places: the values are neither packed nor spread. */
bool cw_npz_is_plain(const struct cw_npz_array *array);
/* Reads a whole member: header.header_bytes, and then header.data_bytes of values. */
int cw_npz_get(const struct cw_readable *file, const struct cw_npz_array *array, const char *name,
               void *dst, struct cw_err *err);

#endif
