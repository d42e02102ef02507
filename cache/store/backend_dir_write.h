/* SPDX-License-Identifier: Apache-2.0 */
/* Writing files of the backend dir:. A file is written under a temporary name, and past the page
 * cache where the file system can do that.
 *
 * A chunk is not read before the next epoch. Copying it into the page cache would cost more CPU
 * time than the rest of writing it, and would evict data that are being read now. So whole blocks
 * are written from where they lie (O_DIRECT), and the end of the last block, or what the file
 * system refuses to take like this, through the page cache. */
#ifndef CW_CACHE_STORE_BACKEND_DIR_WRITE_H
#define CW_CACHE_STORE_BACKEND_DIR_WRITE_H

#include "cache/store/backend.h"

/* Sets an error with the code that fits a system call's errno. Errors of a remote file system that
 * does not answer become UNAVAILABLE. */
int cw_backend_dir_fail(struct cw_err *err, int sys_errno, const char *what, const char *name);

/* Creates a file. Takes `parent`, the descriptor of the directory in which `name` will be; `base`
 * is the last part of `name`. The functions below receive *ret_out; they are functions of struct
 * cw_backend. */
int cw_dir_write_create(int parent, const char *name, const char *base, bool direct, void **ret_out,
                        struct cw_err *err);
int cw_dir_write_piece(void *out, uint64_t offset, const void *p, size_t n, struct cw_err *err);
int cw_dir_write_sync(void *out, struct cw_err *err);
int cw_dir_write_commit(void *out, struct cw_err *err);
void cw_dir_write_abandon(void *out);

#endif
