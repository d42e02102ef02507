/* SPDX-License-Identifier: Apache-2.0 */
/* Batch buffers in shared memory between processes on one host: memfds mapped once on both sides
 * (docs/performance.md: built and read in place). The worker builds batches in slots of a pool;
 * a client of the same host gets a slot's memfd once over an abstract unix socket, and then only
 * slot numbers. No names in any file system, so nothing is left after any kill. */
#ifndef CW_SHM_SHM_H
#define CW_SHM_SHM_H

#include <stdbool.h>
#include "base/buf.h"
#include "base/err.h"

/* ---- worker: pool of slots. Any thread. ---- */
struct cw_shm_pool;
/* limit: bytes of all slots; idle slots are freed when another size is needed and the limit, or
 * what was out at one time, is near. The number of slots is limited too, by the descriptors that
 * the process may open. */
struct cw_shm_pool *cw_shm_pool_new(size_t limit_bytes) CW_MUST_CHECK;
/* buffers that are out stay valid; the last one frees the pool */
void cw_shm_pool_free(struct cw_shm_pool *pool);
/* A buffer in a slot; buf->tag is the slot's id (never 0). The last unref gives the slot back.
 * NULL when over the limit. */
struct cw_buf *cw_shm_pool_get(struct cw_shm_pool *pool, size_t bytes,
                               struct cw_err *err) CW_MUST_CHECK;
/* borrowed */
int cw_shm_pool_fd(struct cw_shm_pool *pool, const struct cw_buf *buf, size_t *ret_cap);
/* A client that may still read this slot is gone: the slot is not used again (its pages go when
 * both sides unmap). */
void cw_shm_pool_retire(struct cw_shm_pool *pool, const struct cw_buf *buf);
size_t cw_shm_pool_bytes(struct cw_shm_pool *pool);
/* Frees idle slots until all slots together hold at most `bytes`, or none is idle. */
void cw_shm_pool_trim(struct cw_shm_pool *pool, size_t bytes);
/* Ids of slots freed since the last call, at most cap of them (call again when it gives cap):
 * clients that know them should unmap. */
size_t cw_shm_pool_take_gone(struct cw_shm_pool *pool, uint64_t *ret_slots, size_t cap);

/* ---- passing descriptors: one connected unix socket per client and worker ---- */
/* Worker: listens on a random abstract address; ret_name (for the client) is a printable text. */
int cw_shm_listen(char *ret_name, size_t cap, int *ret_fd, struct cw_err *err);
/* AGAIN when none is waiting. Peers of another user are turned away. The new socket does not
 * block. */
int cw_shm_accept(int listen_fd, int *ret_fd, struct cw_err *err);
/* What the client sent first: AGAIN until it is there, END when the client left, CORRUPT for
 * anything else. */
int cw_shm_recv_token(int fd, uint64_t *ret_token, struct cw_err *err);
/* AGAIN when the client has not read what was sent before. */
int cw_shm_send_fd(int fd, uint64_t slot, size_t cap, int memfd, struct cw_err *err);
/* Client: connects and sends the token. The socket does not block. */
int cw_shm_connect(const char *name, uint64_t token, int *ret_fd, struct cw_err *err);
/* AGAIN, or END when the worker is gone. A slot's descriptor is sent before the first output
 * that names the slot, but on its own way: wait for it (poll) when the output came first. */
int cw_shm_recv_fd(int fd, uint64_t *ret_slot, size_t *ret_cap, int *ret_memfd, struct cw_err *err);

/* ---- client: mapped slots of one worker. One thread; buffers made may be freed anywhere. ---- */
struct cw_shm_view;
struct cw_shm_view *cw_shm_view_new(void) CW_MUST_CHECK;
void cw_shm_view_free(struct cw_shm_view *view); /* mappings live until the last buffer is gone */
int cw_shm_view_add(struct cw_shm_view *view, uint64_t slot, size_t cap, int memfd /* taken */,
                    struct cw_err *err);
void cw_shm_view_drop(struct cw_shm_view *view, uint64_t slot); /* the worker freed it */
/* A read-only buffer on a slot; released(arg, slot) is called by whoever unrefs it last.
 * NOT_FOUND: no such slot. */
typedef void cw_shm_released_fn(void *arg, uint64_t slot);
int cw_shm_view_buf(struct cw_shm_view *view, uint64_t slot, size_t bytes,
                    cw_shm_released_fn *released, void *arg, struct cw_buf **ret_buf,
                    struct cw_err *err);

/* Equal for processes that can reach each other's abstract sockets: boot id plus network and
 * user namespace. */
void cw_shm_host_id(char *ret_id, size_t cap);

#endif
