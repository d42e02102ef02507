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
    pid_t pid;     /* The process that connected. In a forked child the number differs. */
    char *address; /* The address of the dispatcher. */
    /* The token that the dispatcher may ask for, or the file that has it; both may be NULL. */
    char *token, *token_file;
    struct cw_tls_options tls; /* its texts are the client's; not set: no TLS */
    int64_t timeout_ms;        /* The time limit of cachew_connect and cachew_job_start. */
    bool shm;                  /* Shared memory may be used with workers of this host. */
    bool writable;             /* The trainer may write into batches. */
    char host_id[CW_CLIENT_HOST_ID_BYTES]; /* The text is "" if the host cannot be identified. */
    struct cw_thread thread;
    /* The loop and all fields below belong to the loop thread unless another is named. */
    struct cw_loop *loop;
    struct cw_rpc *rpc;
    struct cw_channel *channel; /* The connection to the dispatcher. */
    struct cw_recvpool *pool;   /* Memory for received batches. Any thread may use it. */
    /* Local workers of closed jobs that have not ended yet. Once the loop thread has ended, they
     * belong to the caller of cachew_disconnect. */
    struct cw_local_workers *ending;
    /* The question by which cachew_connect finds the dispatcher; NULL if none was asked. It is kept
     * to the end, since the loop may still use it after cachew_connect has given up. */
    struct cw_connect_probe *probe;
    /* The private cluster of "local:"; NULL for other addresses. It belongs to the caller while
     * there is no loop thread. */
    struct cw_embedded_cluster *cluster;
    atomic_int jobs; /* The number of open jobs. Any thread may use it. */
};
/* Returns 0, or STATE with a message if this is not an open client, or one of a parent process. */
int cw_client_check(const struct cachew_client *client, struct cw_err *err);
int cw_client_check_pid(pid_t pid, struct cw_err *err);

#endif
