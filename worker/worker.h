/* SPDX-License-Identifier: Apache-2.0 */
/* A worker: leases items from a dispatcher, computes them, hands outputs to clients. One loop
 * thread owns it all; exec threads compute; plans are opened on threads of their own (open.c). */
#ifndef CW_WORKER_WORKER_H
#define CW_WORKER_WORKER_H

#include "base/err.h"
#include "loop/loop.h"
#include "rpc/rpc.h"

struct cw_worker_state;
struct cw_worker_options {
    const char *dispatcher; /* "HOST:PORT" or "unix:/path" */
    const char *listen;     /* port 0 = any */
    const char *advertise;  /* what clients are told; NULL = the listen address */
    const char *only_job;   /* NULL = any */
    size_t threads;         /* 0 = CPUs of this process */
    double cpus;            /* CPU time that they may use, in seconds a second; 0 = no limit */
    /* bytes of items in hand and outputs not yet sent; 0 = a default from the RAM */
    uint64_t budget;
    uint64_t shm_limit; /* bytes of shared memory; 0 = the budget */
    /* bytes of the budget for the cache, if the dispatcher has one; 0 = a quarter */
    uint64_t cache_memory;
    /* bytes of items kept for other jobs of the same function; 0 = none, UINT64_MAX = a quarter
     * of the budget */
    uint64_t share_window;
    int64_t drain_limit_ms; /* 0 = 30 s */
    /* bytes of the source cache in memory; 0 = none, or its default where there is a directory
     * or a store */
    uint64_t source_memory;
    const char *source_dir;    /* its directory on a local disk; NULL = none */
    uint64_t source_dir_bytes; /* 0 = 10 GiB */
    bool no_shm;               /* never offered to clients */
};
/* Listens, begins to serve, and begins to reach the dispatcher. Options are copied. */
int cw_worker_new(struct cw_loop *loop, const struct cw_worker_options *options,
                  struct cw_worker_state **ret_worker, struct cw_err *err);
const char *cw_worker_address(const struct cw_worker_state *worker); /* advertised */
/* fn is called once when the dispatcher has told it to drain, and it has. */
void cw_worker_on_drained(struct cw_worker_state *worker, cw_loop_fn *fn, void *arg);
/* Takes no new leases, hands back what is not begun, serves the rest, then calls fn (once). */
void cw_worker_drain(struct cw_worker_state *worker, cw_loop_fn *fn, void *arg);
/* The same for a worker that nobody wants anything of any more: items are dropped, and only what
 * waits for the cache's store is written. */
void cw_worker_abandon(struct cw_worker_state *worker, cw_loop_fn *fn, void *arg);
/* Whether something waits to be written into the cache. */
bool cw_worker_is_caching(const struct cw_worker_state *worker);
/* Whether a plan is being opened, which cw_worker_free waits for and which may take minutes. */
bool cw_worker_is_opening(const struct cw_worker_state *worker);
/* Whether cw_worker_free would wait for what may never end: a plan being opened, a read of an
 * item, a write to a store. */
bool cw_worker_is_held_up(const struct cw_worker_state *worker);
int64_t cw_worker_drain_limit_ms(const struct cw_worker_state *worker);
/* Waits for the items being computed; runs the loop until calls and servers are closed. Accepts
 * NULL. */
void cw_worker_free(struct cw_worker_state *worker);

#endif
