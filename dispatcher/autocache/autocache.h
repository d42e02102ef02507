/* SPDX-License-Identifier: Apache-2.0 */
/* At which node the elements of a job are cached: this module asks policies (policies/policy.h),
 * carries out what they say, and remembers it. This is the face of autocache/. For a job without a
 * cache nothing is to be decided.
 *
 *   autocache.c          when a policy is asked, and what happens with its answer
 *   snapshot.c           what a policy is shown of the job and of the catalogue
 *   store_speed.c        what is known of the speed of each cache's store
 *   cache_rates.c        how fast workers read and write the cache
 *   measure_store.c      how fast the store is, measured once
 *   epoch_timing.c       how long epochs take
 *   pipeline_profiles.c  measurements of a pipeline, for its next job */
#ifndef CW_DISPATCHER_AUTOCACHE_AUTOCACHE_H
#define CW_DISPATCHER_AUTOCACHE_AUTOCACHE_H

#include "dispatcher/autocache/cache_rates.h"
#include "dispatcher/autocache/measure_store.h"
#include "dispatcher/cache/cache.h"
#include "dispatcher/model/model.h"

/* What is known of the speed of one cache's store. */
struct cw_autocache_store_speed {
    struct cw_autocache_store_speed *next;
    uint64_t cache_id;
    struct cw_cache_rates rates;
    struct cw_store_benchmark *benchmark;
    int64_t benchmark_ms;
};

/* The automatic caching of one job: its last decision, and how long epochs took. What was measured of
 * the nodes is job->measured. */
struct cw_autocache_job {
    struct cw_job *job;
    uint64_t cache_id; /* Of the job's cache. */
    const struct cw_autocache_policy *policy;
    const char *argument; /* The part of the option's text that follows the policy's name. */
    const char *option;
    bool failed;  /* The policy cannot decide for this job, so it is not asked again. */
    bool ask_due; /* The policy is to be asked at the next tick. */
    int64_t last_asked_ms;
    /* The job whose measurements this one began with; NULL if there is none, or once a decision has
     * named it. */
    char *prior_job;
    /* ---- the last decision ---- */
    bool has_decision;
    size_t current;
    double predicted_ns;
    /* ---- epochs ---- */
    uint64_t epoch; /* The number of the epoch that began at began_ms. */
    int64_t began_ms;
    /* The epoch is measured from its beginning, and nothing has changed since then. */
    bool epoch_is_steady;
    /* The fraction of the records of the cached node that were in the cache when the epoch
     * began. */
    double cached_at_begin;
    double threads; /* The number of threads of all workers of the job, at the last count. */
    /* The time of the last epoch that shows what the last decision is worth; 0 if there is none. */
    double epoch_ns;
    double compute_ns;
    double *node_ns; /* For each node, the time of an epoch that reads the node from the cache. */
    /* The number of batches that trainers consumed without waiting, and the time that these took.
     * Older batches weigh less. */
    double trainer_ns, trainer_batches;
};

struct cw_autocache_service { /* The automatic caching of all jobs of a dispatcher. */
    struct cw_autocache_store_speed *stores;
    bool benchmarks; /* Stores are measured, from cw_autocache_start on. */
    /* The profiles of pipelines: TENANT/FINGERPRINT -> struct cw_profile. */
    struct cw_strmap profiles;
};

/* ---- autocache.c ---- */
/* Creates the service. The function is called before the state is loaded. */
void cw_autocache_open(struct cw_dispatcher *d);
void cw_autocache_start(struct cw_dispatcher *d);
void cw_autocache_close(struct cw_dispatcher *d);
/* Restores decisions and profiles. The function is called after the jobs are restored. */
int cw_autocache_restore(struct cw_dispatcher *d, struct cw_err *err);
/* Takes what a worker tells of the store, and asks policies about jobs of which it tells counts. To be
 * called before these are added up (cw_telemetry_take_counts). */
void cw_autocache_take_counts(struct cw_worker *worker, const Cachew__V1__Progress *progress);
void cw_autocache_worker_gone(struct cw_worker *worker);
/* Returns 0, or the code with which the job must fail, because it asks for something impossible. */
int cw_autocache_tick(struct cw_job *job, int64_t now, struct cw_err *err);
/* Returns the controller of the job, which is created if there is none; NULL if nothing is to be
 * decided. */
struct cw_autocache_job *cw_autocache_of(struct cw_job *job);
void cw_autocache_free(struct cw_job *job);

/* ---- epoch_timing.c ---- */
/* Takes in the trainer's measurement from an acknowledgement; `measure` may be NULL. */
void cw_autocache_ack(struct cw_job *job, const Cachew__V1__Measure *measure);
/* The job's first_epoch was `before` and has changed. */
void cw_autocache_epochs_moved(struct cw_job *job, uint64_t before);

/* ---- snapshot.c ---- */
struct cw_autocache_view {
    struct cw_autocache_snapshot s;
    struct cw_autocache_node *nodes;
    size_t *inputs;
};
void cw_autocache_view_init(struct cw_autocache_job *decider, struct cw_autocache_view *view);
void cw_autocache_view_fini(struct cw_autocache_view *view);

#endif
