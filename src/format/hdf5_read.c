/* SPDX-License-Identifier: Apache-2.0 */
/* Reads rows of HDF5 datasets. */
#include "format/hdf5_int.h"

#include <string.h>

#include "base/mem.h"

/* Reads n rows of a dataset, with the lock held. */
static int read_rows(const struct cw_hdf5_library *h5, const struct cw_hdf5 *file,
                     const struct cw_hdf5_used *used, int64_t row, size_t n, void *dst,
                     struct cw_err *err)
{
    hsize_t first[CW_RANK_MAX + 1] = {(hsize_t)row}, counts[CW_RANK_MAX + 1];
    memcpy(counts, used->dims, sizeof(counts));
    counts[0] = n;
    const hid_t space = h5->H5Dget_space(used->id);
    const hid_t memory = h5->H5Screate_simple(used->rank, counts, NULL);
    const bool good =
        space >= 0 && memory >= 0 &&
        h5->H5Sselect_hyperslab(space, H5S_SELECT_SET, first, NULL, counts, NULL) >= 0 &&
        h5->H5Dread(used->id, used->memory_type, memory, space, H5P_DEFAULT, dst) >= 0;
    int rc =
        good ? 0 : cw_hdf5_fail(h5, file->path, used->set.name, "its values cannot be read", err);
    if (memory >= 0)
        h5->H5Sclose(memory);
    if (space >= 0)
        h5->H5Sclose(space);
    return rc;
}

int cw_hdf5_read(struct cw_hdf5 *file, size_t set, int64_t row, size_t n, void *dst,
                 struct cw_err *err)
{
    const struct cw_hdf5_used *used = &file->used[set];
    if (used->set.bytes == 0 || n == 0)
        return 0;
    const struct cw_hdf5_library *h5 = cw_hdf5_lock(err);
    if (!h5)
        return CW_E_UNSUPPORTED;
    int rc = read_rows(h5, file, used, row, n, dst, err);
    cw_hdf5_unlock();
    return rc;
}

/* The length of a string of fixed size: without what fills it up. */
static size_t string_bytes(const struct cw_hdf5_used *used, const char *p, size_t n)
{
    if (!used->is_padded_with_blanks)
        return strnlen(p, n);
    while (n > 0 && p[n - 1] == ' ')
        n--;
    return n;
}

static void *copy(const void *p, size_t n)
{
    void *bytes = cw_mem_try(CW_MAX(n, 1));
    if (bytes && n > 0)
        memcpy(bytes, p, n);
    return bytes;
}

/* Reads a string of fixed size. */
static int read_fixed_string(const struct cw_hdf5_library *h5, const struct cw_hdf5 *file,
                             const struct cw_hdf5_used *used, int64_t row, void **ret_p,
                             size_t *ret_n, struct cw_err *err)
{
    const size_t n = h5->H5Tget_size(used->memory_type);
    char *p = cw_mem_try(n + 1);
    if (!p)
        return cw_err_set(err, CW_E_NOMEM, "%s: no memory for a string of %zu bytes", file->path,
                          n);
    int rc = read_rows(h5, file, used, row, 1, p, err);
    *ret_n = rc == 0 ? string_bytes(used, p, n) : 0;
    if (rc < 0)
        cw_mem_free(p);
    else
        *ret_p = p;
    return rc;
}

/* Reads a string or a list of any length: the library makes its memory. */
static int read_variable(const struct cw_hdf5_library *h5, const struct cw_hdf5 *file,
                         const struct cw_hdf5_used *used, int64_t row, void **ret_p, size_t *ret_n,
                         struct cw_err *err)
{
    const bool is_string = used->set.type.dtype == CW_DTYPE_STR;
    hvl_t list = {0};
    char *string = NULL;
    int rc = read_rows(h5, file, used, row, 1, is_string ? (void *)&string : &list, err);
    if (rc < 0)
        return rc;
    void *from = is_string ? string : list.p;
    const size_t n = is_string ? (string ? strlen(string) : 0) : list.len * used->value_bytes;
    void *p = copy(from, from ? n : 0);
    if (from)
        h5->H5free_memory(from);
    if (!p)
        return cw_err_set(err, CW_E_NOMEM, "%s: no memory for a row of %zu bytes", file->path, n);
    *ret_p = p;
    *ret_n = from ? n : 0;
    return 0;
}

int cw_hdf5_read_loose(struct cw_hdf5 *file, size_t set, int64_t row, void **ret_p, size_t *ret_n,
                       struct cw_err *err)
{
    const struct cw_hdf5_used *used = &file->used[set];
    const struct cw_hdf5_library *h5 = cw_hdf5_lock(err);
    if (!h5)
        return CW_E_UNSUPPORTED;
    int rc = used->is_fixed_string ? read_fixed_string(h5, file, used, row, ret_p, ret_n, err)
                                   : read_variable(h5, file, used, row, ret_p, ret_n, err);
    cw_hdf5_unlock();
    return rc;
}
