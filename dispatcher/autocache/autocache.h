/* SPDX-License-Identifier: Apache-2.0 */
/* At which node the elements of a job are cached: asks policies (policies/policy.h), carries out what they
 * say, and remembers it. This is the face of autocache/. Without a store there is nothing to decide, and none
 * of this is there.
 *
 *   autocache.c        when a policy is asked, and what becomes of its answer
 *   snapshot.c         what it is shown: of the catalogue, of the job, and of
 *   cache_rates.c      how fast workers read and write the cache
 *   store_benchmark.c  how fast the store is, measured once
 *   epoch_timing.c     how long epochs take
 *   profiles.c         what jobs of a pipeline have measured, for the next one */
#ifndef CW_DISPATCHER_AUTOCACHE_AUTOCACHE_H
#define CW_DISPATCHER_AUTOCACHE_AUTOCACHE_H

#include "dispatcher/autocache/cache_rates.h"
#include "dispatcher/autocache/store_benchmark.h"
#include "dispatcher/cache/cache.h"
#include "dispatcher/model/model.h"

struct cw_autocache_job { /* of a job */
    struct cw_job *job;
    const struct cw_autocache_policy *policy;
    const char *argument; /* into the option's text */
    const char *option;
    bool failed;  /* it cannot decide for this job: not asked again */
    bool ask_due; /* at the next tick */
    int64_t last_asked_ms;
    struct cw_node_counters measure;
    char *prior_job; /* whose measurements it began with; NULL once it is told */
    /* the standing decision */
    bool has_decision;
    size_t current;
    double predicted_ns;
    /* epochs */
    uint64_t epoch; /* that began at began_ms */
    int64_t began_ms;
    bool epoch_is_steady;   /* it is seen from its beginning, and nothing has changed meanwhile */
    double cached_at_begin; /* of the records of the current node that were there when it began */
    double threads;         /* of the workers when it was last looked */
    /* of the last epoch that shows what the standing decision is worth; 0 = none */
    double epoch_ns;
    double compute_ns;
    double *node_ns; /* epochs read from each node */
    /* what trainers themselves needed for so many batches, without waiting; older ones weigh
     * less */
    double trainer_ns, trainer_batches;
};

struct cw_autocache_service { /* of the dispatcher */
    struct cw_cache_rates cache;
    struct cw_store_benchmark *benchmark;
    int64_t benchmark_ms;
    struct cw_strmap profiles; /* TENANT/FINGERPRINT -> cw_profile */
};

/* ---- autocache.c ---- */
/* before state is loaded; nothing without a store */
void cw_autocache_open(struct cw_dispatcher *d);
void cw_autocache_start(struct cw_dispatcher *d);
void cw_autocache_close(struct cw_dispatcher *d);
int cw_autocache_restore(struct cw_dispatcher *d, struct cw_err *err); /* after the jobs */
void cw_autocache_take_counts(struct cw_worker *worker, const Cachew__V1__Progress *progress);
void cw_autocache_worker_gone(struct cw_worker *worker);
/* Returns 0, or the code with which the job must fail: it asks for what cannot be done. */
int cw_autocache_tick(struct cw_job *job, int64_t now, struct cw_err *err);
/* made when it is not there; NULL: nothing is to be decided */
struct cw_autocache_job *cw_autocache_of(struct cw_job *job);
void cw_autocache_free(struct cw_job *job);

/* ---- epoch_timing.c ---- */
void cw_autocache_ack(struct cw_job *job, const Cachew__V1__Measure *measure); /* may be NULL */
/* its first_epoch was `before`, and has moved */
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
