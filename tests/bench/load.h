/* SPDX-License-Identifier: Apache-2.0 */
/* A fleet that is not there: workers and trainers that speak the real protocol over connections
 * of their own, and compute nothing. Loop thread. */
#ifndef CW_TESTS_BENCH_LOAD_H
#define CW_TESTS_BENCH_LOAD_H

#include "base/interval.h"
#include "base/mem.h"
#include "rpc/rpc.h"
#include "wire/wire.h"

#define LOAD_SAMPLES_MAX 200000
#define LOAD_BATCH_ELEMENTS 64
#define LOAD_BATCH_BYTES 65536

struct load_samples { /* ms */
    double *v;
    size_t n;
};
void load_samples_add(struct load_samples *samples, double ms);
double load_samples_at(struct load_samples *samples, double share); /* sorts */

struct load;
struct load_trainer { /* of one job */
    struct load *load;
    struct cw_channel *channel;
    struct cw_stream *stream;
    bool probe; /* leases of one batch, so that every heartbeat is answered by a lease */
    bool welcomed;
    char *job_id;
    uint64_t window, given; /* given: consumed in order */
    struct cw_set received, news;
    uint64_t told;
    int64_t told_ms, ack_ms;
};
struct load_work { /* of a worker for a job */
    struct load_work *next;
    struct load_trainer *trainer;
    struct cw_set todo, done;
    double credit; /* batches that its time is enough for */
    uint64_t elements;
    int64_t asked_ns; /* probe: when the heartbeat went out; 0 = answered */
};
struct load_worker {
    struct load *load;
    struct cw_channel *channel;
    struct cw_stream *stream;
    uint64_t id, generation;
    int64_t hello_ns, beat_ms, soon_at_ms, beat_at_ms, counts_ms, reported_ms, worked_ms;
    uint32_t gather_ms; /* of the last lease: report_ms */
    bool welcomed;
    struct load_work *works;
};
struct load {
    struct cw_loop *loop;
    struct cw_rpc *rpc;
    const char *address;
    struct load_worker *workers;
    struct load_trainer *trainers;
    size_t workers_n, trainers_n, welcomed_n, lost_n;
    uint64_t per_job; /* workers of a job; 0 = all of them */
    double rate;      /* batches a second of one worker */
    struct cw_graph *graph;
    Cachew__V1__Graph *message;
    Cachew__V1__PlanInfo *info;
    struct cw_buf *manifest;
    bool measuring;
    uint64_t reports, leases, acks, batches;
    struct load_samples attach, lease, lag;
};

/* What every job of the fleet computes: fills graph, message, info and manifest. */
int load_plan(struct load *load, struct cw_err *err);
void load_unplan(struct load *load);

void load_worker_start(struct load *load, struct load_worker *worker, uint64_t id);
void load_worker_tick(struct load_worker *worker, int64_t now_ms); /* every few milliseconds */
void load_worker_stop(struct load_worker *worker);

void load_trainer_start(struct load *load, struct load_trainer *trainer, size_t number);
void load_trainer_got(struct load_trainer *trainer, uint64_t item); /* a batch has arrived */
void load_trainer_tick(struct load_trainer *trainer, int64_t now_ms);
void load_trainer_stop(struct load_trainer *trainer);

#endif
