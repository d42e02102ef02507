/* SPDX-License-Identifier: Apache-2.0 */
/* The session of a job with the dispatcher (docs/protocol.md): one stream, which is opened again
 * and again. On it the client reports what it has received and consumed, and the dispatcher lists
 * the workers to fetch from. The session owns the ledger and the streams to workers. Loop
 * thread. */
#ifndef CW_CLIENT_SESSION_SESSION_H
#define CW_CLIENT_SESSION_SESSION_H

#include "client/delivery/ledger.h"
#include "client/embedded/local_workers.h"
#include "graph/graph.h"
#include "wire/token.h"

/* The options of a job, and the pipeline. */
struct cw_session_conf {
    struct cw_graph *graph;    /* The pipeline's graph. The session takes this reference. */
    enum cw_identity identity; /* The identity by which source files are told from others. */
    char *name; /* The name, which the session takes; NULL if the job is anonymous. */
    uint64_t seed, epochs, buffer_bytes, lease_items;
    uint32_t window, mode, consumers, consumer;
    /* The session takes these texts; NULL stands for the dispatcher's own choice. */
    char *autocache, *tenant, *cache, *autoscale, *autoplace, *optimize, *plan, *profile;
    bool relaxed, apart;
    uint32_t min_workers, max_workers;
    struct cw_local_workers_conf local;
    int priority;
    double weight, max_stall, client_price;
    bool unordered, skip_bad, at_most_once;
    void *token_bytes; /* The token, which the session takes; NULL if there is none. */
    size_t token_n;
    struct cw_token token; /* The token of token_bytes, decoded. */
};
/* Makes a session and connects it. It takes what conf owns. */
struct cw_session *cw_session_new(struct cachew_job *job,
                                  struct cw_session_conf *conf) CW_MUST_CHECK;
/* Sends the last acknowledgement and a goodbye, and frees the session. Calls done(arg) when they
 * are sent, or when a second has passed. */
void cw_session_close(struct cw_session *session, cw_loop_fn *done, void *arg);
/* The trainer has woken the loop (cw_client_job_kick): settles the ledger, grants credit, and
 * acknowledges. */
void cw_session_kicked(struct cw_session *session);

#endif
