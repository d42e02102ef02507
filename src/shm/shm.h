/* SPDX-License-Identifier: Apache-2.0 */
/* Shared memory for batches between processes of one host: memfds that are mapped once on both
 * sides (docs/performance.md). The worker builds batches in the slots of a pool. A client of the
 * same host gets a slot's memfd once, over an abstract unix socket, and after that only slot
 * numbers. Nothing has a name in a file system, so nothing is left behind when a process is
 * killed. */
#ifndef CW_SHM_SHM_H
#define CW_SHM_SHM_H

#include <stdbool.h>
#include "base/buf.h"
#include "base/err.h"

/* ---- worker: the pool of slots; any thread may use it ---- */
struct cw_shm_pool;
/* Makes a pool. limit_bytes limits the bytes of all slots. Idle slots are freed when a slot of
 * another size is needed and the total nears the limit, or the most that was in use at one time.
 * The number of slots is limited too, by the number of descriptors that the process may open. */
struct cw_shm_pool *cw_shm_pool_new(size_t limit_bytes) CW_MUST_CHECK;
/* Frees the pool, once the last buffer in use is freed; buffers stay valid. */
void cw_shm_pool_free(struct cw_shm_pool *pool);
/* Returns a buffer in a slot; buf->tag is the slot's id (never 0). The last unref gives the slot
 * back. Returns NULL if the limit would be exceeded. */
struct cw_buf *cw_shm_pool_get(struct cw_shm_pool *pool, size_t bytes,
                               struct cw_err *err) CW_MUST_CHECK;
/* Returns the descriptor of the buffer's slot, and the slot's size; the pool still owns the
 * descriptor. */
int cw_shm_pool_fd(struct cw_shm_pool *pool, const struct cw_buf *buf, size_t *ret_cap);
/* Retires a slot, because a client that may still read it is gone without releasing it: it is never
 * used again. Its pages are freed when both sides have unmapped it. */
void cw_shm_pool_retire(struct cw_shm_pool *pool, const struct cw_buf *buf);
/* Returns the bytes of all slots. */
size_t cw_shm_pool_bytes(struct cw_shm_pool *pool);
/* Frees idle slots until all slots together hold at most `bytes`, or none is idle. */
void cw_shm_pool_trim(struct cw_shm_pool *pool, size_t bytes);
/* Returns ids of slots freed since the last call, at most cap of them (if it returns cap, call
 * again). Clients that have mapped them should unmap them. */
size_t cw_shm_pool_take_freed(struct cw_shm_pool *pool, uint64_t *ret_slots, size_t cap);

/* ---- passing descriptors, and messages that name slots: one connected unix socket for each client
 * and worker ---- */
/* Worker: listens on a random abstract address. *ret_name receives a printable name for the
 * client. */
int cw_shm_listen(char *ret_name, size_t cap, int *ret_fd, struct cw_err *err);
/* Accepts a client; AGAIN when none is waiting. Peers of another user are refused. The new socket
 * does not block. */
int cw_shm_accept(int listen_fd, int *ret_fd, struct cw_err *err);
/* Receives the token that a client sends first. AGAIN until it has arrived; END if the client is
 * gone; CORRUPT for anything else. */
int cw_shm_recv_token(int fd, uint64_t *ret_token, struct cw_err *err);
/* Sends a slot's descriptor. AGAIN if the client has not read the descriptors before it. */
int cw_shm_send_fd(int fd, uint64_t slot, size_t cap, int memfd, struct cw_err *err);
/* Sends a message of at most CW_SHM_MESSAGE_MAX bytes, behind the descriptors that were sent before.
 * AGAIN if the client has not read what was sent before. */
#define CW_SHM_MESSAGE_MAX 4096
int cw_shm_send_message(int fd, const void *p, size_t n, struct cw_err *err);
/* Client: connects and sends the token. The socket does not block. */
int cw_shm_connect(const char *name, uint64_t token, int *ret_fd, struct cw_err *err);
/* Receives a slot's descriptor. AGAIN if there is none; END if the worker is gone. A descriptor is
 * sent before the first output that names the slot, but on this socket, so the output may arrive
 * first: then the caller polls for the descriptor. */
int cw_shm_recv_fd(int fd, uint64_t *ret_slot, size_t *ret_cap, int *ret_memfd, struct cw_err *err);
/* What a worker sends: a slot's descriptor (slot is not 0), or a message of n bytes. */
struct cw_shm_packet {
    uint64_t slot;
    size_t cap;
    int memfd;
    size_t n;
    uint8_t bytes[CW_SHM_MESSAGE_MAX];
};
/* Receives either. AGAIN and END as above; CORRUPT for anything else. */
int cw_shm_recv(int fd, struct cw_shm_packet *ret_packet, struct cw_err *err);

/* ---- client: the mapped slots of one worker; used by one thread, freed buffers by any ---- */
struct cw_shm_view;
/* with_writes: buffers may be written; what is written is seen by this process alone, and only until
 * the buffer is freed. */
struct cw_shm_view *cw_shm_view_new(bool with_writes) CW_MUST_CHECK;
/* Frees the view. A mapping lives until its last buffer is freed. */
void cw_shm_view_free(struct cw_shm_view *view);
/* Maps a slot, read-only or privately. Takes memfd. */
int cw_shm_view_add(struct cw_shm_view *view, uint64_t slot, size_t cap, int memfd,
                    struct cw_err *err);
/* Unmaps a slot that the worker has freed. */
void cw_shm_view_drop(struct cw_shm_view *view, uint64_t slot);
/* Makes a buffer on a slot. The thread that drops the last reference calls released(arg,
 * slot). NOT_FOUND: the slot is not mapped. */
typedef void cw_shm_released_fn(void *arg, uint64_t slot);
int cw_shm_view_buf(struct cw_shm_view *view, uint64_t slot, size_t bytes,
                    cw_shm_released_fn *released, void *arg, struct cw_buf **ret_buf,
                    struct cw_err *err);

/* Returns a text that is equal for processes that can reach each other's abstract sockets: boot id,
 * network namespace and user namespace. */
void cw_shm_host_id(char *ret_id, size_t cap);

#endif
