/* SPDX-License-Identifier: Apache-2.0 */
/* Whole files that are compressed with gzip (.gz) or zstd (.zst), inflated into memory. */
#ifndef CW_FORMAT_INFLATE_H
#define CW_FORMAT_INFLATE_H

#include "format/read_at.h"

/* Whether a path ends like that of a file that cw_inflate_all can read. */
bool cw_inflate_is_name(const char *path);
/* Inflates a file with such a name, all members or frames of it. More than `limit` bytes are
 * refused (LIMIT). The caller frees *ret_bytes. */
int cw_inflate_all(const struct cw_readable *file, uint64_t limit, char **ret_bytes, size_t *ret_n,
                   struct cw_err *err);

#endif
