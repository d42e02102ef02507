/* SPDX-License-Identifier: Apache-2.0 */
/* A dispatcher and a client made of nothing but streams, on the loop of the worker they test. */
#ifndef CW_TESTS_UNIT_WORKER_FLEET_H
#define CW_TESTS_UNIT_WORKER_FLEET_H

#include "base/clock.h"
#include "cachew/v1/fleet.pb-c.h"
#include "rpc/rpc.h"
#include "shm/shm.h"
#include "support/cm.h"
#include "wire/wire.h"
#include "worker/worker.h"

#define DEADLINE_MS 60000
#define ITEMS_MAX 4096

#define CHUNKS_MAX 256
#define NODES_MAX 16

struct fleet;
struct client {
    struct fleet *fleet;
    struct cw_channel *channel;
    struct cw_stream *stream;
    bool closed;
    int close_code;
    uint64_t id; /* may be changed before the hello */
    bool welcomed;
    size_t outputs, duplicates, disorder, slots_used;
    int64_t last; /* epoch * ITEMS_MAX + item */
    unsigned char seen[ITEMS_MAX];
    uint64_t first_value[ITEMS_MAX]; /* first 8 bytes of each output */
    uint64_t bytes;
    int shm_fd;
    struct cw_shm_view *view;
    uint64_t slots[64];
    size_t slots_n;
    bool auto_release;
};
struct fleet {
    struct cw_loop *loop;
    struct cw_rpc *rpc;
    struct cw_server *server;
    char address[300];
    struct cw_timer *tick;
    struct cw_stream *stream; /* to the worker, or NULL */
    uint64_t generation;
    bool welcome; /* answer hellos */
    struct cw_worker_state *worker;
    size_t hellos;
    struct cw_set held; /* of the last hello */
    size_t held_jobs;   /* entries of the last hello that hold nothing */
    char host_id[128];
    struct cw_set done, handed_back, failed;
    bool failed_element;
    char failed_error[1024];
    bool draining, drained;
    size_t prepared;
    int prepared_code;
    char prepared_error[1024];
    char relaxed[1024]; /* what was said of a relaxed order */
    bool relaxed_refused;
    struct cw_buf *manifest;
    uint64_t items;
    uint64_t leases;
    uint64_t lease_client; /* of the next leases: client_id */
    uint64_t skipped, shared;
    /* the cache */
    char store[300];
    Cachew__V1__PlanInfo *info; /* of the last that was prepared */
    char *chunks[CHUNKS_MAX];   /* told to be written */
    size_t chunks_n, written_n, gone_n;
    uint64_t written_records;
    uint64_t hits, misses, put, written, records; /* of the last counts of any key */
    bool away;
    char away_why[1024];
    struct {
        char job[64], node[64];
        uint64_t elements, hits;
    } counts[NODES_MAX];
    size_t counts_n;
};

/* Runs the loop until the condition holds. */
#define fleet_wait(f, condition)                                                                   \
    do {                                                                                           \
        int64_t deadline_ = cw_clock_ms() + DEADLINE_MS;                                           \
        cw_timer_start((f)->tick, 1, 1);                                                           \
        while (!(condition)) {                                                                     \
            if (cw_clock_ms() > deadline_)                                                         \
                fail_msg("waited in vain for %s", #condition);                                     \
            cw_loop_run((f)->loop);                                                                \
        }                                                                                          \
        cw_timer_stop((f)->tick);                                                                  \
    } while (0)

/* ---- the dispatcher ---- */
void fleet_send(struct fleet *f, Cachew__V1__WorkerCommand *m);
void fleet_up_with_store(struct fleet *f, const struct cw_worker_options *options,
                         const char *store);
void fleet_up(struct fleet *f, const struct cw_worker_options *options);
/* the worker: it has opened the one that it was told last, if any */
bool fleet_has_store(const struct fleet *f);
void fleet_down(struct fleet *f);
Cachew__V1__Graph *graph_message(const char *json);
void fleet_prepare(struct fleet *f, const char *job_id, const char *json);
/* Prepares the job and gives it to the worker: job "a" to the one that has prepared it, others
 * as if that was another. */
void fleet_job_cached(struct fleet *f, const char *job_id, const char *json, uint32_t consumers,
                      bool to_all, const char *tenant, Cachew__V1__CacheUse *use /* NULL = none */);
void fleet_job(struct fleet *f, const char *job_id, const char *json, uint32_t consumers,
               bool to_all);
void fleet_lease(struct fleet *f, const char *job_id, uint64_t epoch, uint64_t lo, uint64_t hi);
void fleet_revoke(struct fleet *f, const char *job_id, uint64_t epoch, uint64_t lo, uint64_t hi);
void fleet_part(struct fleet *f, const char *job_id, double part);
void fleet_forget(struct fleet *f, const char *job_id);

/* ---- the client ---- */
void client_credit(struct client *c, uint64_t bytes);
void client_release(struct client *c);
void client_open(struct client *c, struct fleet *f);
void client_hello(struct client *c, const char *job_id, uint32_t consumer, uint64_t credit,
                  bool shm);
void client_close(struct client *c);

#endif
