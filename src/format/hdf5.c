/* SPDX-License-Identifier: Apache-2.0 */
/* Opens HDF5 files and their datasets, and says what their values become. */
#include "format/hdf5_int.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"

/* H5F_ACC_RDONLY, whose macro calls functions of the library. */
#define READ_ONLY 0u

static void close_used(const struct cw_hdf5_library *h5, struct cw_hdf5_used *used)
{
    if (used->memory_type > 0)
        h5->H5Tclose(used->memory_type);
    if (used->id > 0)
        h5->H5Dclose(used->id);
    cw_mem_free(used->set.name);
}

int cw_hdf5_open(const char *path, int fd, size_t cache_bytes, struct cw_hdf5 **ret_file,
                 struct cw_err *err)
{
    char through[32];
    if (strstr(path, "://"))
        return cw_err_set(err, CW_E_UNSUPPORTED,
                          "%s: HDF5 files must be local, since their library opens them itself",
                          path);
    const struct cw_hdf5_library *h5 = cw_hdf5_lock(err);
    if (!h5)
        return cw_err_wrap(err, "%s", path);
    int rc = 0;
    (void)snprintf(through, sizeof(through), "/proc/self/fd/%d", fd);
    const hid_t id = h5->H5Fopen(through, READ_ONLY, H5P_DEFAULT);
    if (id < 0)
        rc = cw_hdf5_fail(h5, path, NULL, "not an HDF5 file, or damaged", err);
    cw_hdf5_unlock();
    if (rc < 0)
        return rc;
    *ret_file = CW_NEW(struct cw_hdf5);
    **ret_file =
        (struct cw_hdf5){.path = cw_mem_strdup(path), .cache_bytes = cache_bytes, .id = id};
    return 0;
}

void cw_hdf5_close(struct cw_hdf5 *file)
{
    if (!file)
        return;
    const struct cw_hdf5_library *h5 = cw_hdf5_lock(NULL);
    for (size_t i = 0; i < file->used_n; i++)
        close_used(h5, &file->used[i]);
    h5->H5Fclose(file->id);
    cw_hdf5_unlock();
    cw_mem_free(file->used);
    cw_mem_free(file->path);
    cw_mem_free(file);
}

const struct cw_hdf5_set *cw_hdf5_set(const struct cw_hdf5 *file, size_t set)
{
    return &file->used[set].set;
}

/* ---- types ---- */

/* A dataset while it is opened. */
struct opening {
    const struct cw_hdf5_library *h5;
    const struct cw_hdf5 *file;
    struct cw_hdf5_used *used;
};

static int refuse(const struct opening *o, const char *why, struct cw_err *err)
{
    return cw_err_set(err, CW_E_UNSUPPORTED, "%s: dataset %s: %s", o->file->path, o->used->set.name,
                      why);
}

static int fail(const struct opening *o, const char *what, struct cw_err *err)
{
    return cw_hdf5_fail(o->h5, o->file->path, o->used->set.name, what, err);
}

/* Whether floats have the fields of IEEE 754: bits of exponent and mantissa. */
static bool is_ieee(const struct cw_hdf5_library *h5, hid_t type, size_t bytes)
{
    size_t sign = 0, exponent = 0, exponent_bits = 0, mantissa = 0, mantissa_bits = 0;
    if (h5->H5Tget_fields(type, &sign, &exponent, &exponent_bits, &mantissa, &mantissa_bits) < 0)
        return false;
    return exponent_bits == (bytes == 2   ? 5
                             : bytes == 4 ? 8
                                          : 11) &&
           mantissa_bits == (bytes == 2   ? 10
                             : bytes == 4 ? 23
                                          : 52);
}

/* The dtype of numbers; false: there is none. */
static bool number_of(const struct cw_hdf5_library *h5, hid_t type, enum cw_dtype *ret_dtype)
{
    static const enum cw_dtype ints[2][9] = {
        {[1] = CW_DTYPE_U8, [2] = CW_DTYPE_U16, [4] = CW_DTYPE_U32, [8] = CW_DTYPE_U64},
        {[1] = CW_DTYPE_I8, [2] = CW_DTYPE_I16, [4] = CW_DTYPE_I32, [8] = CW_DTYPE_I64}};
    const size_t bytes = h5->H5Tget_size(type);
    const H5T_class_t class = h5->H5Tget_class(type);
    if (h5->H5Tget_precision(type) != 8 * bytes || bytes == 0 || bytes > 8 || (bytes & (bytes - 1)))
        return false;
    if (class == H5T_INTEGER)
        *ret_dtype = ints[h5->H5Tget_sign(type) != H5T_SGN_NONE][bytes];
    else if (class == H5T_FLOAT && bytes >= 2 && is_ieee(h5, type, bytes))
        *ret_dtype = bytes == 2 ? CW_DTYPE_F16 : bytes == 4 ? CW_DTYPE_F32 : CW_DTYPE_F64;
    else
        return false;
    return true;
}

/* The type as which values of a file are read: in this machine's order. */
static hid_t in_memory(const struct cw_hdf5_library *h5, hid_t type)
{
    const hid_t copy = h5->H5Tcopy(type);
    if (copy >= 0 && h5->H5Tget_order(copy) == H5T_ORDER_BE)
        (void)h5->H5Tset_order(copy, H5T_ORDER_LE);
    return copy;
}

/* Enumerations are their numbers, but for those of two that are called FALSE and TRUE. */
static int set_enum(const struct opening *o, hid_t type, struct cw_err *err)
{
    struct cw_field *row = &o->used->set.type;
    const hid_t base = o->h5->H5Tget_super(type);
    if (base < 0)
        return fail(o, "its type cannot be read", err);
    int rc = number_of(o->h5, base, &row->dtype) ? 0 : refuse(o, "its values have no type", err);
    if (rc == 0 && cw_dtype_bytes(row->dtype) == 1 && o->h5->H5Tget_nmembers(type) == 2 &&
        o->h5->H5Tget_member_index(type, "FALSE") == 0 &&
        o->h5->H5Tget_member_index(type, "TRUE") == 1)
        row->dtype = CW_DTYPE_BOOL;
    o->used->memory_type = in_memory(o->h5, type);
    o->h5->H5Tclose(base);
    return rc;
}

/* Strings of any length, or of one. */
static int set_string(const struct opening *o, hid_t type, struct cw_err *err)
{
    struct cw_hdf5_used *used = o->used;
    used->set.type.dtype = CW_DTYPE_STR;
    used->set.is_loose = true;
    used->value_bytes = 1;
    used->is_fixed_string = o->h5->H5Tis_variable_str(type) == 0;
    used->is_padded_with_blanks = o->h5->H5Tget_strpad(type) == H5T_STR_SPACEPAD;
    used->memory_type = o->h5->H5Tcopy(type);
    return used->rank == 1 ? 0
                           : refuse(o, "a row has several strings, which is not supported", err);
}

/* Lists of numbers, of any length. */
static int set_list(const struct opening *o, hid_t type, struct cw_err *err)
{
    struct cw_hdf5_used *used = o->used;
    const hid_t base = o->h5->H5Tget_super(type);
    if (base < 0)
        return fail(o, "its type cannot be read", err);
    const bool is_number = number_of(o->h5, base, &used->set.type.dtype);
    const hid_t value = is_number ? in_memory(o->h5, base) : -1;
    if (value >= 0) {
        used->memory_type = o->h5->H5Tvlen_create(value);
        o->h5->H5Tclose(value);
    }
    o->h5->H5Tclose(base);
    if (!is_number || used->rank != 1)
        return refuse(o, "lists are supported of numbers, and one a row", err);
    used->set.is_loose = true;
    used->value_bytes = cw_dtype_bytes(used->set.type.dtype);
    used->set.type.rank = 1;
    used->set.type.dims[0] = -1;
    return 0;
}

static int set_type(const struct opening *o, hid_t type, struct cw_err *err)
{
    const H5T_class_t class = o->h5->H5Tget_class(type);
    struct cw_hdf5_used *used = o->used;
    if (class == H5T_STRING)
        return set_string(o, type, err);
    if (class == H5T_VLEN)
        return set_list(o, type, err);
    if (class == H5T_ENUM) {
        int rc = set_enum(o, type, err);
        if (rc < 0)
            return rc;
    } else if (number_of(o->h5, type, &used->set.type.dtype)) {
        used->memory_type = in_memory(o->h5, type);
    } else {
        return refuse(o,
                      class == H5T_COMPOUND ? "records are not supported"
                                            : "values of its type are not supported",
                      err);
    }
    used->set.type.rank = used->rank - 1;
    used->set.bytes = cw_dtype_bytes(used->set.type.dtype);
    for (int i = 1; i < used->rank; i++) {
        used->set.type.dims[i - 1] = (int64_t)used->dims[i];
        if (used->dims[i] > SIZE_MAX / 2 ||
            __builtin_mul_overflow(used->set.bytes, (size_t)used->dims[i], &used->set.bytes))
            return refuse(o, "its rows are too large", err);
    }
    return 0;
}

/* ---- how it is stored ---- */

static int check_filters(const struct opening *o, hid_t how, struct cw_err *err)
{
    const int n = o->h5->H5Pget_nfilters(how);
    for (int i = 0; i < n; i++) {
        char name[64] = "", why[160];
        unsigned flags = 0, config = 0;
        size_t values = 0;
        const H5Z_filter_t filter = o->h5->H5Pget_filter2(how, (unsigned)i, &flags, &values, NULL,
                                                          sizeof(name), name, &config);
        if (filter >= 0 && o->h5->H5Zfilter_avail(filter) > 0)
            continue;
        (void)snprintf(why, sizeof(why),
                       "it is compressed with filter %d (%s), which is not supported", filter,
                       name[0] ? name : "unknown");
        return refuse(o, why, err);
    }
    return 0;
}

static int check_storage(const struct opening *o, struct cw_err *err)
{
    const hid_t how = o->h5->H5Dget_create_plist(o->used->id);
    if (how < 0)
        return fail(o, "how it is stored cannot be read", err);
    const H5D_layout_t layout = o->h5->H5Pget_layout(how);
    hsize_t chunk[CW_RANK_MAX + 1] = {0};
    int rc = 0;
    o->used->is_chunked = layout == H5D_CHUNKED;
    if (o->used->is_chunked && o->h5->H5Pget_chunk(how, o->used->rank, chunk) > 0)
        o->used->set.chunk_rows = (int64_t)CW_MIN(chunk[0], (hsize_t)INT64_MAX);
    if (layout == H5D_VIRTUAL)
        rc = refuse(o, "virtual datasets, whose values are in other files, are not supported", err);
    else if (o->h5->H5Pget_external_count(how) != 0)
        rc = refuse(o, "its values are in other files, which is not supported", err);
    else
        rc = check_filters(o, how, err);
    o->h5->H5Pclose(how);
    return rc;
}

static int set_dims(const struct opening *o, struct cw_err *err)
{
    struct cw_hdf5_used *used = o->used;
    const hid_t space = o->h5->H5Dget_space(used->id);
    used->rank = space < 0 ? -1 : o->h5->H5Sget_simple_extent_ndims(space);
    int rc = 0;
    if (used->rank < 0)
        rc = fail(o, "its dimensions cannot be read", err);
    else if (used->rank == 0)
        rc = refuse(o, "it is one value, and has no rows", err);
    else if (used->rank > CW_RANK_MAX + 1)
        rc = refuse(o, "it has too many dimensions", err);
    else if (o->h5->H5Sget_simple_extent_dims(space, used->dims, NULL) < 0)
        rc = fail(o, "its dimensions cannot be read", err);
    if (space >= 0)
        o->h5->H5Sclose(space);
    used->set.rows = (int64_t)used->dims[0];
    if (rc == 0 && used->dims[0] > INT64_MAX)
        rc = refuse(o, "it has too many rows", err);
    return rc;
}

/* Opens the dataset with memory for its chunks. */
static hid_t open_set(const struct opening *o)
{
    const size_t slots = 12421; /* a prime, of many more chunks than there are */
    const hid_t how = o->h5->H5Pcreate(o->h5->dataset_access);
    if (how < 0)
        return -1;
    hid_t id = -1;
    if (o->h5->H5Pset_chunk_cache(how, slots, o->file->cache_bytes, 1.0) >= 0)
        id = o->h5->H5Dopen2(o->file->id, o->used->set.name, how);
    o->h5->H5Pclose(how);
    return id;
}

static int open_used(const struct opening *o, struct cw_err *err)
{
    o->used->id = open_set(o);
    if (o->used->id < 0)
        return cw_err_set(err, CW_E_INVALID, "%s: there is no dataset %s", o->file->path,
                          o->used->set.name);
    const hid_t type = o->h5->H5Dget_type(o->used->id);
    if (type < 0)
        return fail(o, "its type cannot be read", err);
    int rc = set_dims(o, err);
    if (rc == 0)
        rc = set_type(o, type, err);
    o->h5->H5Tclose(type);
    if (rc == 0)
        rc = check_storage(o, err);
    if (rc == 0 && o->used->memory_type <= 0)
        rc = fail(o, "its type cannot be read", err);
    return rc;
}

size_t cw_hdf5_chunk_bytes(const struct cw_hdf5 *file)
{
    const size_t reference = 16; /* of a string or list, which lies elsewhere in the file */
    size_t sum = 0;
    for (size_t i = 0; i < file->used_n; i++) {
        const struct cw_hdf5_set *set = &file->used[i].set;
        const size_t row = set->is_loose ? reference : set->bytes;
        size_t rows;
        if (!file->used[i].is_chunked)
            continue;
        if (__builtin_mul_overflow((size_t)set->rows, row, &rows))
            rows = SIZE_MAX;
        sum += CW_MIN(rows, file->cache_bytes);
    }
    return sum;
}

int cw_hdf5_use(struct cw_hdf5 *file, const char *name, size_t *ret_set, struct cw_err *err)
{
    struct cw_hdf5_used used = {.set.name = cw_mem_strdup(name)};
    const struct cw_hdf5_library *h5 = cw_hdf5_lock(err);
    if (!h5) {
        cw_mem_free(used.set.name);
        return CW_E_UNSUPPORTED;
    }
    const struct opening opening = {.h5 = h5, .file = file, .used = &used};
    int rc = open_used(&opening, err);
    if (rc == 0) {
        CW_GROW(file->used, file->used_n, file->used_cap);
        *ret_set = file->used_n;
        file->used[file->used_n++] = used;
    } else {
        close_used(h5, &used);
    }
    cw_hdf5_unlock();
    return rc;
}
