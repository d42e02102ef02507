/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a gzip file (one or several members) from its beginning. One thread. */
#ifndef CW_FORMAT_GZ_H
#define CW_FORMAT_GZ_H

#include <stdbool.h>
#include "format/read_at.h"

struct cw_gz;
/* The file is borrowed until cw_gz_free. */
struct cw_gz *cw_gz_new(const struct cw_readable *file) CW_MUST_CHECK;
void cw_gz_free(struct cw_gz *gz);
/* Reads the next n inflated bytes; *ret_n is less than n only at the end. A damaged or truncated
 * file is an error. */
int cw_gz_read(struct cw_gz *gz, void *dst, size_t n, size_t *ret_n, struct cw_err *err);
/* Whether a path ends like that of a gzip file: "x.gz". */
bool cw_gz_is_name(const char *path);

#endif
