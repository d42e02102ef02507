/* SPDX-License-Identifier: Apache-2.0 */
/* A worker: it gets leases of items from a dispatcher, computes them, and sends outputs to clients.
 * One loop thread owns its state; exec threads compute; plans are opened on threads of their own
 * (job/plan_loader.h). All functions are called on the loop thread. */
#ifndef CW_WORKER_WORKER_H
#define CW_WORKER_WORKER_H

#include "base/args.h"
#include "base/err.h"
#include "loop/loop.h"
#include "rpc/rpc.h"
#include "worker/model/death.h"

struct cw_worker_state;
struct cw_worker_options {
    const char *dispatcher; /* "HOST:PORT" or "unix:/path" */
    const char *listen;     /* port 0: any free port */
    const char *advertise;  /* the address to which clients connect; NULL: the listen address */
    /* The host of that address alone, with the port at which the worker listens; NULL: as above. */
    const char *advertise_host;
    const char *only_job; /* id of the only job that it serves; NULL: any job */
    size_t threads;       /* 0: the CPUs that this process may use */
    /* Limit of the threads' CPU time, in seconds per second; 0: no limit. */
    double cpus;
    /* Bytes of items in progress and of outputs that are not sent yet; 0: a default derived from
     * the RAM. */
    uint64_t budget;
    uint64_t shm_limit; /* bytes of shared memory; 0: as many as the budget */
    /* Bytes of the budget for the cache, if the dispatcher has a cache store; 0: a quarter. */
    uint64_t cache_memory;
    /* Bytes of batches that are kept for other jobs of the same function; 0: none, UINT64_MAX: a
     * quarter of the budget. */
    uint64_t share_window;
    int64_t drain_limit_ms;     /* 0: 30 s */
    const char *trace_url;      /* where traces go (trace/trace.h); NULL: nowhere */
    uint64_t trace_every;       /* one item of so many is traced */
    const char *metrics_listen; /* where pages are served over HTTP; NULL: nowhere */
    /* Bytes of the source cache in memory; 0: none, or its default if it has a directory or a
     * store. */
    uint64_t source_memory;
    uint64_t
        read_ahead; /* requests to servers that are under way ahead of need; UINT64_MAX: a default */
    const char *source_dir;    /* directory of the source cache on a local disk; NULL: none */
    uint64_t source_dir_bytes; /* quota of that directory; 0: 10 GiB */
    unsigned index_requests;   /* files whose indices are made at a time; 0: 16 */
    /* The token that is shown to a dispatcher that asks for one, or a file that has it; NULL: none. */
    const char *token, *token_file;
    struct cw_tls_options tls; /* with peers that are not at a unix socket */
    bool insecure;             /* jobs without a secret are served to other hosts, too */
    bool no_shm;               /* shared memory is not offered to clients */
    /* Beginnings of the URLs of stores that the dispatcher may name. Their texts are not copied. */
    struct cw_arg_list store_roots;
    /* Definitions of the operators of its plugins (ops/foreign.h), as JSON; not copied. */
    char *const *operators;
    size_t operators_n;
    /* What the process died of whose place this one takes; not copied. NULL: it takes nobody's. */
    const struct cw_worker_death *died;
};
/* Makes a worker that listens, serves, and tries to reach the dispatcher. Options are copied. */
int cw_worker_new(struct cw_loop *loop, const struct cw_worker_options *options,
                  struct cw_worker_state **ret_worker, struct cw_err *err);
/* Returns the address that is advertised. */
const char *cw_worker_address(const struct cw_worker_state *worker);
/* Sets the function that is called once when a drain, which the dispatcher has requested, is
 * done. */
void cw_worker_on_drained(struct cw_worker_state *worker, cw_loop_fn *fn, void *arg);
/* Takes no new leases, hands back what is not begun, serves the rest, then calls fn once. */
void cw_worker_drain(struct cw_worker_state *worker, cw_loop_fn *fn, void *arg);
/* Drains a worker whose outputs nobody wants any more: drops all items, and waits only for records
 * that are being written to the cache's store. */
void cw_worker_abandon(struct cw_worker_state *worker, cw_loop_fn *fn, void *arg);
/* Whether records wait to be written to the cache. */
bool cw_worker_is_caching(const struct cw_worker_state *worker);
/* Whether a plan is being opened: cw_worker_free waits for that, which may take minutes. */
bool cw_worker_is_opening(const struct cw_worker_state *worker);
/* Whether cw_worker_free would wait for something that may never end: a plan being opened, a
 * read of an item, a write to a store. A program that leaves ends then without freeing it: a store that
 * was left must not be written once the dispatcher sees that the worker is gone, since it deletes there. */
bool cw_worker_is_held_up(const struct cw_worker_state *worker);
int64_t cw_worker_drain_limit_ms(const struct cw_worker_state *worker);
/* Frees the worker. Waits for the items that are being computed, and runs the loop until calls and
 * servers are closed. Accepts NULL. */
void cw_worker_free(struct cw_worker_state *worker);

#endif
