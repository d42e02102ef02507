/* SPDX-License-Identifier: Apache-2.0 */
/* How the files of arrays are written (client/arrays/array_file.h), to names that nobody reads yet. */
#ifndef CW_CLIENT_ARRAYS_ARRAY_WRITE_H
#define CW_CLIENT_ARRAYS_ARRAY_WRITE_H

#include <sys/uio.h>

#include "client/model/public.h"

/* ---- array_npy.c: a file ---- */
int cw_array_write_npy(const struct cachew_tensor *array, const char *tmp, struct cw_err *err);

/* ---- array_chunks.c: a folder of files ---- */
int cw_array_write_chunks(const struct cachew_tensor *array, const char *tmp, struct cw_err *err);

/* ---- array_parts.c ---- */
/* Writes parts to a new file, and has the disk take them. */
int cw_array_write_parts(const char *path, const struct iovec *parts, size_t n, struct cw_err *err);

#endif
