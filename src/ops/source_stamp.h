/* SPDX-License-Identifier: Apache-2.0 */
/* Files and objects of sources, and their stamps (format/same_file.h). Checksums are remembered for
 * the whole process, by what io/io.h tells of a file, so each is read once and not once per job. In
 * all functions `stop` may be NULL; once it is set, reading ends with CANCELLED. Any thread. */
#ifndef CW_OPS_SOURCE_STAMP_H
#define CW_OPS_SOURCE_STAMP_H

#include "data/identity.h"
#include "io/io.h"

/* Makes the stamp of a file. info: what is known of it; without a version, its mtime may be a mark. It
 * is opened if its bytes must be read. */
int cw_source_stamp_make(enum cw_identity identity, const char *url, const struct cw_io_info *info,
                         const struct cw_stop *stop, struct cw_file_stamp *ret_stamp,
                         struct cw_err *err);
/* Returns 0 if the open file is the one whose stamp is `means`, otherwise OTHER_FILE. */
int cw_source_stamp_compare(const struct cw_file_stamp *means, const char *url,
                            const struct cw_io_file *file, const struct cw_stop *stop,
                            struct cw_err *err);
/* Does the same for a file of which the caller has read all bytes. */
int cw_source_stamp_compare_bytes(const struct cw_file_stamp *means, const char *url,
                                  const struct cw_io_info *info, const void *p, size_t n,
                                  struct cw_err *err);
/* Opens the file and compares it with its stamp. A file that does not exist gives OTHER_FILE, too.
 * What may be opened says io/source_root.h. */
int cw_source_stamp_open(const struct cw_file_stamp *means, const char *url,
                         const struct cw_stop *stop, struct cw_io_file *ret_file,
                         struct cw_err *err);

#endif
