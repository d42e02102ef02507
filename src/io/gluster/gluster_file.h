/* SPDX-License-Identifier: Apache-2.0 */
/* Files of GlusterFS volumes, as the scheme gluster reads them (io/io.h): by calls that wait, and ahead by
 * calls that do not. */
#ifndef CW_IO_GLUSTER_GLUSTER_FILE_H
#define CW_IO_GLUSTER_GLUSTER_FILE_H

#include <sys/stat.h>

#include "io/gluster/gluster_connection.h"
#include "io/io.h"

/* A URL taken apart, with its connection. */
struct cw_gluster_place {
    struct cw_gluster_address address;
    struct cw_gluster_connection *link;
    glfs_t *fs;
};
/* Takes a URL apart and connects. The caller leaves the connection (cw_gluster_connection_leave). */
int cw_gluster_reach(const char *url, struct cw_gluster_place *ret_place, struct cw_err *err);
/* Sets the error of a call that failed, and returns its code. */
int cw_gluster_failed(const char *url, int failure, struct cw_err *err);
/* Says what a file is by what the volume tells of it. INVALID: it is no regular file. */
int cw_gluster_info(const char *url, const struct stat *st, struct cw_io_info *ret_info,
                    struct cw_err *err);

/* ---- gluster_file.c: the functions of io/io.h; a file of which something was read ahead is opened when
 * more of it is needed ---- */
int cw_gluster_file_open(const char *url, const struct cw_stop *stop, struct cw_io_file *file,
                         struct cw_err *err);
void cw_gluster_file_close(struct cw_io_file *file);
int cw_gluster_file_read(const struct cw_io_file *file, uint64_t offset, void *dst, size_t n,
                         const struct cw_stop *stop, struct cw_err *err);
bool cw_gluster_file_is_unchanged(const struct cw_io_file *file);

/* ---- gluster_ahead.c: reads for which nobody waits. Some threads open and close files, and none waits for
 * bytes ---- */
void cw_gluster_fetch(const char *url, struct cw_io_fetch *fetch);
void cw_gluster_cancel(struct cw_io_fetch *fetch);

#endif
