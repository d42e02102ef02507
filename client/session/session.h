/* SPDX-License-Identifier: Apache-2.0 */
/* A job's side of the conversation with the dispatcher (docs/protocol.md): one stream, opened
 * again for ever, over which go what was received and consumed, and come the workers to fetch
 * from. Loop thread. */
#ifndef CW_CLIENT_SESSION_H
#define CW_CLIENT_SESSION_H

#include "client/delivery/ledger.h"
#include "client/embedded/local_workers.h"
#include "graph/graph.h"
#include "wire/token.h"

struct cw_session_conf {
    struct cw_graph *graph;    /* one ref, taken */
    enum cw_identity identity; /* of its source files */
    char *name;                /* taken; NULL = anonymous */
    uint64_t seed, epochs, buffer_bytes, lease_items;
    uint32_t window, mode, consumers, consumer;
    char *autocache, *tenant, *autoscale, *autoplace; /* taken; NULL = the dispatcher's */
    uint32_t min_workers, max_workers;
    struct cw_local_workers_conf local;
    int priority;
    double weight, max_stall, client_price;
    bool unordered, skip_bad, at_most_once;
    void *token_bytes; /* taken; NULL = none */
    size_t token_n;
    struct cw_token token; /* the same, decoded */
};
/* Takes the parts of conf. Begins to talk at once. */
struct cw_session *cw_session_new(struct cachew_job *job,
                                  struct cw_session_conf *conf) CW_MUST_CHECK;
/* Says goodbye and frees itself; calls done(arg) when all is told (or a second has passed). */
void cw_session_close(struct cw_session *session, cw_loop_fn *done, void *arg);
/* The trainer took something: settles the book, returns credit, acknowledges. */
void cw_session_kicked(struct cw_session *session);

#endif
