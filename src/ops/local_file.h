/* SPDX-License-Identifier: Apache-2.0 */
/* Files of this machine and their stamps (format/same_file.h). Sums that were computed are
 * remembered for the whole process, by what the file system says of a file (device, inode, size,
 * times of change of bytes and of inode), so each file is read once and not once a job. Any
 * thread. */
#ifndef CW_OPS_LOCAL_FILE_H
#define CW_OPS_LOCAL_FILE_H

#include <sys/stat.h>

#include "base/stop.h"
#include "data/identity.h"

int64_t cw_local_mtime_ns(const struct stat *st);
/* Everywhere: `stop` may be NULL; once it is set, reading ends with CANCELLED. Of the file at
 * path; st: what stat said of it. It is opened if its bytes are to be read. */
int cw_local_stamp(enum cw_identity identity, const char *path, const struct stat *st,
                   const struct cw_stop *stop, struct cw_file_stamp *ret_stamp, struct cw_err *err);
/* Whether the open file is the one that `means` tells of: 0, or OTHER_FILE. */
int cw_local_same(const struct cw_file_stamp *means, const char *path, int fd,
                  const struct stat *st, const struct cw_stop *stop, struct cw_err *err);
/* The same for bytes that the caller has read anyway, all of the file's. */
int cw_local_same_bytes(const struct cw_file_stamp *means, const char *path, const struct stat *st,
                        const void *p, size_t n, struct cw_err *err);
/* Opens it and compares; a file that is not there is another one, too. flags: besides reading. */
int cw_local_open(const struct cw_file_stamp *means, const char *path, int flags,
                  const struct cw_stop *stop, int *ret_fd, struct stat *ret_st, struct cw_err *err);

#endif
