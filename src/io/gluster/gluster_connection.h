/* SPDX-License-Identifier: Apache-2.0 */
/* Connections to GlusterFS volumes. A process has one for each volume, which stores of the cache and
 * sources share. One that nobody uses is closed after a minute, by a thread of its own, since that takes
 * 7 to 11 s; the end of the process waits for none. libgfapi is loaded when it is needed first, so only
 * programs that use gluster:// load it. */
#ifndef CW_IO_GLUSTER_GLUSTER_CONNECTION_H
#define CW_IO_GLUSTER_GLUSTER_CONNECTION_H

#include <glusterfs/api/glfs.h>
#include "base/err.h"

#define CW_GLUSTER_HOSTS_MAX 16
#define CW_GLUSTER_PORT 24007
#define CW_GLUSTER_IDLE_MS INT64_C(60000)

struct cw_gluster_api { /* pointers to the functions of libgfapi */
#define CW_GLFS(name) __typeof__(glfs_##name) *name;
#include "io/gluster/gluster_call_list.h"
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
    /* path in the volume; it begins with '/' and, unless it is "/", does not end with it */
    char path[1024];
};

/* Parses the address of a URL, which begins behind "gluster:" (gluster_address.c). *address is
 * zeroed before. Returns -1 if the text is no valid address. */
int cw_gluster_address_parse(const char *text, struct cw_gluster_address *address);

struct cw_gluster_connection;
struct cw_gluster_connection *cw_gluster_connection_get(const struct cw_gluster_address *address);
/* Connects, unless the connection is up already. If another thread is connecting, waits for it, for at
 * most wait_ns. On success the caller is a user of the connection until cw_gluster_connection_leave. */
int cw_gluster_connection_use(struct cw_gluster_connection *link, int64_t wait_ns,
                              struct cw_err *err);
void cw_gluster_connection_leave(struct cw_gluster_connection *link);
/* For users. */
glfs_t *cw_gluster_connection_fs(const struct cw_gluster_connection *link);
/* Sets after how long without users connections are closed: CW_GLUSTER_IDLE_MS at the beginning. */
void cw_gluster_connection_set_idle(int64_t ms);
const struct cw_gluster_api *cw_gluster_connection_api(void);

#endif
