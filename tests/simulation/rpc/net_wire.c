/* SPDX-License-Identifier: Apache-2.0 */
/* Connections and their pipes: making them, what passes, and how they end. One event is on its
 * way for each pipe that is not empty: it delivers what is due, in the receiving actor. */
#include "simulation/rpc/net_int.h"

#include <stdio.h>
#include <string.h>

#include "base/compiler.h"

#define WINDOW_MIN ((size_t)64 << 10)
#define HEAD_BYTES 64 /* what a piece takes on the wire besides what it carries */

static size_t size_of(const struct net_piece *piece)
{
    return HEAD_BYTES + (piece->kind == NET_DATA ? piece->n : 0);
}

/* ---- pipes ---- */

static struct net_piece *take_head(struct net_end *end)
{
    struct net_piece *piece = end->head;
    end->head = piece->next;
    if (!end->head)
        end->tail = &end->head;
    end->in_pipe -= size_of(piece);
    if (piece->kind == NET_DATA && piece->last)
        end->messages--;
    piece->next = NULL;
    return piece;
}

static void drop_pipe(struct net_end *end)
{
    while (end->head)
        net_piece_free(take_head(end));
}

static void drop_tail(struct net_end *end, size_t keep)
{
    struct net_piece **at = &end->head;
    while (keep-- > 0)
        at = &(*at)->next;
    struct net_piece *piece = *at;
    *at = NULL;
    end->tail = at;
    while (piece) {
        struct net_piece *next = piece->next;
        end->in_pipe -= size_of(piece);
        if (piece->kind == NET_DATA && piece->last)
            end->messages--;
        net_piece_free(piece);
        piece = next;
    }
}

static void unlink_conn(struct net_conn *conn)
{
    *conn->prev = conn->next;
    if (conn->next)
        conn->next->prev = conn->prev;
    else
        net_state()->conns_tail = conn->prev;
}

/* It is no more when nobody holds an end and no event comes. */
static void maybe_free(struct net_conn *conn)
{
    struct net_end *a = &conn->end[0], *b = &conn->end[1];
    if (!a->closed || !b->closed || conn->events > 0)
        return;
    unlink_conn(conn);
    drop_pipe(a);
    drop_pipe(b);
    sim_world_free(conn);
}

static void event_done(struct net_conn *conn)
{
    conn->events--;
    maybe_free(conn);
}

static void arm(struct net_end *end);
static void put(struct net_end *end, struct net_piece *piece);

/* The host has come up again and knows of no such connection: it says so. */
static void answer_reset(struct net_end *lost)
{
    struct net_piece *piece = net_piece_new(NET_RESET, 0);
    net_piece_set_text(piece, "Connection reset by peer");
    put(lost, piece);
}

static void hand_over(struct net_end *to, struct net_piece *piece)
{
    bool is_end = piece->kind == NET_RESET || piece->kind == NET_FIN;
    if (to->lost) {
        if (!is_end && !to->peer->closed)
            answer_reset(to);
        net_piece_free(piece);
        to->closed = true;
        return;
    }
    if (to->owner && !to->closed)
        to->on_piece(to->owner, piece);
    net_piece_free(piece);
    if (is_end) { /* whoever owned it has been told */
        to->owner = NULL;
        to->closed = true;
    }
}

static void on_room(void *arg)
{
    struct net_end *end = arg;
    end->room_told = false;
    if (end->owner && !end->closed && end->wants_room && end->in_pipe < end->conn->window) {
        end->wants_room = false;
        end->on_room(end->owner);
    }
    event_done(end->conn);
}

static void tell_room(struct net_end *end)
{
    if (!end->wants_room || end->room_told || end->closed || end->in_pipe > end->conn->window / 2)
        return;
    end->room_told = true;
    end->conn->events++;
    sim_at(end->actor, sim_now_ns(), on_room, end);
}

/* In the receiving actor. `end` is the sender's. */
static void on_due(void *arg)
{
    struct net_end *end = arg, *to = end->peer;
    end->armed = false;
    end->delivering = true;
    while (end->head && end->head->due <= sim_now_ns() && !to->closed) {
        if (net_is_blocked(end->host, to->host)) {
            if (end->waits_since == 0)
                end->waits_since = sim_now_ns();
            break;
        }
        end->waits_since = 0;
        hand_over(to, take_head(end));
    }
    if (to->closed)
        drop_pipe(end);
    end->delivering = false;
    tell_room(end);
    arm(end);
    event_done(end->conn);
}

static void arm(struct net_end *end)
{
    if (end->armed || !end->head || end->waits_since)
        return;
    int64_t when = end->head->due;
    end->armed = true;
    end->conn->events++;
    sim_at(end->peer->actor, when > sim_now_ns() ? when : sim_now_ns(), on_due, end);
}

static void put(struct net_end *end, struct net_piece *piece)
{
    int64_t due = net_transit_end(end->host, end->peer->host, size_of(piece));
    piece->due = end->last_due = due > end->last_due ? due : end->last_due;
    piece->next = NULL;
    *end->tail = piece;
    end->tail = &piece->next;
    end->in_pipe += size_of(piece);
    if (piece->kind == NET_DATA && piece->last)
        end->messages++;
    if (end->conn->reached)
        arm(end);
}

void net_send(struct net_end *end, struct net_piece *piece)
{
    if (end->closed || end->peer->closed || end->conn->cut)
        net_piece_free(piece);
    else
        put(end, piece);
}

size_t net_room(struct net_end *end)
{
    if (end->in_pipe < end->conn->window)
        return end->conn->window - end->in_pipe;
    end->wants_room = true;
    return 0;
}

void net_retry_all(void)
{
    for (struct net_conn *conn = net_first_conn(); conn; conn = conn->next)
        for (int i = 0; i < 2; i++) {
            struct net_end *end = &conn->end[i];
            if (end->waits_since == 0 || net_is_blocked(end->host, end->peer->host))
                continue;
            /* TCP sends again after pauses that grow with the time that it has waited. */
            int64_t waited = sim_now_ns() - end->waits_since;
            int64_t most = waited < 20 * NET_S ? waited : 20 * NET_S;
            end->waits_since = 0;
            if (!end->head)
                continue;
            end->head->due = sim_now_ns() + (int64_t)net_random((uint64_t)most + 1);
            if (end->last_due < end->head->due)
                end->last_due = end->head->due;
            arm(end);
        }
}

/* ---- making ---- */

static void init_end(struct net_conn *conn, int i, struct net_host *host, struct sim_actor *actor)
{
    struct net_end *end = &conn->end[i];
    end->conn = conn;
    end->peer = &conn->end[1 - i];
    end->host = host;
    end->actor = actor;
    end->tail = &end->head;
}

static void refuse(struct net_conn *conn, const char *why)
{
    struct net_piece *piece = net_piece_new(NET_RESET, 0);
    net_piece_set_text(piece, why);
    conn->reached = true;
    drop_pipe(&conn->end[0]);
    put(&conn->end[1], piece);
    conn->end[1].closed = true;
}

/* In the server's actor: its kernel has taken the connection before. */
static void on_accept(void *arg)
{
    struct net_conn *conn = arg;
    struct net_end *end = &conn->end[1];
    struct net_listener *listener = net_find_listener(end->host, conn->path, conn->port);
    conn->accepting = false;
    if (!end->closed && !conn->end[0].closed) {
        if (listener && listener->actor == end->actor)
            listener->accept(listener->arg, end);
        else
            refuse(conn, "Connection reset by peer");
        arm(&conn->end[0]);
    } else if (!end->closed) { /* the client has given up while the server's process was stopped */
        drop_pipe(&conn->end[0]);
        end->closed = true;
    }
    event_done(conn);
}

/* At the server's host. */
static void on_knock(void *arg)
{
    struct net_conn *conn = arg;
    struct net_end *client = &conn->end[0], *server = &conn->end[1];
    if (!client->closed && net_is_blocked(client->host, server->host)) {
        sim_at(NULL, sim_now_ns() + NET_S, on_knock, conn); /* it is sent again after a while */
        return;
    }
    if (!client->closed) {
        struct net_listener *listener = net_find_listener(server->host, conn->path, conn->port);
        if (!listener) {
            refuse(conn, conn->port ? "Connection refused" : "No such file or directory");
        } else {
            conn->reached = true;
            server->actor = listener->actor;
            conn->events++;
            conn->accepting = true;
            sim_at(server->actor, sim_now_ns(), on_accept, conn);
        }
    } else {
        server->closed = true;
    }
    event_done(conn);
}

struct net_end *net_connect(const char *host, const char *path, uint16_t port, void *owner,
                            void (*on_piece)(void *, struct net_piece *),
                            void (*on_room_fn)(void *))
{
    struct net_conn *conn = sim_world_alloc(sizeof *conn);
    struct net_host *from = net_host_of(sim_self());
    struct net_host *to = host ? net_host_get(host) : from;
    *conn = (struct net_conn){.port = port};
    conn->window = WINDOW_MIN << net_random(5);
    conn->stream_window = WINDOW_MIN << net_random(7);
    snprintf(conn->path, sizeof conn->path, "%s", path);
    init_end(conn, 0, from, sim_self());
    init_end(conn, 1, to, NULL);
    struct net_end *client = &conn->end[0], *server = &conn->end[1];
    client->owner = owner;
    client->on_piece = on_piece;
    client->on_room = on_room_fn;
    if (port) {
        if (++from->next_port < 32768)
            from->next_port = 32768;
        const char *mine = host ? from->name : NET_LOOPBACK;
        snprintf(client->name, sizeof client->name, "ipv4:%s:%u", mine, from->next_port);
        snprintf(server->name, sizeof server->name, "ipv4:%s:%u", host ? host : mine, port);
    } else {
        snprintf(client->name, sizeof client->name, "unix:");
        snprintf(server->name, sizeof server->name, "unix:%s", path);
    }
    net_know_self();
    struct net *net = net_state();
    conn->prev = net->conns_tail;
    *net->conns_tail = conn;
    net->conns_tail = &conn->next;
    conn->events++;
    sim_at(NULL, net_transit_end(from, to, HEAD_BYTES), on_knock, conn);
    return client;
}

/* ---- ending ---- */

void net_close(struct net_end *end)
{
    struct net_conn *conn = end->conn;
    if (end->closed)
        return;
    end->owner = NULL;
    if (!end->peer->closed && conn->reached)
        put(end, net_piece_new(NET_FIN, 0));
    end->closed = true;
    drop_pipe(end->peer);
    if (!conn->reached)
        end->peer->closed = true;
    maybe_free(conn);
}

/* Its host has crashed: it says nothing, and is only found out (lost) when the host is up again and
 * hears from the other end. What is on its way there waits for that. */
static void lose(struct net_end *end)
{
    struct net_end *peer = end->peer;
    end->owner = NULL;
    end->actor = NULL;
    end->lost = true;
    drop_pipe(end);
    if (peer->closed && !peer->head)
        end->closed = true;
    if (peer->lost)
        end->closed = peer->closed = true;
    else
        arm(peer);
}

/* What had left the end arrives up to a point, then the other end hears that it is over. */
static void cut_pipe(struct net_end *end, const char *why)
{
    size_t n = 0;
    for (const struct net_piece *piece = end->head; piece; piece = piece->next)
        n++;
    drop_tail(end, (size_t)net_random(n + 1));
    struct net_piece *piece = net_piece_new(NET_RESET, 0);
    net_piece_set_text(piece, why);
    put(end, piece);
}

void net_cut_conn(struct net_conn *conn)
{
    if (!net_conn_is_up(conn))
        return;
    conn->cut = true;
    for (int i = 0; i < 2; i++)
        if (!conn->end[i].peer->closed)
            cut_pipe(&conn->end[i], "Connection reset by peer");
}

static void forget_event(struct net_conn *conn, bool *is_coming)
{
    conn->events -= *is_coming;
    *is_coming = false;
}

static void end_of(struct net_end *end)
{
    struct net_conn *conn = end->conn;
    bool was_closed = end->closed;
    forget_event(conn, &end->peer->armed);
    forget_event(conn, &end->peer->delivering);
    forget_event(conn, &end->room_told);
    if (end == &conn->end[1])
        forget_event(conn, &conn->accepting);
    if (!was_closed && conn->reached && end->host->down && !conn->cut) {
        lose(end);
        return;
    }
    end->owner = NULL;
    end->closed = true;
    drop_pipe(end->peer);
    if (was_closed)
        return;
    if (!conn->reached)
        end->peer->closed = true;
    else if (!end->peer->closed && !conn->cut)
        cut_pipe(end, "Connection reset by peer");
}

/* The kernel of an actor's host closes what it had open. */
void net_on_death(struct sim_actor *actor)
{
    struct net_conn *next;
    net_unlisten_all(actor);
    for (struct net_conn *conn = net_first_conn(); conn; conn = next) {
        next = conn->next;
        for (int i = 0; i < 2; i++)
            if (conn->end[i].actor == actor)
                end_of(&conn->end[i]);
        maybe_free(conn);
    }
}

/* ---- looking ---- */

void net_unread(struct net_end *end, int64_t more)
{
    end->unread = (size_t)((int64_t)end->unread + more);
    sim_held_add(end->actor, SIM_HELD_MESSAGE, more);
}

struct net_conn *net_first_conn(void)
{
    return net_state()->conns;
}

bool net_conn_is_up(const struct net_conn *conn)
{
    const struct net_end *a = &conn->end[0], *b = &conn->end[1];
    return conn->reached && !conn->cut && !a->closed && !b->closed && !a->lost && !b->lost;
}

size_t net_connections(void)
{
    size_t n = 0;
    for (const struct net_conn *conn = net_first_conn(); conn; conn = conn->next)
        n += net_conn_is_up(conn);
    return n;
}

struct net_held net_held(const struct sim_actor *actor)
{
    struct net_held held = {0};
    held.unread = (size_t)sim_held(actor, SIM_HELD_MESSAGE);
    for (const struct net_conn *conn = net_first_conn(); conn; conn = conn->next)
        for (int i = 0; i < 2; i++)
            if (conn->end[i].actor == actor) {
                held.unread += conn->end[1 - i].messages;
                held.unsent += conn->end[i].messages;
            }
    return held;
}
