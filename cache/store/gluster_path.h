/* SPDX-License-Identifier: Apache-2.0 */
/* What the functions of the backend gluster: share: its state, paths in the volume, errors, and
 * the decision whether to try a call again. Private to backend_gluster.c. */
#ifndef CW_CACHE_STORE_GLUSTER_PATH_H
#define CW_CACHE_STORE_GLUSTER_PATH_H

#include <stdatomic.h>
#include "io/gluster/gluster_connection.h"

/* bytes of a path in the volume, a file's name, and a temporary file's name */
#define CW_GLUSTER_PATH_BYTES 1536

struct cw_gluster {
    struct cw_gluster_address address;
    struct cw_gluster_connection *link;
    int64_t timeout_ns;
    atomic_bool is_user; /* of the connection */
};

const struct cw_gluster_api *cw_gluster_api(void);
glfs_t *cw_gluster_fs(const struct cw_gluster *gluster);
/* Sets an error and returns its code. cw_err_errno makes ENOTCONN and the like UNAVAILABLE; the
 * errors which a volume returns while it loses or finds its bricks become UNAVAILABLE as well. */
int cw_gluster_fail(struct cw_err *err, int sys_errno, const char *what, const char *name);
/* Makes the path in the volume of a file of the store. */
void cw_gluster_path(const struct cw_gluster *gluster, const char *name,
                     char ret_path[CW_GLUSTER_PATH_BYTES]);
/* Makes the path of a temporary file in the same directory as `path`. */
void cw_gluster_temp_beside(const char *path, char ret_temp[CW_GLUSTER_PATH_BYTES]);
/* Whether a call that failed with this errno may succeed in a moment. */
bool cw_gluster_is_passing(int sys_errno);
/* How long such a call has been tried, and how often. */
struct cw_gluster_tries {
    int64_t begin_ns; /* of the first */
    int n;            /* that were tried again */
};
/* Whether to try such a call again. If so, waits a moment first. For a second, and some times at least:
 * one try may take longer where all wait for a brick, or on a machine that has no time. */
bool cw_gluster_may_retry(int sys_errno, struct cw_gluster_tries *tries);

#endif
