/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of hdf5 share: the functions of the library, and an open file. */
#ifndef CW_FORMAT_HDF5_INT_H
#define CW_FORMAT_HDF5_INT_H

#include <hdf5/serial/hdf5.h>

#include "format/hdf5.h"

/* The functions of the library that are used. */
#define CW_HDF5_FUNCTIONS(F)                                                                       \
    F(H5open)                                                                                      \
    F(H5dont_atexit)                                                                               \
    F(H5free_memory)                                                                               \
    F(H5Dclose)                                                                                    \
    F(H5Dget_create_plist)                                                                         \
    F(H5Dget_space)                                                                                \
    F(H5Dget_type)                                                                                 \
    F(H5Dopen2)                                                                                    \
    F(H5Dread)                                                                                     \
    F(H5Eset_auto2)                                                                                \
    F(H5Ewalk2)                                                                                    \
    F(H5Fclose)                                                                                    \
    F(H5Fopen)                                                                                     \
    F(H5Gget_info)                                                                                 \
    F(H5Iget_type)                                                                                 \
    F(H5Lget_name_by_idx)                                                                          \
    F(H5Lunregister)                                                                               \
    F(H5Oclose)                                                                                    \
    F(H5Oopen)                                                                                     \
    F(H5PLset_loading_state)                                                                       \
    F(H5Pclose)                                                                                    \
    F(H5Pcreate)                                                                                   \
    F(H5Pget_chunk)                                                                                \
    F(H5Pget_external_count)                                                                       \
    F(H5Pget_filter2)                                                                              \
    F(H5Pget_layout)                                                                               \
    F(H5Pget_nfilters)                                                                             \
    F(H5Pset_chunk_cache)                                                                          \
    F(H5Sclose)                                                                                    \
    F(H5Screate_simple)                                                                            \
    F(H5Sget_simple_extent_dims)                                                                   \
    F(H5Sget_simple_extent_ndims)                                                                  \
    F(H5Sselect_hyperslab)                                                                         \
    F(H5Tclose)                                                                                    \
    F(H5Tcopy)                                                                                     \
    F(H5Tget_class)                                                                                \
    F(H5Tget_fields)                                                                               \
    F(H5Tget_member_index)                                                                         \
    F(H5Tget_nmembers)                                                                             \
    F(H5Tget_order)                                                                                \
    F(H5Tget_precision)                                                                            \
    F(H5Tget_sign)                                                                                 \
    F(H5Tget_size)                                                                                 \
    F(H5Tget_strpad)                                                                               \
    F(H5Tget_super)                                                                                \
    F(H5Tis_variable_str)                                                                          \
    F(H5Tset_order)                                                                                \
    F(H5Tvlen_create)                                                                              \
    F(H5Zfilter_avail)

struct cw_hdf5_library {
#define CW_HDF5_MEMBER(name) __typeof__(name) *name;
    CW_HDF5_FUNCTIONS(CW_HDF5_MEMBER)
#undef CW_HDF5_MEMBER
    hid_t dataset_access; /* the class of property lists for opening datasets */
};
/* Takes the lock of the library, and loads it. Returns NULL, without the lock, if it cannot be had. */
const struct cw_hdf5_library *cw_hdf5_lock(struct cw_err *err);
void cw_hdf5_unlock(void);
/* An error with what the library says of it. where: the file, and the dataset if there is one. */
int cw_hdf5_fail(const struct cw_hdf5_library *h5, const char *file, const char *set,
                 const char *what, struct cw_err *err);

/* An open dataset. */
struct cw_hdf5_used {
    struct cw_hdf5_set set;
    hid_t id, memory_type; /* the type that values are read as */
    size_t value_bytes;    /* of one value of a list; 1: a string */
    bool is_fixed_string, is_padded_with_blanks, is_chunked;
    int rank; /* with the rows */
    hsize_t dims[CW_RANK_MAX + 1];
};
struct cw_hdf5 {
    char *path;
    size_t cache_bytes;
    hid_t id;
    struct cw_hdf5_used *used;
    size_t used_n, used_cap;
};

#endif
