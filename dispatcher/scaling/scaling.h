/* SPDX-License-Identifier: Apache-2.0 */
/* How many workers each job has, where they run, how much of each is the job's, and what that costs. This is
 * the face of scaling/.
 *
 *   scaling.c         windows of what trainers measured go to the job's policy (policies/scale.h)
 *   scaling_policy.c  which policy that is, what it is shown, and what is remembered of it
 *   fair_share.c      what jobs want becomes fair shares of the fleet (policies/max_min_share.h)
 *   assign.c          shares become assigned workers
 *   time_slices.c     of each worker that several jobs use: which part of its time is whose
 *   placement.c       how many workers each client is asked to start on its own host
 *   provisioner.c     how many workers there should be in all
 *   accounting.c      what jobs have used, and what it cost
 *   settle.c          after a change: when measurements show its effect */
#ifndef CW_DISPATCHER_SCALING_SCALING_H
#define CW_DISPATCHER_SCALING_SCALING_H

#include "dispatcher/model/model.h"

struct cw_scaling { /* of a job */
    const struct cw_scale_policy *policy;
    const char *argument;
    struct cw_scale_options options;
    struct cw_scale_state state;
    double target, local_target; /* remote and local workers that the policy wants */
    uint32_t local_n;            /* local workers that get leases */
    uint32_t
        serving_n; /* of these and of the remote ones, that have done something since they were assigned */
    int64_t changed_ms; /* when that changed */
    /* consumed up to here, what was leased under the old number is behind (epoch * items + item) */
    uint64_t settle_at;
    unsigned settling; /* rounds of that still to go */
    /* the window under way */
    int64_t begin_ms;
    struct cw_demand_sums sums;
    struct cw_scale_window last; /* the last whole one */
};

/* "" = as the dispatcher was told. INVALID: there is no such policy. */
int cw_scaling_check(const char *policy, struct cw_err *err);
int cw_placement_check(const char *policy, struct cw_err *err);
void cw_scaling_begin(struct cw_job *job); /* a job is made */
/* By request, in the middle of a job: another policy for its workers, or (place) for where they
 * run. INVALID: there is no such policy. */
int cw_scaling_change(struct cw_job *job, const char *policy, bool place, struct cw_err *err);
/* A client has come, which had been asked for so many local workers by an earlier dispatcher or
 * over an earlier connection. */
void cw_scaling_client_joined(struct cw_job *job, uint32_t local_now);
void cw_scaling_free(struct cw_job *job);
void cw_scaling_measured(struct cw_job *job, const Cachew__V1__Ack *ack);
/* A job was loaded: it goes on with the numbers that were decided last. */
void cw_scaling_restore(struct cw_job *job);
/* Then a worker comes back that computes for it: it is one of the job's. */
void cw_scaling_keep_worker(struct cw_job *job, struct cw_worker *worker);
/* "autoscale" or "autoplace"; what the policy is shown besides the window; what it said, in
 * words (the caller frees). The job has scaling. */
const char *cw_scaling_kind(const struct cw_job *job);
void cw_scaling_inputs(const struct cw_job *job, const struct cw_scale_window *window,
                       struct cw_scale_inputs *ret_inputs);
char *cw_scaling_choice(const struct cw_job *job,
                        const struct cw_scale_decision *decision) CW_MUST_CHECK;
/* Remote workers that it is to have, whatever others want. */
double cw_scaling_wants(const struct cw_job *job);
/* Windows that are full go to their policies; targets to shares, shares to workers. */
void cw_scaling_tick(struct cw_dispatcher *d, int64_t now);

/* ---- assign.c ---- */
/* Makes shares, assigned workers and parts what they should be now; returns how many workers all
 * jobs together could use. */
double cw_scaling_assign(struct cw_dispatcher *d, int64_t now);

/* ---- placement.c ---- */
/* Whether a placement policy, and which, is to decide about the job; "off" if none. */
const char *cw_placement_policy(const struct cw_job *job);

/* ---- provisioner.c ---- */
/* external, none, process. INVALID names those that there are. */
int cw_provision_find(const char *name, const struct cw_provisioner **ret_kind, struct cw_err *err);
int cw_provision_open(struct cw_dispatcher *d, struct cw_err *err);
void cw_provision_close(struct cw_dispatcher *d);
void cw_provision_attached(struct cw_dispatcher *d, const struct cw_worker *worker);

/* ---- accounting.c ---- */
/* What jobs use, and what that costs: counted while it happens, kept in state.db with the job
 * and, of removed jobs, with the tenant.
 *
 * Time is charged at every tick, and whenever who uses what changes. A worker that serves
 * several jobs is charged to them by the parts that they have of it; one that serves none, to
 * nobody. Local workers run on the trainer's host, which is charged as client. */
void cw_usage_add(struct cw_usage *to, const struct cw_usage *more);
/* Of the time until now. */
void cw_accounting_tick(struct cw_dispatcher *d, int64_t now);
/* The job is removed: what it used is its tenant's. */
void cw_accounting_retire(struct cw_job *job);
/* Writes the sums of tenants that have changed (state/state.h). */
void cw_tenants_store(struct cw_dispatcher *d);

#endif
