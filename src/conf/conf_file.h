/* SPDX-License-Identifier: Apache-2.0 */
/* Reading of the files that values are parsed from. */
#ifndef CW_CONF_CONF_FILE_H
#define CW_CONF_CONF_FILE_H

#include "base/err.h"
#include "base/str.h"

/* Appends the text of a file of at most 64 MiB. The error names the file. */
int cw_conf_file_read(const char *path, struct cw_str *out, struct cw_err *err);

#endif
