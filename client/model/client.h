/* SPDX-License-Identifier: Apache-2.0 */
/* The client object: a connection to one dispatcher. It has one background thread, which owns a
 * loop, gRPC, and all control state of the client's jobs. */
#ifndef CW_CLIENT_MODEL_CLIENT_H
#define CW_CLIENT_MODEL_CLIENT_H

#include <stdbool.h>
#include <sys/types.h>
#include "base/thread.h"
#include "rpc/rpc.h"

#define CW_CLIENT_MAGIC 0x6377434cu
#define CW_CLIENT_HOST_ID_BYTES 128

struct cw_embedded_cluster;
struct cw_recvpool;
struct cw_local_workers;
struct cachew_client {
    uint32_t magic;
    pid_t pid;          /* of the process that connected: in a forked child it differs */
    char *address;      /* of the dispatcher */
    int64_t timeout_ms; /* of cachew_connect and cachew_job_start */
    bool shm;           /* shared memory may be used with workers of this host */
    char host_id[CW_CLIENT_HOST_ID_BYTES]; /* "" = unknown */
    struct cw_thread thread;
    struct cw_loop *loop; /* all below belongs to the loop thread unless another is named */
    struct cw_rpc *rpc;
    struct cw_channel *channel; /* to the dispatcher */
    struct cw_recvpool *pool;   /* any thread */
    /* Local workers of jobs that were closed, which are still ending; once the loop thread has
     * ended, the caller's of cachew_disconnect. */
    struct cw_local_workers *ending;
    /* The question by which cachew_connect finds the dispatcher; NULL when none was asked. Kept
     * to the end, since the loop may still use it after cachew_connect has given up. */
    struct cw_connect_probe *probe;
    /* The private cluster of "local:", else NULL. The caller's while there is no loop thread. */
    struct cw_embedded_cluster *cluster;
    atomic_int jobs; /* open jobs; any thread */
};
/* 0, or STATE with a message: not an open client, or one of a parent process. */
int cw_client_check(const struct cachew_client *client, struct cw_err *err);
int cw_client_check_pid(pid_t pid, struct cw_err *err);

#endif
