/* SPDX-License-Identifier: Apache-2.0 */
/* What a worker sends: outputs, with their bytes in messages or in shared memory. */
#include "client/transport/worker_stream_int.h"

#include <unistd.h>
#include "base/log.h"
#include "base/mem.h"
#include "client/transport/recvpool.h"
#include "client/transport/shm_release_queue.h"
#include "data/batch.h"
#include "rpc/rpc.h"
#include "shm/shm.h"

/* Slots of this size and more are sent back at once, because they hold much of the worker's
 * memory. */
#define PROMPT_SLOT_BYTES (256u << 10)

/* ---- shared memory ---- */

static void send_ready(struct cw_worker_stream *stream, bool ok)
{
    Cachew__V1__ShmReady ready = CACHEW__V1__SHM_READY__INIT;
    Cachew__V1__FetchMessage message = CACHEW__V1__FETCH_MESSAGE__INIT;
    ready.ok = ok;
    message.kind_case = CACHEW__V1__FETCH_MESSAGE__KIND_SHM_READY;
    message.shm_ready = &ready;
    cw_wire_send(stream->stream, &message.base);
}

void cw_worker_stream_shm_stop(struct cw_worker_stream *stream)
{
    cw_shm_view_free(stream->view);
    stream->view = NULL;
    cw_shm_release_queue_close(stream->released);
    stream->released = NULL;
    if (stream->shm_fd >= 0)
        close(stream->shm_fd);
    stream->shm_fd = -1;
}

void cw_worker_stream_shm_start(struct cw_worker_stream *stream,
                                const Cachew__V1__DataWelcome *welcome)
{
    struct cw_err err = {0};
    if (!welcome->shm_name || !*welcome->shm_name)
        return;
    bool ok = stream->want_shm &&
              cw_shm_connect(welcome->shm_name, welcome->shm_token, &stream->shm_fd, &err) == 0;
    if (ok) {
        stream->view = cw_shm_view_new(stream->conf.writable);
        stream->released =
            cw_shm_release_queue_new(stream->conf.events->released, stream->conf.arg);
    } else {
        stream->shm_fd = -1;
        if (stream->want_shm)
            cw_log_debug("client", "no shared memory with worker %s: %s", stream->address, err.msg);
    }
    send_ready(stream, ok);
}

/* Maps the slots whose descriptors have come. The descriptor of a slot is sent before the output
 * that names it, so it is always there in time. */
static int shm_take_fds(struct cw_worker_stream *stream, struct cw_err *err)
{
    for (;;) {
        uint64_t slot;
        size_t cap;
        int memfd;
        int rc = cw_shm_recv_fd(stream->shm_fd, &slot, &cap, &memfd, err);
        if (rc == CW_E_AGAIN)
            return 0;
        if (rc == 0)
            rc = cw_shm_view_add(stream->view, slot, cap, memfd, err);
        if (rc != 0)
            return rc;
    }
}

static int shm_buf(struct cw_worker_stream *stream, uint64_t slot, size_t bytes,
                   struct cw_buf **ret_buf, struct cw_err *err)
{
    if (!stream->view)
        return cw_err_set(err, CW_E_CORRUPT,
                          "worker %s sent a shared-memory slot without shared memory",
                          stream->address);
    struct cw_shm_release_queue *released = cw_shm_release_queue_ref(stream->released);
    int rc = cw_shm_view_buf(stream->view, slot, bytes, cw_shm_release_queue_add, released, ret_buf,
                             err);
    if (rc == CW_E_NOT_FOUND) {
        rc = shm_take_fds(stream, err);
        if (rc == 0)
            rc = cw_shm_view_buf(stream->view, slot, bytes, cw_shm_release_queue_add, released,
                                 ret_buf, err);
    }
    if (rc != 0)
        cw_shm_release_queue_unref(released);
    else if (bytes >= PROMPT_SLOT_BYTES)
        cw_shm_release_queue_set_prompt(released);
    return rc;
}

/* ---- outputs ---- */

/* Takes the bytes of an output that came over gRPC. They are copied once, into aligned memory, or
 * stay in the message (conf.keep_msg), from which rows are copied later. */
static int take_payload(struct cw_worker_stream *stream, struct cw_received *received,
                        struct cw_worker_stream_payload *payload, size_t bytes, struct cw_err *err)
{
    if (bytes > payload->left)
        return cw_err_set(err, CW_E_CORRUPT, "worker %s: message is shorter than its outputs",
                          stream->address);
    size_t at = payload->at;
    payload->at += bytes;
    payload->left -= bytes;
    if (bytes == 0)
        return 0;
    if (stream->conf.keep_msg) {
        received->msg = cw_rpc_msg_ref(payload->msg);
        received->offset = at;
        return 0;
    }
    received->batch->buf = cw_recvpool_get(stream->conf.pool, bytes);
    if (!received->batch->buf)
        return cw_err_set(err, CW_E_NOMEM,
                          "no memory for a batch of %zu bytes: lower buffer_bytes of the job",
                          bytes);
    return cw_rpc_msg_copy(payload->msg, at, received->batch->buf->data, bytes);
}

/* Returns the bytes of memory that an output needs until the trainer has it, including its
 * payload. */
static uint64_t cost_of(const struct cw_worker_stream *stream, const struct cw_received *received,
                        uint64_t payload_bytes)
{
    return payload_bytes + cw_mem_cost(sizeof(*received)) + cw_batch_held(received->batch) +
           stream->conf.entry_bytes;
}

static int take_bytes(struct cw_worker_stream *stream, const Cachew__V1__Output *output,
                      struct cw_worker_stream_payload *payload, struct cw_received *received,
                      struct cw_err *err)
{
    size_t bytes = (size_t)output->payload_bytes;
    received->shm = output->slot != 0;
    if (received->shm)
        return shm_buf(stream, output->slot, bytes, &received->batch->buf, err);
    return take_payload(stream, received, payload, bytes, err);
}

int cw_worker_stream_recv(struct cw_worker_stream *stream, const Cachew__V1__Output *output,
                          struct cw_worker_stream_payload *payload, struct cw_err *err)
{
    struct cw_received *received = CW_NEW(struct cw_received);
    int rc = cw_wire_output_from(output, &received->batch, err);
    if (rc == 0) {
        received->charge = cw_credit_charge(stream->credit, output->payload_bytes,
                                            cost_of(stream, received, output->payload_bytes));
        rc = take_bytes(stream, output, payload, received, err);
    }
    if (rc == 0 && !received->msg)
        rc = cw_batch_validate(received->batch, err);
    if (rc == 0)
        return stream->conf.events->output(stream->conf.arg, received, err);
    cw_received_free(received);
    return rc;
}
