/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a gzip file (one or several members) from its beginning. One thread. */
#ifndef CW_FORMAT_GZ_H
#define CW_FORMAT_GZ_H

#include <stdbool.h>
#include "format/read_at.h"

struct cw_gz;
/* file is borrowed until free. */
struct cw_gz *cw_gz_new(const struct cw_readable *file) CW_MUST_CHECK;
void cw_gz_free(struct cw_gz *gz);
/* The next n inflated bytes; fewer (ret_n) only at the end. Damage and a cut file are errors. */
int cw_gz_read(struct cw_gz *gz, void *dst, size_t n, size_t *ret_n, struct cw_err *err);
/* "x.gz" */
bool cw_gz_is_name(const char *path);

#endif
