/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a zstd file (one or several frames) from its beginning, or from where a frame begins. One
 * thread. */
#ifndef CW_FORMAT_ZST_H
#define CW_FORMAT_ZST_H

#include <stdbool.h>
#include "format/read_at.h"

struct cw_zst;
/* The file is borrowed until cw_zst_free. Returns NULL if there is no memory. */
struct cw_zst *cw_zst_new(const struct cw_readable *file) CW_MUST_CHECK;
void cw_zst_free(struct cw_zst *zst);
/* Whether a path ends like that of a zstd file: "x.zst". */
bool cw_zst_is_name(const char *path);
/* Inflates at most n bytes, and ends where a frame ends, too, or where a piece of the input does.
 * *ret_is_place: behind these bytes a frame begins, or the file ends. Returns 1 at the end of the
 * file. A damaged or truncated file is an error. */
int cw_zst_step(struct cw_zst *zst, void *dst, size_t n, size_t *ret_n, bool *ret_is_place,
                struct cw_err *err);
/* Which byte of the file comes next. */
uint64_t cw_zst_offset(const struct cw_zst *zst);
/* Goes on at a frame that begins there. */
void cw_zst_enter(struct cw_zst *zst, uint64_t offset);

#endif
