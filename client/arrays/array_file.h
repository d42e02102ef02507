/* SPDX-License-Identifier: Apache-2.0 */
/* Files in which arrays of the program lie, so that workers can read them. A name is made of the content, so
 * equal arrays are written once, and a file is never changed. */
#ifndef CW_CLIENT_ARRAYS_ARRAY_FILE_H
#define CW_CLIENT_ARRAYS_ARRAY_FILE_H

#include "client/model/public.h"

/* A file of the operator that reads it. */
struct cw_array_file {
    const char *op; /* "npy", or "chunks" of what .npy files cannot have */
    char *pattern;  /* its option; the caller frees it */
};

/* Writes the array into the directory, unless it is there. directory: NULL: that of this user. INVALID: the
 * array is none (the message has its name). */
int cw_array_write(const struct cachew_tensor *array, const char *directory,
                   struct cw_array_file *ret_file, struct cw_err *err);

#endif
