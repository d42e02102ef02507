/* SPDX-License-Identifier: Apache-2.0 */
/* Outputs of a worker: their bytes, in messages or in shared memory. */
#include "client/transport/worker_stream_int.h"

#include <stdatomic.h>
#include <unistd.h>
#include "base/log.h"
#include "base/mem.h"
#include "client/delivery/ledger.h"
#include "client/session/session.h"
#include "client/transport/shm_release_queue.h"

/* of an output: its buffer's head, its place in order, its line in the book */
#define ENTRY_BYTES 256
/* slots of this size and up go back at once: they hold the worker's memory */
#define PROMPT_SLOT_BYTES (256u << 10)

/* ---- shared memory ---- */

static void send_ready(struct cw_link *link, bool ok)
{
    Cachew__V1__ShmReady ready = CACHEW__V1__SHM_READY__INIT;
    Cachew__V1__FetchMessage message = CACHEW__V1__FETCH_MESSAGE__INIT;
    ready.ok = ok;
    message.kind_case = CACHEW__V1__FETCH_MESSAGE__KIND_SHM_READY;
    message.shm_ready = &ready;
    cw_wire_send(link->stream, &message.base);
}

void cw_link_shm_stop(struct cw_link *link)
{
    cw_shm_view_free(link->view);
    link->view = NULL;
    cw_slots_close(link->slots);
    link->slots = NULL;
    if (link->shm_fd >= 0)
        close(link->shm_fd);
    link->shm_fd = -1;
}

void cw_link_shm_start(struct cw_link *link, const Cachew__V1__DataWelcome *welcome)
{
    struct cw_err err = {0};
    if (!welcome->shm_name || !*welcome->shm_name)
        return;
    bool ok = link->want_shm &&
              cw_shm_connect(welcome->shm_name, welcome->shm_token, &link->shm_fd, &err) == 0;
    if (ok) {
        link->view = cw_shm_view_new();
        link->slots = cw_slots_new(link->job);
    } else {
        link->shm_fd = -1;
        if (link->want_shm)
            cw_log_debug("client", "no shared memory with worker %s: %s", link->address, err.msg);
    }
    send_ready(link, ok);
}

/* Takes in the descriptors that have come. A slot's descriptor is sent before the output that
 * names it, so it is there by then. */
static int shm_take_fds(struct cw_link *link, struct cw_err *err)
{
    for (;;) {
        uint64_t slot;
        size_t cap;
        int memfd;
        int rc = cw_shm_recv_fd(link->shm_fd, &slot, &cap, &memfd, err);
        if (rc == CW_E_AGAIN)
            return 0;
        if (rc == 0)
            rc = cw_shm_view_add(link->view, slot, cap, memfd, err);
        if (rc != 0)
            return rc;
    }
}

static int shm_buf(struct cw_link *link, uint64_t slot, size_t bytes, struct cw_buf **ret_buf,
                   struct cw_err *err)
{
    if (!link->view)
        return cw_err_set(err, CW_E_CORRUPT,
                          "worker %s sent a shared-memory slot without shared memory",
                          link->address);
    struct cw_slots *slots = cw_slots_ref(link->slots);
    int rc = cw_shm_view_buf(link->view, slot, bytes, cw_slots_released, slots, ret_buf, err);
    if (rc == CW_E_NOT_FOUND) {
        rc = shm_take_fds(link, err);
        if (rc == 0)
            rc = cw_shm_view_buf(link->view, slot, bytes, cw_slots_released, slots, ret_buf, err);
    }
    if (rc != 0)
        cw_slots_unref(slots);
    else if (bytes >= PROMPT_SLOT_BYTES)
        cw_slots_set_prompt(slots);
    return rc;
}

/* ---- outputs ---- */

/* The bytes of an output by gRPC: one copy into aligned memory; in a sparse pipeline none yet
 * (the join copies rows). */
static int take_payload(struct cw_link *link, struct cw_item *item, struct cw_link_payload *payload,
                        size_t bytes, struct cw_err *err)
{
    if (bytes > payload->left)
        return cw_err_set(err, CW_E_CORRUPT, "worker %s: message is shorter than its outputs",
                          link->address);
    size_t at = payload->at;
    payload->at += bytes;
    payload->left -= bytes;
    if (bytes == 0)
        return 0;
    if (link->job->sparse) {
        item->msg = cw_rpc_msg_ref(payload->msg);
        item->offset = at;
        return 0;
    }
    item->batch->buf = cw_recvpool_get(link->job->client->pool, bytes);
    if (!item->batch->buf)
        return cw_err_set(err, CW_E_NOMEM,
                          "no memory for a batch of %zu bytes: lower buffer_bytes of the job",
                          bytes);
    atomic_fetch_add_explicit(&link->job->counts.copies, 1, memory_order_relaxed);
    return cw_rpc_msg_copy(payload->msg, at, item->batch->buf->data, bytes);
}

/* Memory that it takes until it is given to the trainer: its bytes, and what is kept with them. */
static uint64_t cost_of(const struct cw_item *item, uint64_t payload_bytes)
{
    uint64_t more = cw_mem_cost(sizeof(*item)) + cw_batch_held(item->batch) +
                    cw_mem_cost(sizeof(struct cachew_batch)) + ENTRY_BYTES;
    return payload_bytes + more;
}

int cw_link_take(struct cw_link *link, const Cachew__V1__Output *output,
                 struct cw_link_payload *payload, struct cw_err *err)
{
    struct cw_deliver *deliver = cw_session_deliver(link->session);
    struct cw_item *item = CW_NEW(struct cw_item);
    int rc = cw_wire_output_from(output, &item->batch, err);
    item->link = cw_link_ref(link);
    item->conn = link->conn;
    if (rc == 0) {
        item->cost = cost_of(item, output->payload_bytes);
        cw_credit_came(&link->credit, output->payload_bytes, item->cost);
    }
    if (rc == 0 && output->slot)
        rc = shm_buf(link, output->slot, (size_t)output->payload_bytes, &item->batch->buf, err);
    else if (rc == 0)
        rc = take_payload(link, item, payload, (size_t)output->payload_bytes, err);
    if (rc == 0 && !item->msg)
        rc = cw_batch_validate(item->batch, err);
    if (rc == 0)
        rc = cw_deliver_put(deliver, item, err);
    if (rc == 1) {
        atomic_fetch_add_explicit(output->slot ? &link->job->counts.shm_batches
                                               : &link->job->counts.grpc_batches,
                                  1, memory_order_relaxed);
        return 0;
    }
    if (rc == 0) /* a duplicate: its credit is free again at once */
        cw_link_give_back(link, link->conn, item->cost);
    cw_item_free(item);
    return rc;
}
