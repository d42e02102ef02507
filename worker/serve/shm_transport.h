/* SPDX-License-Identifier: Apache-2.0 */
/* Shared memory with clients of the same host: slots are lent to them instead of sending bytes.
 * Loop thread. */
#ifndef CW_WORKER_SERVE_SHM_TRANSPORT_H
#define CW_WORKER_SERVE_SHM_TRANSPORT_H

#include "cachew/v1/data.pb-c.h"
#include "wire/wire.h"
#include "worker/model/state.h"

/* Listens for clients, if shared memory is offered. */
void cw_shm_transport_start(struct cw_worker_state *w, bool offered);
void cw_shm_transport_stop(struct cw_worker_state *w);
/* Offers shared memory to a client of this host by filling in the welcome. */
void cw_shm_transport_offer(struct cw_wclient *client, Cachew__V1__DataWelcome *welcome);
/* Takes the client's answer whether it is connected. */
void cw_shm_transport_answer(struct cw_wclient *client, const Cachew__V1__ShmReady *ready);
/* Whether outputs must wait for the client's answer to the offer. */
bool cw_shm_transport_is_pending(const struct cw_wclient *client);
/* Lends the batch's slot to the client, after sending it the slot's descriptor. Returns the slot to
 * be named in the output; 0: the bytes must be sent. */
uint64_t cw_shm_transport_lend(struct cw_wclient *client, struct cw_batch *batch);
/* Sends outputs over the socket, where they reach the client with one wake-up, if their bytes are in
 * slots and the client reads there. Returns false if they must go over the stream; otherwise the
 * outbox is freed. */
bool cw_shm_transport_send(struct cw_wclient *client, struct cw_wire_outbox *box);
/* Takes back a slot that the client releases. */
void cw_shm_transport_release(struct cw_wclient *client, uint64_t slot);
/* Handles the end of the client's stream. A slot that it has not given back is never written again,
 * since its process may still read it. */
void cw_shm_transport_end(struct cw_wclient *client);
/* Notifies clients of slots that no longer exist, so that they unmap them. */
void cw_shm_transport_notify_freed(struct cw_worker_state *w);

#endif
