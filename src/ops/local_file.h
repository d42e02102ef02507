/* SPDX-License-Identifier: Apache-2.0 */
/* Local files and their stamps (format/same_file.h). Checksums are remembered for the whole
 * process, by device, inode, size, mtime and ctime, so each file is read once and not once per
 * job. In all functions `stop` may be NULL; once it is set, reading ends with CANCELLED. Any
 * thread. */
#ifndef CW_OPS_LOCAL_FILE_H
#define CW_OPS_LOCAL_FILE_H

#include <sys/stat.h>

#include "base/stop.h"
#include "data/identity.h"

int64_t cw_local_mtime_ns(const struct stat *st);
/* Makes the stamp of the file at path. st: the result of stat for it. The file is opened if its
 * bytes must be read. */
int cw_local_stamp(enum cw_identity identity, const char *path, const struct stat *st,
                   const struct cw_stop *stop, struct cw_file_stamp *ret_stamp, struct cw_err *err);
/* Returns 0 if the open file is the one whose stamp is `means`, otherwise OTHER_FILE. */
int cw_local_same(const struct cw_file_stamp *means, const char *path, int fd,
                  const struct stat *st, const struct cw_stop *stop, struct cw_err *err);
/* Does the same for a file of which the caller has read all bytes. */
int cw_local_same_bytes(const struct cw_file_stamp *means, const char *path, const struct stat *st,
                        const void *p, size_t n, struct cw_err *err);
/* Opens the file and compares it with its stamp. A file that does not exist gives OTHER_FILE, too.
 * What may be opened says format/source_root.h. */
int cw_local_open(const struct cw_file_stamp *means, const char *path, const struct cw_stop *stop,
                  int *ret_fd, struct stat *ret_st, struct cw_err *err);

#endif
