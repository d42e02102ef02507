/* SPDX-License-Identifier: Apache-2.0 */
/* Reads small files: certificates, profiles, credentials. */
#ifndef CW_IO_REMOTE_SMALL_FILE_H
#define CW_IO_REMOTE_SMALL_FILE_H

#include "base/err.h"
#include "base/str.h"

/* Appends the text of a file of at most 1 MiB. NOT_FOUND and others name the path, and never what is
 * in it. */
int cw_small_file_read(const char *path, struct cw_str *ret_text, struct cw_err *err);
/* Frees a text that holds a secret, and overwrites it before. */
void cw_small_file_forget(char *text);

#endif
