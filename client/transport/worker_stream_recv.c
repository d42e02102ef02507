/* SPDX-License-Identifier: Apache-2.0 */
/* What a worker sends: outputs, with their bytes in messages or in shared memory. */
#include "client/transport/worker_stream_int.h"

#include <unistd.h>
#include "base/log.h"
#include "base/mem.h"
#include "client/transport/recvpool.h"
#include "client/transport/shm_release_queue.h"
#include "data/batch.h"
#include "loop/loop.h"
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
    ready.ok = ready.outputs = ok;
    message.kind_case = CACHEW__V1__FETCH_MESSAGE__KIND_SHM_READY;
    message.shm_ready = &ready;
    cw_wire_send(stream->stream, &message.base);
}

void cw_worker_stream_shm_stop(struct cw_worker_stream *stream)
{
    cw_poll_free(cw_steal(&stream->shm_poll));
    cw_shm_view_free(stream->view);
    stream->view = NULL;
    cw_shm_release_queue_close(stream->released);
    stream->released = NULL;
    if (stream->shm_fd >= 0)
        close(stream->shm_fd);
    stream->shm_fd = -1;
}

void cw_worker_stream_shm_start(struct cw_worker_stream *stream,
                                const Cachew__V1__DataWelcome *welcome, cw_loop_fn *on_socket)
{
    struct cw_err err = {0};
    if (!welcome->shm_name || !*welcome->shm_name)
        return;
    bool ok = stream->want_shm &&
              cw_shm_connect(welcome->shm_name, welcome->shm_token, &stream->shm_fd, &err) == 0;
    if (ok) {
        stream->shm_poll = cw_poll_new(stream->conf.loop, stream->shm_fd, on_socket, stream, &err);
        ok = stream->shm_poll != NULL;
    }
    if (ok) {
        stream->view = cw_shm_view_new(stream->conf.writable);
        stream->released =
            cw_shm_release_queue_new(stream->conf.events->released, stream->conf.arg);
    } else if (stream->want_shm) {
        cw_log_debug("client", "no shared memory with worker %s: %s", stream->address, err.msg);
    }
    send_ready(stream, ok);
}

/* A message of the socket has outputs in slots, and nothing else. */
static int take_packet(struct cw_worker_stream *stream, const struct cw_shm_packet *packet,
                       size_t *outputs, struct cw_err *err)
{
    struct cw_rpc_msg *msg = cw_rpc_msg_own(cw_mem_dup(packet->bytes, packet->n), packet->n);
    struct cw_wire_data data = {0};
    int rc = cw_wire_data_parse(msg, &data, err);
    if (rc == 0 && data.head->welcome)
        rc = cw_err_set(err, CW_E_CORRUPT, "it sent a welcome over the socket of shared memory");
    stream->in_packet = true;
    if (rc == 0)
        rc = cw_worker_stream_recv_data(stream, msg, &data, outputs, err);
    stream->in_packet = false;
    cw_wire_data_fini(&data);
    cw_rpc_msg_unref(msg);
    return rc;
}

int cw_worker_stream_shm_take(struct cw_worker_stream *stream, size_t *outputs, struct cw_err *err)
{
    struct cw_shm_packet packet;
    int rc = 0;
    while (rc == 0 && stream->shm_poll) {
        rc = cw_shm_recv(stream->shm_fd, &packet, err);
        if (rc == 0 && packet.slot != 0)
            rc = cw_shm_view_add(stream->view, packet.slot, packet.cap, packet.memfd, err);
        else if (rc == 0)
            rc = take_packet(stream, &packet, outputs, err);
    }
    if (rc == CW_E_END) /* Then the stream ends, too, and says why. */
        cw_poll_free(cw_steal(&stream->shm_poll));
    return rc == CW_E_AGAIN || rc == CW_E_END ? 0 : rc;
}

/* The descriptor of a slot is sent before the output that names it, so it is always there in time:
 * here already if the output came from the same socket, else in the socket. */
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
    if (rc == CW_E_NOT_FOUND && !stream->in_packet) {
        size_t outputs = 0; /* The caller tells of its own. */
        rc = cw_worker_stream_shm_take(stream, &outputs, err);
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

int cw_worker_stream_recv_data(struct cw_worker_stream *stream, struct cw_rpc_msg *msg,
                               const struct cw_wire_data *data, size_t *outputs, struct cw_err *err)
{
    struct cw_worker_stream_payload payload = {msg, data->payload_offset, data->payload_len};
    const Cachew__V1__SlotGone *gone = data->head->slots_gone;
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < data->head->n_outputs; i++)
        rc = cw_worker_stream_recv(stream, data->head->outputs[i], &payload, err);
    if (rc == 0)
        *outputs += data->head->n_outputs;
    for (size_t i = 0; rc == 0 && gone && stream->view && i < gone->n_slots; i++)
        cw_shm_view_drop(stream->view, gone->slots[i]);
    return rc;
}
