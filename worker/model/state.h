/* SPDX-License-Identifier: Apache-2.0 */
/* The worker's state. All of it belongs to the loop thread, but what is marked otherwise.
 *
 *   attend.c    the stream to the dispatcher        commands.c  what it tells us
 *   report.c    what we tell it, in batches         drain.c     the way out
 *   job.c       jobs by id                          open.c      plans opened on other threads
 *   lease.c     items of a job not yet begun        tasks.c     items in hand
 *   budget.c    how many, and in whose memory
 *   short.c     when there is less of it
 *   outq.c      finished outputs by number          serve.c     streams of clients
 *   shared.c    items that several jobs want        cache*.c    the cache (worker/cache/worker_cache.h)
 *   source.c    blocks of source files, kept near
 *   handover.c  shared memory with a client of the same host
 */
#ifndef CW_WORKER_MODEL_STATE_H
#define CW_WORKER_MODEL_STATE_H

#include <stdatomic.h>
#include <stdbool.h>

#include "base/backoff.h"
#include "base/hostload.h"
#include "base/interval.h"
#include "base/map.h"
#include "cache/source/block_cache.h"
#include "cachew/v1/data.pb-c.h"
#include "cachew/v1/fleet.pb-c.h"
#include "exec/exec.h"
#include "rpc/rpc.h"
#include "shm/shm.h"
#include "wire/wire.h"
#include "worker/cache/worker_cache.h"
#include "worker/compute/batch_dedup.h"
#include "worker/worker.h"

#define CW_WORKER_ADDRESS_BYTES 300
#define CW_SERVE_CLIENTS_MAX 1024
#define CW_JOB_ID_MAX 256
#define CW_JOBS_MAX 10000
#define CW_CONSUMERS_MAX 65536

struct cw_lease_id {
    uint64_t generation, counter;
};
/* Items of a lease that are not begun. */
struct cw_lease {
    struct cw_lease_id id;
    uint64_t epoch;
    uint32_t consumer;     /* shared jobs: whose they are */
    struct cw_set pending; /* never empty */
};
/* What a job has of one epoch. */
struct cw_epoch {
    uint64_t epoch;
    struct cw_set held; /* pending, being computed, or queued: not to be leased to us again */
    struct cw_set done; /* since the last report */
    uint64_t cpu_ns, wall_ns, busy_ns, bytes, elements, skipped, shared; /* of those */
};
/* A finished item. */
struct cw_output {
    uint64_t epoch, item;
    struct cw_lease_id lease;
    struct cw_batch *batch;   /* NULL: a small one, which is in `packed` as it will be sent */
    size_t bytes;             /* what it costs of a client's credit */
    size_t held;              /* memory that it takes, all in all */
    struct cw_wire_size size; /* of packed */
    unsigned copies;          /* queues that it is in */
    uint8_t packed[];
};
/* Outputs for one consumer: a heap, lowest (epoch, item) first. */
struct cw_outq {
    struct cw_output **v;
    size_t n, cap;
};
struct cw_epoch_set {
    uint64_t epoch;
    struct cw_set items;
};

enum cw_wjob_state { CW_WJOB_OPENING, CW_WJOB_READY, CW_WJOB_FAILED };

struct cw_wjob {
    uint32_t magic;
    struct cw_worker *worker;
    char *id;
    /* as the dispatcher gave it */
    struct cw_graph *graph; /* NULL: graph_err says why */
    uint64_t seed;
    struct cw_buf *manifest;
    bool skip_bad, to_all, shared;
    uint32_t consumers;

    enum cw_wjob_state state;
    bool forgotten;               /* no longer in the map; freed with its last task */
    struct cw_err *error;         /* FAILED */
    uint64_t open_serial;         /* of the opening under way */
    struct cw_plan *plan;         /* READY */
    struct cw_function *function; /* READY */
    struct cw_member member;
    struct cw_wcache_job cache;
    struct cw_lease *leases; /* by first pending (epoch, item) */
    size_t leases_n, leases_cap;
    struct cw_epoch *epochs; /* few, ascending */
    size_t epochs_n, epochs_cap;
    struct cw_outq *queues;     /* one a consumer */
    struct cw_client **clients; /* one a consumer, or NULL */
    struct cw_task *tasks;      /* list: submitted, not yet back */
    size_t tasks_n;
    size_t waiting_n;  /* of these: for another job's */
    int64_t item_ns;   /* what an item takes a thread, lately */
    double part;       /* of threads and memory: its weight among the jobs here */
    size_t queued_n;   /* outputs in the queues */
    size_t bytes;      /* memory of tasks (estimated) and queued outputs */
    size_t item_bytes; /* estimate of the memory of an output: the largest so far */
};
#define CW_WJOB_MAGIC 0x574a4f42u

/* An item in the hands of exec. */
struct cw_task {
    struct cw_exec_item exec;
    struct cw_wjob *job;
    struct cw_lease_id lease;
    uint32_t consumer;
    size_t bytes; /* estimated */
    bool revoked;
    bool shared;                   /* another job's work: nothing was computed */
    struct cw_wcache_store *store; /* a ref while exec may use it, or NULL */
    struct cw_shared_item *making; /* others may wait for it */
    struct cw_task *wait_next;
    struct cw_task *prev, *next;
    struct cw_task *done_next; /* exec, then loop */
    struct cw_batch *batch;    /* exec, then loop */
    struct cw_err *error;      /* exec, then loop */
};

/* A client's stream. */
struct cw_client {
    uint32_t magic;
    struct cw_worker *worker;
    struct cw_client *prev, *next;
    struct cw_stream *stream;
    char *job_id;        /* NULL before its hello */
    struct cw_wjob *job; /* NULL while the job is not here */
    uint64_t client_id;
    uint32_t consumer;
    int64_t credit;
    bool sent_any;
    uint64_t last_epoch, last_item; /* the highest output sent */
    struct cw_epoch_set *sent;      /* sent, and not yet said to be received */
    size_t sent_n, sent_cap;
    /* handover.c */
    bool shm_offered, shm_answered, shm_ok;
    uint64_t shm_token;
    int64_t shm_offered_ms;
    int shm_fd;                /* -1 */
    struct cw_map slots_known; /* slot id -> any: its descriptor was sent */
    struct cw_map slots_held;  /* slot id -> cw_buf: the client has it */
};
#define CW_CLIENT_MAGIC 0x57434c49u

struct cw_worker {
    struct cw_loop *loop;
    struct cw_rpc *rpc;
    struct cw_server *server;
    struct cw_exec *exec;
    struct cw_shm_pool *pool; /* any thread */
    struct cw_map handed;     /* slot id -> how many clients have it */
    size_t handed_bytes;      /* of these slots */
    uint64_t id;
    char address[CW_WORKER_ADDRESS_BYTES];
    char host_id[128];
    char *dispatcher, *only_job;
    size_t threads;
    size_t budget;

    /* attend.c */
    struct cw_channel *channel;
    struct cw_stream *stream; /* NULL while away */
    bool welcomed;
    uint64_t generation; /* highest seen */
    struct cw_backoff backoff;
    struct cw_timer *retry;
    bool said_unreachable;
    int64_t idle_beat_ms, beat_ms;

    /* report.c */
    struct cw_timer *beat; /* heartbeat */
    struct cw_timer *soon; /* something to report */
    int64_t soon_ms;       /* when, if it is active */
    bool computed;         /* counts have changed since they were reported */
    int64_t reported_ms, counts_ms, cpu_at_ms, cpu_ns;
    double cpu_share, cpu_cores;
    struct cw_hostload host;

    /* job.c, open.c */
    struct cw_strmap jobs;
    struct cw_wjob **turn; /* the same jobs, for taking turns */
    size_t turn_n, turn_cap, turn_next;
    uint64_t open_serial;
    size_t openings_n;
    struct cw_opening *openings;         /* list: have a thread, so many */
    struct cw_opening *openings_waiting; /* list, oldest first */
    struct cw_timer *openings_timer, *orphans_timer;
    struct cw_prepared *prepared; /* a few; NULL = none yet */
    size_t prepared_next;

    /* tasks.c */
    size_t bytes; /* of tasks and queued outputs of all jobs */
    size_t tasks_n;
    struct cw_shared_items shared_items;
    /* short.c: since memory ran out below the budget */
    size_t allowed; /* so much of the budget; 0 = all of it */
    bool waits;     /* nothing is begun until something is given back */
    /* since when there is none for an item with nothing else in hand; 0 = there is */
    int64_t alone_ms;
    _Atomic(struct cw_task *) done; /* any: finished, newest first */
    struct cw_loop_node done_node;  /* cw_tasks_collect */

    struct cw_wcache cache;

    /* serve.c, handover.c */
    struct cw_client *clients;
    size_t clients_n;
    int shm_listen_fd; /* -1 = shared memory is not offered */
    char shm_name[64];
    struct cw_poll *shm_poll;
    struct cw_handshake *handshakes;
    size_t handshakes_n;

    /* source.c */
    struct cw_source_cache *source; /* NULL = none */
    struct cw_source_cache_options source_options;
    char *source_dir; /* in them */

    /* drain.c */
    bool draining, abandoned, drain_over, drained, closing;
    int64_t drain_began_ms, drain_limit_ms;
    int64_t served_ms;            /* since when streams have taken all; 0 = not yet */
    struct cw_timer *drain_timer; /* NULL before */
    cw_loop_fn *drained_fn;
    void *drained_arg;
};

/* attend.c */
void cw_attend_start(struct cw_worker *w);
void cw_attend_stop(struct cw_worker *w);
/* dropped while away; sets the generation */
void cw_attend_send(struct cw_worker *w, Cachew__V1__WorkerMessage *message);
/* Leaves a dispatcher that sends what it must not; comes back after a while. */
void cw_attend_leave(struct cw_worker *w, const char *why);

/* commands.c */
void cw_commands_run(struct cw_worker *w, const Cachew__V1__WorkerCommand *command);

/* report.c */
void cw_report_start(struct cw_worker *w);
void cw_report_stop(struct cw_worker *w);
void cw_report_welcome(struct cw_worker *w); /* attached: begins the heartbeat */
void cw_report_away(struct cw_worker *w);
/* counted; told soon */
void cw_report_done(struct cw_worker *w, struct cw_epoch *epoch, const struct cw_task *task);
void cw_report_soon(struct cw_worker *w);
void cw_report_now(struct cw_worker *w);
void cw_report_failed(struct cw_worker *w, const struct cw_wjob *job, struct cw_lease_id lease,
                      uint64_t epoch, uint64_t item, const struct cw_err *error);
void cw_report_hand_back(struct cw_worker *w, const char *job_id, uint64_t epoch,
                         const struct cw_set *items);
void cw_report_prepared(struct cw_worker *w, const char *job_id, const struct cw_graph *graph,
                        const struct cw_plan *plan, struct cw_buf *manifest,
                        const struct cw_err *error); /* plan NULL: it could not be */

/* job.c */
struct cw_wjob *cw_wjob_get(const struct cw_worker *w, const char *id);
void cw_wjob_add(struct cw_worker *w, const Cachew__V1__JobSpec *spec);
void cw_wjob_forget(struct cw_wjob *job, const char *reason);
void cw_wjob_leased(struct cw_wjob *job, const Cachew__V1__Lease *lease);
void cw_wjob_opened(struct cw_wjob *job, struct cw_plan *plan /* taken, or NULL */,
                    const struct cw_err *error);
struct cw_epoch *cw_wjob_epoch(struct cw_wjob *job, uint64_t epoch); /* made when it is not there */
void cw_wjob_let_go(struct cw_wjob *job, uint64_t epoch, uint64_t item); /* no longer held */
void cw_wjob_free_if_idle(struct cw_wjob *job);
uint32_t cw_wjob_consumer(const struct cw_wjob *job, uint64_t item);
void cw_wjob_weigh(struct cw_wjob *job, double part); /* what the dispatcher says; 0 = 1 */
/* Hands back all that is not begun. */
void cw_wjob_hand_back(struct cw_wjob *job);

/* open.c */
void cw_open_prepare(struct cw_worker *w, const char *job_id, struct cw_graph *graph /* taken */,
                     uint64_t seed);
void cw_open_job(struct cw_wjob *job);
/* The plan made when this job was prepared here, if that was with the same manifest; NULL if
 * not. */
struct cw_plan *cw_open_take_prepared(struct cw_worker *w, const struct cw_wjob *job);
/* The job is wanted no more (NULL: none is): whatever of it is being prepared or opened ends, or
 * is left to itself, and what was prepared is dropped. */
void cw_open_forget(struct cw_worker *w, const char *job_id);
/* what is being prepared */
void cw_open_report(const struct cw_worker *w, Cachew__V1__Progress *progress);
void cw_open_report_free(Cachew__V1__Progress *progress);
void cw_open_away(struct cw_worker *w); /* the dispatcher that has asked for preparations is away */
void cw_open_start(struct cw_worker *w);
void cw_open_stop(struct cw_worker *w); /* what waits is dropped, what runs is told to end */

/* lease.c */
void cw_lease_add(struct cw_wjob *job, const Cachew__V1__Lease *lease);
void cw_lease_revoke(struct cw_wjob *job, uint64_t epoch, uint64_t lo, uint64_t hi);
/* The lowest item not begun; false when there is none. */
bool cw_lease_peek(const struct cw_wjob *job, uint64_t *ret_epoch, uint64_t *ret_item);
void cw_lease_take(struct cw_wjob *job, struct cw_task *task); /* there must be one */
/* the item, which is held, is to be begun again */
void cw_lease_put_back(struct cw_wjob *job, const struct cw_task *task);
void cw_lease_clear(struct cw_wjob *job);

/* tasks.c */
void cw_tasks_pump(struct cw_worker *w);
void cw_tasks_revoke(struct cw_wjob *job, uint64_t epoch, uint64_t lo, uint64_t hi);
/* The job wants none of its items any more. Whether nobody else does. */
bool cw_tasks_cancel_all(struct cw_wjob *job);
void cw_tasks_collect(void *worker); /* takes in what is finished */
/* in streams, not yet accepted; and in slots that clients have */
size_t cw_tasks_stream_bytes(const struct cw_worker *w);

/* short.c */
/* There was no memory for the task's item. True: others have it, and the item is to be begun
 * again. False: it has failed. */
bool cw_short_again(struct cw_wjob *job, struct cw_task *task);
void cw_short_made(struct cw_worker *w, size_t bytes); /* an output that was computed */
void cw_short_given_back(struct cw_worker *w);         /* something left that held memory */
void cw_short_beat(struct cw_worker *w);

/* budget.c */
size_t cw_budget(const struct cw_worker *w);
/* its part of it, among those that have something to do */
size_t cw_budget_of(const struct cw_wjob *job);
/* A job that has less than its part was refused because others have more than theirs: those hand
 * outputs back that they need last. Returns whether that were so many bytes. */
bool cw_budget_make_room(struct cw_worker *w, size_t bytes);

/* outq.c */
bool cw_outq_before(uint64_t epoch_a, uint64_t item_a, uint64_t epoch_b, uint64_t item_b);
/* Of a finished batch, whose epoch and item are set; it is taken. A small one becomes bytes in
 * one piece with what is known of it. */
struct cw_output *cw_output_new(struct cw_batch *batch, struct cw_lease_id lease) CW_MUST_CHECK;
void cw_output_free(struct cw_output *output);
void cw_outq_push(struct cw_outq *q, struct cw_output *output);
struct cw_output *cw_outq_first(const struct cw_outq *q);
struct cw_output *cw_outq_pop(struct cw_outq *q);
/* Takes out those for which `drop` says so. */
typedef bool cw_outq_drop_fn(void *arg, struct cw_output *output);
void cw_outq_filter(struct cw_outq *q, cw_outq_drop_fn *drop, void *arg);
/* One copy has left its queue: with the last one the output is let go. */
void cw_outq_left(struct cw_wjob *job, struct cw_output *output);
void cw_outq_revoke(struct cw_wjob *job, uint64_t epoch, uint64_t lo, uint64_t hi);
void cw_outq_clear(struct cw_wjob *job);

/* serve.c */
void cw_serve_add_methods(struct cw_worker *w);
void cw_serve_bind(struct cw_wjob *job); /* a job came: clients may be waiting for it */
void cw_serve_unbind(struct cw_wjob *job);
void cw_serve_pump(struct cw_client *client);
void cw_serve_received(struct cw_wjob *job, uint64_t epoch, uint64_t lo, uint64_t hi);
void cw_serve_close_all(struct cw_worker *w);

/* handover.c */
void cw_handover_start(struct cw_worker *w, bool offered);
void cw_handover_stop(struct cw_worker *w);
struct cw_buf *cw_handover_alloc(void *worker, size_t bytes, struct cw_err *err); /* any thread */
void cw_handover_offer(struct cw_client *client, Cachew__V1__DataWelcome *welcome);
void cw_handover_answer(struct cw_client *client, bool ok);
/* outputs should wait for the client's answer */
bool cw_handover_is_pending(const struct cw_client *client);
/* The slot to name in the output, its descriptor sent; 0 = send the bytes. */
uint64_t cw_handover_slot(struct cw_client *client, struct cw_batch *batch);
void cw_handover_release(struct cw_client *client, uint64_t slot);
void cw_handover_end(struct cw_client *client);
void cw_handover_tell_gone(struct cw_worker *w);

/* drain.c */
void cw_drain_begin(struct cw_worker *w);

#endif
