/* SPDX-License-Identifier: Apache-2.0 */
/* HDF5 files, read by libhdf5, which is loaded when the first of them is opened. The library is not made
 * for several threads, so all calls of a process happen one after another, under one lock. Files must be
 * local: the library opens them itself. What would lead it to other files (external links and data,
 * virtual datasets) or to code (plugins for filters) is refused. */
#ifndef CW_FORMAT_HDF5_H
#define CW_FORMAT_HDF5_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "data/spec.h"

#define CW_HDF5_SETS_MAX 4096 /* datasets that are found in a file */
#define CW_HDF5_DEPTH_MAX 16  /* of groups */

/* A dataset whose first dimension counts rows. */
struct cw_hdf5_set {
    char *name;           /* from the root: "group/x" */
    struct cw_field type; /* of a row */
    int64_t rows;
    int64_t chunk_rows; /* of a chunk; 0: it is not in chunks */
    /* Rows are strings or lists, which have lengths of their own in the file; else a row has `bytes`
     * bytes. */
    bool is_loose;
    size_t bytes;
};
struct cw_hdf5;
/* fd: the open file, which was checked; the library opens it once more through that, and not by its path. -1:
 * the path is no local one, which is refused. cache_bytes: memory for the chunks of each dataset that is used.
 * Errors, here and below, name the file. */
int cw_hdf5_open(const char *path, int fd, size_t cache_bytes, struct cw_hdf5 **ret_file,
                 struct cw_err *err);
void cw_hdf5_close(struct cw_hdf5 *file); /* accepts NULL */

/* Finds the names of all datasets, in bytewise order; the caller frees each and the list. */
int cw_hdf5_list(struct cw_hdf5 *file, char ***ret_names, size_t *ret_n, struct cw_err *err);
/* Opens a dataset, which stays open as long as the file. Returns its number. INVALID: there is none of
 * that name; UNSUPPORTED: what its values are, or how they are stored, is not supported. */
int cw_hdf5_use(struct cw_hdf5 *file, const char *name, size_t *ret_set, struct cw_err *err);
/* Bytes that the memory for chunks of all opened datasets has at most: of each as much as cache_bytes, and not more
 * than its rows have; none of one that is not in chunks. */
size_t cw_hdf5_chunk_bytes(const struct cw_hdf5 *file);
const struct cw_hdf5_set *cw_hdf5_set(const struct cw_hdf5 *file, size_t set);

/* Reads n rows of a dataset whose rows have one size, in this machine's byte order. */
int cw_hdf5_read(struct cw_hdf5 *file, size_t set, int64_t row, size_t n, void *dst,
                 struct cw_err *err);
/* Reads a row of another one. *ret_p: its bytes, which are freed with cw_mem_free. */
int cw_hdf5_read_loose(struct cw_hdf5 *file, size_t set, int64_t row, void **ret_p, size_t *ret_n,
                       struct cw_err *err);
/* Whether no thread is inside of the library, so that a call would not wait; it may be by the time of the call. */
bool cw_hdf5_is_free(void);

#endif
