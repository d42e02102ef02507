/* SPDX-License-Identifier: Apache-2.0 */
/* Measurements of a job for people and for metrics: totals that its trainers and workers reported,
 * and the latest demand windows. No policy uses this; what policies use is in scaling.h and
 * autocache.h. Loop thread. */
#ifndef CW_DISPATCHER_JOB_TELEMETRY_H
#define CW_DISPATCHER_JOB_TELEMETRY_H

#include "cachew/v1/admin.pb-c.h"
#include "dispatcher/job/bad_elements.h"
#include "dispatcher/model/model.h"
#include "policies/scale.h"

#define CW_WINDOWS_KEPT 64 /* The number of demand windows that are kept for each job. */

/* What one consumer's trainer measured in the present window. */
struct cw_wait_sums {
    uint64_t ns, wait_ns;
};

struct cw_telemetry {
    /* Sums since the job began, except what was not stored when a dispatcher died. */
    struct cw_demand_sums all;
    struct cw_bad_report bad; /* bad elements that were left out */
    bool restored;            /* The sums include counts from before the dispatcher's restart. */
    bool is_stored;           /* Counts were stored; `stored` is the hash of them. */
    struct cw_hash stored;
    /* The present window. It is as long as one for a policy, and its workers do not change; unlike
     * those, it does not wait until a change has settled. */
    struct cw_demand_sums now;
    int64_t begin_ms;
    double workers, locals;
    uint64_t plan; /* the number of the plan that the present window is about */
    /* Of each of the `consumers` consumers: sums of the present window, and the share of its time that
     * its trainer waited in the last complete one; < 0: nothing was measured of it. */
    struct cw_wait_sums *waits;
    float *last_waits;
    uint32_t consumers;
    /* ---- too_few_workers.c ---- */
    /* The number of workers that the last alert gave, if that was less than the job wants; 0
     * otherwise. */
    double alerted_share;
    /* The time since which the job's share differs from the last alert; 0 if it does not. */
    int64_t differs_since_ms;
    struct cw_scale_window windows[CW_WINDOWS_KEPT];
    /* The number of windows ever; window i is at index i modulo the array's length. */
    unsigned windows_n;
};

struct cw_telemetry *cw_telemetry_of(struct cw_job *job);
/* Takes what the trainer of a consumer measured. */
void cw_telemetry_measured(struct cw_job *job, uint32_t consumer, const Cachew__V1__Ack *ack);
/* Takes what a client that holds a consumer slot tells of bad elements. */
void cw_telemetry_take_bad(struct cw_job *job, uint32_t consumer, uint64_t client_id,
                           uint64_t bad_n, Cachew__V1__BadElement *const *bad, size_t n);
/* Returns how many bad elements were left out of what the job's trainers have consumed. If not all
 * trainers tell it, the number is that of workers' reports, which count an element twice whose item
 * was computed twice. */
uint64_t cw_telemetry_skipped(const struct cw_job *job);
void cw_telemetry_take_counts(struct cw_worker *worker, const Cachew__V1__Progress *progress);
void cw_telemetry_tick(struct cw_job *job, int64_t now);
void cw_telemetry_free(struct cw_job *job);
/* Records alerts about the job's share (too_few_workers.c). The job must have telemetry. */
void cw_too_few_workers_tick(struct cw_job *job, int64_t now);
/* Returns window i of those that are kept, 0 being the oldest; NULL after the last. */
const struct cw_scale_window *cw_telemetry_window(const struct cw_job *job, size_t i);
/* Returns the last complete demand window; NULL if there is none. */
const struct cw_scale_window *cw_telemetry_last_window(const struct cw_job *job);
/* Returns, for each of the job's consumers, the share of its time in the last complete window that its
 * trainer waited; < 0: nothing was measured of it. `ret_n` is 0 if there is no such window, and for a
 * job with one consumer, of which the window says it. The array is the job's. */
float *cw_telemetry_waits(const struct cw_job *job, size_t *ret_n);
/* Returns the node with the most hits, or NULL. */
const struct cw_node_sums *cw_telemetry_most_hits(const struct cw_job *job);

/* ---- telemetry_store.c ---- */
/* Writes the job's numbers to `counts`, zeroed room for CW_STATE_COUNTS_MAX, and returns how many there
 * are. */
size_t cw_telemetry_counts(const struct cw_job *job, uint64_t *counts);
/* Returns whether the job's telemetry has changed since it was stored. */
bool cw_telemetry_is_changed(const struct cw_job *job);
void cw_telemetry_store(struct cw_job *job);
/* Stores the job's telemetry if the number of bad elements has changed: with the items that they were
 * left out of, so that neither is known without the other. */
void cw_telemetry_store_bad(struct cw_job *job);
void cw_telemetry_restore(struct cw_job *job, const uint64_t *counts, size_t n);

#endif
