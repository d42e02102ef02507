/* SPDX-License-Identifier: Apache-2.0 */
/* Files of dir: that are being written: under a temporary name, and past the page cache where
 * the file system can.
 *
 * A chunk is not read before the next epoch. To copy it into the page cache costs more CPU time
 * than all the rest of writing it, and pushes out what is read now. So whole blocks go to the
 * disk from where they lie (O_DIRECT), and the last part of a block, or what a file system
 * refuses to take like this, goes the usual way. */
#ifndef CW_CACHE_STORE_BACKEND_DIR_WRITE_H
#define CW_CACHE_STORE_BACKEND_DIR_WRITE_H

#include "cache/store/backend.h"

/* The code of a system call's error; those of a remote file system that does not answer are
 * UNAVAILABLE. */
int cw_backend_dir_fail(struct cw_err *err, int sys_errno, const char *what, const char *name);

/* Takes `parent`, the directory where `name` will be; `base` is the last part of `name`.
 * *ret_out is what the others take: they are functions of a store (struct cw_backend). */
int cw_dir_write_create(int parent, const char *name, const char *base, bool direct, void **ret_out,
                        struct cw_err *err);
int cw_dir_write_piece(void *out, uint64_t offset, const void *p, size_t n, struct cw_err *err);
int cw_dir_write_sync(void *out, struct cw_err *err);
int cw_dir_write_commit(void *out, struct cw_err *err);
void cw_dir_write_abandon(void *out);

#endif
