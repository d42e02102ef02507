/* SPDX-License-Identifier: Apache-2.0 */
/* The data stream to one worker: opened again for as long as the dispatcher names the worker,
 * bounded by credit, through shared memory when both are on one host. Loop thread, except that
 * buffers may be freed anywhere. */
#ifndef CW_CLIENT_WORKER_STREAM_H
#define CW_CLIENT_WORKER_STREAM_H

#include <stdbool.h>
#include <stdint.h>

struct cw_link;
struct cw_session;

struct cw_link *cw_link_new(struct cw_session *session, uint64_t worker_id, const char *address,
                            const char *host_id, uint64_t limit);
/* No more callbacks; buffers that are out stay valid. Freed with the last reference. */
void cw_link_close(struct cw_link *link);
struct cw_link *cw_link_ref(struct cw_link *link);
void cw_link_unref(struct cw_link *link);
uint64_t cw_link_worker(const struct cw_link *link);
const char *cw_link_address(const struct cw_link *link);
bool cw_link_is_up(const struct cw_link *link);
/* Whether the dispatcher names the worker. One that it does not name (a dispatcher that has just
 * begun, a worker that drains) is listened to for as long as the stream lasts, and not called
 * again. */
void cw_link_set_listed(struct cw_link *link, bool listed);
bool cw_link_is_over(const struct cw_link *link); /* not named, and the stream has ended */
/* Bytes that may be on the way or buffered from this worker. */
void cw_link_set_limit(struct cw_link *link, uint64_t bytes);
/* An output of connection number `conn` left the buffer. */
void cw_link_give_back(struct cw_link *link, uint32_t conn, uint64_t cost);
/* Sends the credit and the slots that have gathered; small change is kept back unless `all`.
 * `held` bytes of the limit are in use otherwise. */
void cw_link_flush(struct cw_link *link, uint64_t held, bool all);
/* The dispatcher is there again: tells it what could not be told, if this worker was lost
 * meanwhile or is so still. */
void cw_link_retell(struct cw_link *link);
/* The trainer starves while the buffer is full of later outputs: lets a little more through, so
 * that what it waits for can come. */
void cw_link_overdraw(struct cw_link *link);

#endif
