/* SPDX-License-Identifier: Apache-2.0 */
/* Connections to GlusterFS volumes: one for each volume and process, shared by stores, never
 * closed (glfs_fini takes 7 to 11 s; libgfapi gives up what it has when the process ends).
 * libgfapi is loaded when the first store needs it, so only programs that use gluster:// have
 * it. Private to backend_gluster.c. */
#ifndef CW_CACHE_STORE_GLUSTER_CONNECTION_H
#define CW_CACHE_STORE_GLUSTER_CONNECTION_H

#include <glusterfs/api/glfs.h>
#include "base/err.h"

#define CW_GLUSTER_HOSTS_MAX 16
#define CW_GLUSTER_PORT 24007

struct cw_gluster_api { /* functions of libgfapi */
#define CW_GLFS(name) __typeof__(glfs_##name) *name;
#include "cache/store/gluster_call_list.h"
#undef CW_GLFS
};

struct cw_gluster_host {
    char name[256];
    int port;
};
struct cw_gluster_address {
    struct cw_gluster_host hosts[CW_GLUSTER_HOSTS_MAX];
    size_t hosts_n;
    char volume[256];
    char path[1024]; /* in the volume; begins with '/', does not end with one unless it is "/" */
};

struct cw_gluster_connection;
struct cw_gluster_connection *cw_gluster_connection_get(const struct cw_gluster_address *address);
/* Connected, now or before; waits for another thread that is at it, for at most wait_ns. */
int cw_gluster_connection_up(struct cw_gluster_connection *link, int64_t wait_ns,
                             struct cw_err *err);
/* After that. */
glfs_t *cw_gluster_connection_fs(const struct cw_gluster_connection *link);
const struct cw_gluster_api *cw_gluster_connection_api(void);

#endif
