/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of a link to a worker: its life and what it says (link.c), and what comes
 * (link_take.c). */
#ifndef CW_CLIENT_WORKER_STREAM_INT_H
#define CW_CLIENT_WORKER_STREAM_INT_H

#include "client/transport/credit.h"
#include "client/model/job.h"
#include "client/transport/worker_stream.h"
#include "shm/shm.h"
#include "wire/wire.h"

struct cw_link {
    int refs;
    struct cw_session *session; /* NULL once closed */
    struct cachew_job *job;
    uint64_t worker_id;
    char *address;
    bool want_shm;
    struct cw_channel *channel;
    struct cw_stream *stream;
    struct cw_timer *retry;
    int64_t backoff_ms;
    bool up;                 /* the worker has answered on this connection */
    bool was_lost;           /* and not found again */
    bool listed;             /* the dispatcher names the worker */
    bool untold;             /* that it was lost could not be told */
    uint32_t conn;           /* number of the connection */
    struct cw_credit credit; /* of this connection */
    struct cw_shm_view *view;
    int shm_fd;
    struct cw_slots *slots;
};

/* ---- link_take.c ---- */
/* answers it */
void cw_link_shm_start(struct cw_link *link, const Cachew__V1__DataWelcome *welcome);
void cw_link_shm_stop(struct cw_link *link);
struct cw_link_payload { /* of a message: what its outputs have not taken yet */
    struct cw_rpc_msg *msg;
    size_t at, left;
};
/* An output of a message goes into the buffer, or is a duplicate. */
int cw_link_take(struct cw_link *link, const Cachew__V1__Output *output,
                 struct cw_link_payload *payload, struct cw_err *err);

#endif
