/* SPDX-License-Identifier: Apache-2.0 */
/* Paths in a GlusterFS volume, errors of its calls, and the decision whether to try one again. */
#include "cache/store/gluster_path.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "base/clock.h"
#include "base/str.h"
#include "cache/store/backend.h"

#define RETRY_NS ((int64_t)1000000000)
#define RETRIES_LEAST 4
#define RETRY_STEP_NS ((int64_t)20000000)

const struct cw_gluster_api *cw_gluster_api(void)
{
    return cw_gluster_connection_api();
}
glfs_t *cw_gluster_fs(const struct cw_gluster *gluster)
{
    return cw_gluster_connection_fs(gluster->link);
}
int cw_gluster_fail(struct cw_err *err, int sys_errno, const char *what, const char *name)
{
    int rc = cw_err_errno(err, sys_errno, "gluster: %s %s", what, name);

    if (sys_errno != ESTALE && sys_errno != EBADFD && sys_errno != EHOSTDOWN &&
        sys_errno != ESHUTDOWN)
        return rc;
    if (err)
        err->code = CW_E_UNAVAILABLE;
    return CW_E_UNAVAILABLE;
}
static void join(const char *dir, const char *name, char ret_path[CW_GLUSTER_PATH_BYTES])
{
    const char *slash = !*name || cw_str_eq(dir, "/") ? "" : "/";

    snprintf(ret_path, CW_GLUSTER_PATH_BYTES, "%s%s%.*s", dir, slash, 2 * CW_STORE_NAME_MAX, name);
}
void cw_gluster_path(const struct cw_gluster *gluster, const char *name,
                     char ret_path[CW_GLUSTER_PATH_BYTES])
{
    join(gluster->address.path, name, ret_path);
}
void cw_gluster_temp_beside(const char *path, char ret_temp[CW_GLUSTER_PATH_BYTES])
{
    char temp[CW_STORE_TEMP_BYTES];

    cw_store_temp_name(temp);
    snprintf(ret_temp, CW_GLUSTER_PATH_BYTES, "%.*s/%s", (int)(strrchr(path, '/') - path), path,
             temp);
}

bool cw_gluster_is_passing(int sys_errno)
{
    return sys_errno == ENOENT || sys_errno == EEXIST || sys_errno == ESTALE;
}
bool cw_gluster_may_retry(int sys_errno, struct cw_gluster_tries *tries)
{
    if (!cw_gluster_is_passing(sys_errno) ||
        (tries->n >= RETRIES_LEAST && cw_clock_ns() - tries->begin_ns > RETRY_NS))
        return false;
    tries->n++;
    cw_clock_sleep_ns(RETRY_STEP_NS);
    return true;
}
