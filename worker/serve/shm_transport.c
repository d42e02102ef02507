/* SPDX-License-Identifier: Apache-2.0 */
/* Shared memory as transport. A batch for a client of the same host stays where it was built
 * (compute/batch_alloc.c): the client maps the slot, and gets its number instead of bytes.
 *
 * A slot that was lent belongs to the client until it is released. If the client disconnects
 * without releasing it, its process may still read it, so that slot is never written again. */
#include "worker/serve/shm_transport.h"

#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/rng.h"
#include "wire/wire.h"
#include "worker/model/budget.h"

#define ANSWER_MS 2000
#define HANDSHAKES_MAX 64

/* a connection whose token has not arrived yet */
struct cw_handshake {
    struct cw_handshake *next;
    struct cw_worker_state *worker;
    struct cw_poll *poll;
    int fd;
};

static void handshake_end(struct cw_handshake *h)
{
    struct cw_handshake **at = &h->worker->shm.handshakes;
    while (*at != h)
        at = &(*at)->next;
    *at = h->next;
    h->worker->shm.handshakes_n--;
    cw_poll_free(h->poll);
    if (h->fd >= 0)
        close(h->fd);
    cw_mem_free(h);
}

static void on_token(void *arg)
{
    struct cw_handshake *h = arg;
    uint64_t token = 0;
    struct cw_err err = {0};
    int rc = cw_shm_recv_token(h->fd, &token, &err);
    if (rc == CW_E_AGAIN)
        return;
    if (rc != 0)
        cw_log_warn("worker", "%s", err.msg);
    for (struct cw_wclient *c = h->worker->clients; rc == 0 && c; c = c->next)
        if (c->shm_offered && c->shm_fd < 0 && c->shm_token == token) {
            c->shm_fd = h->fd;
            h->fd = -1;
            break;
        }
    handshake_end(h);
}

static void on_connection(void *arg)
{
    struct cw_worker_state *w = arg;
    for (;;) {
        int fd = -1;
        struct cw_err err = {0};
        int rc = cw_shm_accept(w->shm.listen_fd, &fd, &err);
        if (rc == CW_E_AGAIN)
            return;
        if (rc != 0) {
            cw_log_warn("worker", "%s", err.msg);
            return;
        }
        struct cw_handshake *h = CW_NEW(struct cw_handshake);
        h->worker = w;
        h->fd = fd;
        h->next = w->shm.handshakes;
        w->shm.handshakes = h;
        w->shm.handshakes_n++;
        h->poll = cw_poll_new(w->loop, fd, on_token, h, &err);
        if (!h->poll || w->shm.handshakes_n > HANDSHAKES_MAX)
            handshake_end(h);
        else
            on_token(h); /* the token has usually arrived already */
    }
}

void cw_shm_transport_start(struct cw_worker_state *w, bool offered)
{
    struct cw_err err = {0};
    w->shm.listen_fd = -1;
    if (!offered)
        return;
    if (cw_shm_listen(w->shm.name, sizeof(w->shm.name), &w->shm.listen_fd, &err) == 0) {
        w->shm.poll = cw_poll_new(w->loop, w->shm.listen_fd, on_connection, w, &err);
        if (w->shm.poll)
            return;
        close(w->shm.listen_fd);
        w->shm.listen_fd = -1;
    }
    cw_log_warn("worker", "no shared memory for clients: %s", err.msg);
}

void cw_shm_transport_stop(struct cw_worker_state *w)
{
    while (w->shm.handshakes)
        handshake_end(w->shm.handshakes);
    cw_poll_free(w->shm.poll);
    w->shm.poll = NULL;
    if (w->shm.listen_fd >= 0)
        close(w->shm.listen_fd);
    w->shm.listen_fd = -1;
}

void cw_shm_transport_offer(struct cw_wclient *c, Cachew__V1__DataWelcome *welcome)
{
    if (c->worker->shm.listen_fd < 0)
        return;
    c->shm_offered = true;
    c->shm_offered_ms = cw_clock_ms();
    c->shm_token = cw_rng_process_id();
    welcome->shm_name = c->worker->shm.name;
    welcome->shm_token = c->shm_token;
}

void cw_shm_transport_answer(struct cw_wclient *c, const Cachew__V1__ShmReady *ready)
{
    if (!c->shm_offered)
        return;
    on_connection(c->worker); /* the client connects before it sends the answer */
    c->shm_answered = true;
    c->shm_ok = ready->ok && c->shm_fd >= 0;
    c->shm_outputs = ready->outputs;
    if (!c->shm_ok)
        cw_log_debug("worker", "job=%s consumer %u does without shared memory", c->job_id,
                     c->consumer);
}

bool cw_shm_transport_is_pending(const struct cw_wclient *c)
{
    return c->shm_offered && !c->shm_answered && cw_clock_ms() - c->shm_offered_ms < ANSWER_MS;
}

static void give_up(struct cw_wclient *c, const struct cw_err *err)
{
    /* A client that leaves closes the socket before its stream. */
    cw_log(err->code == CW_E_UNAVAILABLE ? CW_LOG_DEBUG : CW_LOG_WARN, "worker",
           "job=%s consumer %u continues without shared memory: %s", c->job_id, c->consumer,
           err->msg);
    c->shm_ok = false;
}

static bool send_descriptor(struct cw_wclient *c, const struct cw_buf *buf)
{
    struct cw_err err = {0};
    size_t cap = 0;
    int memfd = cw_shm_pool_fd(c->worker->pool, buf, &cap);
    int rc = cw_shm_send_fd(c->shm_fd, buf->tag, cap, memfd, &err);
    if (rc == 0) {
        cw_map_set(&c->slots_known, buf->tag, c);
        return true;
    }
    if (rc != CW_E_AGAIN)
        give_up(c, &err);
    return false;
}

/* Counts the clients to which a slot is lent. */
static void note_held(struct cw_worker_state *w, const struct cw_buf *buf, intptr_t change)
{
    intptr_t before = (intptr_t)cw_map_get(&w->shm.lent, buf->tag), now = before + change;
    if (before == 0)
        w->shm.lent_bytes += buf->cap;
    if (now != 0) {
        cw_map_set(&w->shm.lent, buf->tag, (void *)now);
        return;
    }
    (void)cw_map_remove(&w->shm.lent, buf->tag);
    w->shm.lent_bytes -= buf->cap;
}

/* Whether another slot may not be lent. Lent slots cannot be taken back, so half of the budget is
 * kept for other outputs; beyond that, bytes are sent instead. */
static bool is_too_much(const struct cw_worker_state *w, const struct cw_buf *buf)
{
    return w->shm.lent_bytes > 0 && w->shm.lent_bytes + buf->cap > cw_budget(w) / 2;
}

uint64_t cw_shm_transport_lend(struct cw_wclient *c, struct cw_batch *batch)
{
    struct cw_buf *buf = batch->buf;
    if (!c->shm_ok || !buf || buf->tag == 0 || cw_map_get(&c->slots_held, buf->tag) ||
        is_too_much(c->worker, buf))
        return 0;
    if (!cw_map_get(&c->slots_known, buf->tag) && !send_descriptor(c, buf))
        return 0;
    cw_map_set(&c->slots_held, buf->tag, cw_buf_ref(buf));
    note_held(c->worker, buf, 1);
    return buf->tag;
}

bool cw_shm_transport_send(struct cw_wclient *c, struct cw_wire_outbox *box)
{
    size_t n = 0;
    const void *message = c->shm_ok && c->shm_outputs ? cw_wire_outbox_message(box, &n) : NULL;
    if (!message || n > CW_SHM_MESSAGE_MAX)
        return false;
    struct cw_err err = {0};
    int rc = cw_shm_send_message(c->shm_fd, message, n, &err);
    if (rc == 0)
        cw_wire_outbox_free(box);
    else if (rc != CW_E_AGAIN)
        give_up(c, &err);
    return rc == 0;
}

void cw_shm_transport_release(struct cw_wclient *c, uint64_t slot)
{
    struct cw_buf *buf = cw_map_remove(&c->slots_held, slot);
    if (!buf)
        return;
    note_held(c->worker, buf, -1);
    cw_buf_unref(buf);
    cw_memory_freed(c->worker);
}

void cw_shm_transport_end(struct cw_wclient *c)
{
    uint64_t slot;
    void *buf;
    for (size_t i = 0; cw_map_next(&c->slots_held, &i, &slot, &buf);) {
        cw_shm_pool_retire(c->worker->pool, buf);
        note_held(c->worker, buf, -1);
        cw_buf_unref(buf);
    }
    cw_map_fini(&c->slots_held);
    cw_map_fini(&c->slots_known);
    if (c->shm_fd >= 0)
        close(c->shm_fd);
    c->shm_fd = -1;
    c->shm_ok = false;
}

static void send_freed(struct cw_wclient *c, const uint64_t *gone, size_t n)
{
    uint64_t known[64];
    size_t known_n = 0;
    for (size_t i = 0; i < n; i++)
        if (cw_map_remove(&c->slots_known, gone[i]))
            known[known_n++] = gone[i];
    if (known_n == 0 || !c->shm_ok)
        return;
    Cachew__V1__SlotGone slots = CACHEW__V1__SLOT_GONE__INIT;
    slots.slots = known;
    slots.n_slots = known_n;
    Cachew__V1__DataMessage m = CACHEW__V1__DATA_MESSAGE__INIT;
    m.slots_gone = &slots;
    cw_wire_send(c->stream, &m.base);
}

void cw_shm_transport_notify_freed(struct cw_worker_state *w)
{
    uint64_t gone[64];
    size_t n;
    while ((n = cw_shm_pool_take_freed(w->pool, gone, CW_ARRAY_LEN(gone))) > 0)
        for (struct cw_wclient *c = w->clients; c; c = c->next)
            send_freed(c, gone, n);
}
