/* SPDX-License-Identifier: Apache-2.0 */
/* Files of the backend dir: that are open for reading. A file of a local file system is mapped; its
 * bytes can also be read past the page cache, which is faster for data that are read once. */
#ifndef CW_CACHE_STORE_BACKEND_DIR_READ_H
#define CW_CACHE_STORE_BACKEND_DIR_READ_H

#include "cache/store/backend.h"

/* Makes the file that the functions below receive; they are functions of struct cw_backend. Takes
 * fd, a descriptor of a file of so many bytes. maps: the file may be mapped; direct: it may be read
 * past the page cache. */
void *cw_dir_read_new(int fd, uint64_t bytes, bool maps, bool direct);
int cw_dir_read_piece(void *file, uint64_t offset, void *dst, size_t n, struct cw_err *err);
bool cw_dir_read_may_read_past(void *file);
int cw_dir_read_past(void *file, uint64_t offset, void *dst, size_t n, struct cw_err *err);
const void *cw_dir_read_map(void *file);
bool cw_dir_read_is_broken(void *file, uint64_t *ret_offset);
void cw_dir_read_close(void *file);

#endif
