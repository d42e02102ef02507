/* SPDX-License-Identifier: Apache-2.0 */
/* What was measured of a job, for people and for metrics: totals of what its trainers and the
 * workers of its nodes told, and the latest windows. No policy reads this; what they read stands
 * in scaling.h and autocache.h. Loop thread. */
#ifndef CW_DISPATCHER_JOB_TELEMETRY_H
#define CW_DISPATCHER_JOB_TELEMETRY_H

#include "cachew/v1/admin.pb-c.h"
#include "dispatcher/model/model.h"
#include "policies/scale.h"

#define CW_WINDOWS_KEPT 64 /* the latest of a job */

struct cw_telemetry {
    struct cw_node_counters nodes; /* never weighed down; n = 0: not prepared yet */
    /* since the job began, but for what was not stored when a dispatcher died */
    struct cw_demand_sums all;
    bool restored;  /* counts of an earlier dispatcher are in it */
    bool is_stored; /* counts of it are stored: those of this hash */
    struct cw_hash stored;
    /* the window under way: as long as one for a policy, and its workers are the same all
     * through it; unlike those it does not wait until a change has settled */
    struct cw_demand_sums now;
    int64_t begin_ms;
    double workers, locals;
    /* share_alerts.c */
    /* workers that it was said to get, fewer than it wants; 0 = it was not */
    double alerted_share;
    int64_t differs_since_ms; /* since when it is otherwise; 0 = it is not */
    struct cw_scale_window windows[CW_WINDOWS_KEPT];
    unsigned windows_n; /* ever; window i is at i modulo the array's length */
};

struct cw_telemetry *cw_telemetry_of(struct cw_job *job);
void cw_telemetry_measured(struct cw_job *job, const Cachew__V1__Ack *ack);
void cw_telemetry_take_counts(struct cw_worker *worker, const Cachew__V1__Progress *progress);
void cw_telemetry_tick(struct cw_job *job, int64_t now);
void cw_telemetry_free(struct cw_job *job);
void cw_share_alerts_tick(struct cw_job *job, int64_t now); /* share_alerts.c; the job is watched */
/* Window i of the latest, the oldest is 0; NULL behind the last. */
const struct cw_scale_window *cw_telemetry_window(const struct cw_job *job, size_t i);
const struct cw_scale_window *cw_telemetry_last_window(const struct cw_job *job); /* or NULL */
/* The node of which most was taken from the cache, or NULL. */
const struct cw_node_sums *cw_telemetry_most_hits(const struct cw_job *job);

/* ---- telemetry_store.c: to and from the state directory ---- */
bool cw_telemetry_is_changed(const struct cw_job *job); /* since it was stored */
void cw_telemetry_store(struct cw_job *job);
void cw_telemetry_restore(struct cw_job *job, const uint64_t *counts, size_t n);

#endif
