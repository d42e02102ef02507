/* SPDX-License-Identifier: Apache-2.0 */
/* Objects of servers as files of io/io.h: the same for all dialects. What is read in small pieces is
 * fetched in larger ones, which grow while they are read one after another; large reads go in
 * several requests at once. An object of a server without ranges is copied once to a file without
 * a name in TMPDIR. */
#ifndef CW_IO_REMOTE_OBJECT_H
#define CW_IO_REMOTE_OBJECT_H

#include "io/remote/fetch.h"

int cw_object_stat(const struct cw_dialect *dialect, const char *url, const struct cw_stop *stop,
                   struct cw_io_info *ret_info, struct cw_err *err);
int cw_object_open(const struct cw_dialect *dialect, const char *url, const struct cw_stop *stop,
                   struct cw_io_file *file, struct cw_err *err);
/* Begins to read a range, for a scheme's `fetch`; cw_object_cancel is its `cancel` (object_ahead.c). */
void cw_object_fetch(const struct cw_dialect *dialect, const char *url, struct cw_io_fetch *fetch);
void cw_object_cancel(struct cw_io_fetch *fetch);
/* Completes what a server has told of an object. */
void cw_object_set_state(struct cw_io_info *info, const char *url);
/* These are functions of struct cw_io_scheme. */
void cw_object_close(struct cw_io_file *file);
int cw_object_read(const struct cw_io_file *file, uint64_t offset, void *dst, size_t n,
                   const struct cw_stop *stop, struct cw_err *err);
bool cw_object_is_unchanged(const struct cw_io_file *file);

#endif
