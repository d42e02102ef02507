/* SPDX-License-Identifier: Apache-2.0 */
/* The client object: one background thread that owns a loop, gRPC and all control state of the
 * client's jobs. */
#ifndef CW_CLIENT_CLIENT_H
#define CW_CLIENT_CLIENT_H

#include <stdbool.h>
#include <sys/types.h>
#include "base/thread.h"
#include "rpc/rpc.h"

#define CW_CLIENT_MAGIC 0x6377434cu
#define CW_CLIENT_HOST_ID_BYTES 128

struct cw_local;
struct cw_recvpool;
struct cw_local_workers;
struct cachew_client {
    uint32_t magic;
    pid_t pid;     /* after fork() the child's differs */
    char *address; /* of the dispatcher */
    int64_t timeout_ms;
    bool shm; /* shared memory with workers of this host */
    char host_id[CW_CLIENT_HOST_ID_BYTES];
    struct cw_thread thread;
    struct cw_loop *loop; /* everything below is the loop thread's */
    struct cw_rpc *rpc;
    struct cw_channel *channel; /* to the dispatcher */
    struct cw_recvpool *pool;   /* any thread */
    /* of jobs that were closed; after the loop thread has ended the caller's */
    struct cw_local_workers *ending;
    /* NULL unless cachew_connect has begun to ask; the loop may still */
    struct cw_probe *probe;
    /* NULL unless "local:"; the caller's while there is no loop thread */
    struct cw_local *local;
    atomic_int jobs;
};
/* 0, or STATE with a message when the object is none, or belongs to a parent process. */
int cw_client_check(const struct cachew_client *client, struct cw_err *err);
int cw_client_check_pid(pid_t pid, struct cw_err *err);

#endif
