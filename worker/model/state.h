/* SPDX-License-Identifier: Apache-2.0 */
/* The state of a worker. Everything belongs to the loop thread, except the fields that name
 * another owner. The functions are declared by the header of each file; docs/architecture.md says
 * which module may call which. */
#ifndef CW_WORKER_MODEL_STATE_H
#define CW_WORKER_MODEL_STATE_H

#include <stdatomic.h>
#include <stdbool.h>

#include "base/args.h"
#include "base/backoff.h"
#include "base/hostload.h"
#include "base/map.h"
#include "cache/source/block_cache.h"
#include "loop/loop.h"
#include "rpc/rpc.h"
#include "shm/shm.h"
#include "worker/model/cache_state.h"
#include "worker/model/client.h"
#include "worker/model/death.h"
#include "worker/model/job.h"

#define CW_WORKER_ADDRESS_BYTES 300

struct cw_loading;
struct cw_prepared;
struct cw_handshake;
struct cw_wprobes;

/* The session with the dispatcher (session/dispatcher_session.c). */
struct cw_wsession {
    struct cw_channel *channel;
    struct cw_stream *stream; /* NULL while there is no connection */
    bool attached;            /* the dispatcher has welcomed this worker on this stream */
    uint64_t generation;      /* the highest generation of a dispatcher seen so far */
    struct cw_backoff backoff;
    struct cw_timer *retry;
    bool logged_unreachable; /* the reason was logged, which happens once until the next welcome */
    /* Called if the dispatcher does not read what is sent: ends the session, and connects again
     * later. */
    void (*overflow)(struct cw_worker_state *w);
};

#define CW_BEAT_MIN_MS ((int64_t)20)
/* When Progress is sent, and what was measured for it (message/report_timer.c and
 * session/report.c). */
struct cw_wreport {
    struct cw_timer *beat;         /* fires at each heartbeat */
    struct cw_timer *soon;         /* fires when a report is due before the next heartbeat */
    int64_t soon_ms;               /* when `soon` fires, if it is active */
    int64_t beat_ms, idle_beat_ms; /* as the dispatcher has said; at least CW_BEAT_MIN_MS */
    int64_t gather_ms;             /* the longest time that completed items wait to be reported */
    bool computed;                 /* items were finished since node counters were last reported */
    bool counts_due; /* node counters are to be reported next: the first ones of a job */
    int64_t reported_ms, counts_ms;
    int64_t cpu_at_ms, cpu_ns; /* when CPU time was last measured, and its value then */
    double cpu_share, cpu_cores;
    struct cw_hostload host;
};

/* The jobs of this worker, by id, and as a list for serving them in turn. */
struct cw_wjobs {
    struct cw_strmap by_id;
    struct cw_wjob **list;
    size_t n, cap;
    size_t next; /* the job that is asked first for an item to begin */
};

/* Plans being opened (job/plan_loader.c). */
struct cw_wloader {
    uint64_t serial;
    struct cw_loading *running; /* list of the loadings that have a thread */
    size_t running_n;
    struct cw_loading *waiting; /* list of those that wait, oldest first */
    struct cw_timer *timer; /* fires when a loading has become slow, so that another may start */
    struct cw_timer *orphans_timer;
    struct cw_prepared *prepared; /* a few plans; NULL: none yet */
    size_t prepared_next;         /* the entry that is replaced next */
    /* Has a loading begin when there is room (job/plan_loader.c). */
    void (*begin)(struct cw_worker_state *w, struct cw_loading *loading);
    /* Called when a plan of the job was opened (the callee takes it), or with NULL and the
     * error. */
    void (*opened)(struct cw_wjob *job, struct cw_plan *plan, const struct cw_err *error);
    /* The same for a plan in another order (job/job_plan.c). */
    void (*opened_beside)(struct cw_wjob *job, struct cw_plan *plan, const struct cw_err *error);
};

/* The memory of items, and the reaction to a system that gives less than the budget
 * (compute/memory_short.c). */
struct cw_wmemory {
    size_t bytes;   /* bytes of tasks and queued outputs of all jobs */
    size_t allowed; /* the part of the budget that is used since memory ran out; 0: all of it */
    bool waits;     /* no item begins until memory is freed */
    /* since when an item has found no memory although no other is in progress; 0: that is not so */
    int64_t alone_ms;
};

/* Shared memory with clients of the same host (serve/shm_transport.c). */
struct cw_wshm {
    struct cw_map lent; /* maps slot ids to the number of clients to which the slot is lent */
    size_t lent_bytes;  /* bytes of these slots */
    int listen_fd;      /* -1: shared memory is not offered */
    char name[64];      /* name of the listening socket */
    struct cw_poll *poll;
    struct cw_handshake *handshakes; /* list of connections whose token has not come yet */
    size_t handshakes_n;
};

/* The source cache (cache/source.c). */
struct cw_wsource {
    struct cw_source_cache *cache; /* NULL: there is none */
    struct cw_source_cache_options options;
    char *dir; /* a copy of options.dir */
    bool keeps_indices;
};

/* Bytes of sources that are read ahead (compute/read_ahead.c). */
struct cw_wahead {
    cw_loop_fn *may_begin; /* called with the worker when items may begin */
    struct cw_loop_node told_node;
    atomic_bool is_told;      /* told_node is posted */
    _Atomic size_t looked_at; /* items whose bytes the thread is looking for */
    _Atomic size_t largest;   /* bytes of the largest item so far */
    size_t next_job;          /* the job that is asked first for an item */
};

/* The state of draining (session/drain.c). */
struct cw_wdrain {
    bool active;    /* no new leases are taken */
    bool abandoned; /* nobody wants the outputs: only cache writes are waited for */
    bool over;      /* the time limit has passed, and what was left was handed back */
    bool done;
    int64_t began_ms, limit_ms;
    int64_t served_ms;      /* since when streams have accepted every output; 0: not yet */
    struct cw_timer *timer; /* NULL before the drain begins */
    cw_loop_fn *fn;         /* called once when the drain is done */
    void *arg;
};

struct cw_worker_state {
    /* The fields below are set by cw_worker_new. */
    struct cw_loop *loop;
    struct cw_rpc *rpc;
    struct cw_server *server;
    struct cw_exec *exec;
    struct cw_shm_pool *pool; /* used by any thread */
    uint64_t id;
    char address[CW_WORKER_ADDRESS_BYTES]; /* the address to which clients connect */
    char host_id[128];
    char *dispatcher, *only_job;
    /* What its plugins have, and what the process died of whose place it takes (worker/worker.h). */
    char *const *operators;
    size_t operators_n;
    const struct cw_worker_death *died;
    /* The token that the dispatcher may ask for, or its file; both may be NULL. */
    char *token, *token_file;
    bool needs_secret; /* clients that show no secret of their job are refused in any case */
    struct cw_arg_list store_roots; /* option --store-root (cache/store_root.h) */
    size_t threads;
    size_t budget; /* bytes of memory (option --budget) */

    bool closing; /* cw_worker_free was called */
    struct cw_wsession session;
    struct cw_wreport report;
    struct cw_wjobs jobs;
    struct cw_wloader loader;
    struct cw_wmemory memory;
    struct cw_wahead ahead;
    size_t tasks_n; /* number of tasks of all jobs */
    /* what exec said at the last count (compute/thread_use_count.h) */
    struct cw_exec_thread_time exec_time;
    _Atomic(struct cw_wtask *) done; /* pushed by any thread: finished tasks, newest first */
    struct cw_loop_node done_node;
    struct cw_dedup dedup;
    struct cw_wcache cache;
    struct cw_wclient *clients; /* list of all clients' streams */
    size_t clients_n;
    struct cw_wshm shm;
    struct cw_wsource source;
    struct cw_wdrain drain;
    struct cw_wprobes *probes; /* pages over HTTP (session/probes.c); NULL: none */
};

#endif
