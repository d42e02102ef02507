/* SPDX-License-Identifier: Apache-2.0 */
/* How many workers each job has: windows of what its trainers measured go to an autoscale policy
 * (policies/scale.h), fair shares are made of what all jobs want (policies/share.h), workers are
 * assigned, and the provisioner is told how many there should be. Loop thread.
 *
 *   scaling.c         windows, policies, targets
 *   fair_share.c          targets to fair shares; a job whose policy is "off" wants all workers
 *   assign.c  shares to workers
 *   time_slices.c           what part of each */
#ifndef CW_DISPATCHER_SCALING_H
#define CW_DISPATCHER_SCALING_H

#include "dispatcher/model/model.h"
#include "dispatcher/model/demand_window.h"

struct cw_scaling { /* of a job */
    const struct cw_scale_policy *policy;
    const char *argument;
    struct cw_scale_options options;
    struct cw_scale_state state;
    double target, local_target; /* remote and local workers that the policy wants */
    double granted;              /* of the remote ones, the fair share */
    uint32_t assigned_n;         /* remote workers that get leases */
    uint32_t local_n;            /* and local ones */
    uint32_t serving_n; /* of all these, that have done something since they were assigned */
    int64_t changed_ms; /* when that changed */
    /* consumed up to here, what was leased under the old number is behind (epoch * items + item) */
    uint64_t settle_at;
    unsigned settling; /* rounds of that still to go */
    /* the window under way */
    int64_t begin_ms;
    struct cw_trainer_sums sums;
    struct cw_scale_window last; /* the last whole one */
};

/* "" = as the dispatcher was told. INVALID: there is no such policy. */
int cw_scaling_check(const char *policy, struct cw_err *err);
int cw_placing_check(const char *policy, struct cw_err *err);
void cw_scaling_begin(struct cw_job *job); /* a job is made */
/* By request, in the middle of a job: another policy for its workers, or (place) for where they
 * run. INVALID: there is no such policy. */
int cw_scaling_change(struct cw_job *job, const char *policy, bool place, struct cw_err *err);
/* A client has come, which had been asked for so many local workers by an earlier dispatcher or
 * over an earlier connection. */
void cw_scaling_joined(struct cw_job *job, uint32_t local_now);
void cw_scaling_free(struct cw_job *job);
void cw_scaling_measured(struct cw_job *job, const Cachew__V1__Ack *ack);
/* A job was loaded: it goes on with the numbers that were decided last. */
void cw_scaling_restore(struct cw_job *job);
/* Then a worker comes back that computes for it: it is one of the job's. */
void cw_scaling_keep(struct cw_job *job, struct cw_worker *worker);
void cw_scaling_record(const struct cw_job *job, const struct cw_scale_decision *decision,
                       const struct cw_scale_inputs *inputs);
/* "autoscale" or "autoplace"; what the policy is shown besides the window; what it said, in
 * words (the caller frees). The job has scaling. */
const char *cw_scaling_kind(const struct cw_job *job);
void cw_scaling_inputs(const struct cw_job *job, const struct cw_scale_window *window,
                       struct cw_scale_inputs *ret_inputs);
char *cw_scaling_choice(const struct cw_job *job,
                        const struct cw_scale_decision *decision) CW_MUST_CHECK;
/* Remote workers that it is to have, whatever others want. */
double cw_scaling_wants(const struct cw_job *job);
/* Whether the worker is one of the job's. */
bool cw_scaling_uses(const struct cw_job *job, const struct cw_worker *worker);
/* Windows that are full go to their policies; targets to shares, shares to workers. */
void cw_scaling_tick(struct cw_dispatcher *d, int64_t now);

/* The workers that it has are others. */
void cw_scaling_changed(struct cw_job *job, int64_t now);
/* Whether what is measured now shows the change: call it once a tick. */
bool cw_scaling_is_settled(struct cw_job *job, int64_t now);

/* assign.c */
/* Makes shares, assigned workers and parts what they should be now; returns how many workers all
 * jobs together could use. */
double cw_scaling_assign(struct cw_dispatcher *d, int64_t now);

/* fair_share.c */
bool cw_job_wants_workers(const struct cw_job *job);
/* its own limit, and its tenant's; CW_NO_LIMIT = none */
uint64_t cw_job_most_workers(const struct cw_job *job);
/* no policy, no limit: it uses every worker, each for a part of its time */
bool cw_job_is_everywhere(const struct cw_job *job);
/* sets job->granted; returns as cw_scaling_assign */
double cw_shares_make(struct cw_dispatcher *d);

/* time_slices.c */
void cw_parts_make(struct cw_dispatcher *d); /* sets share->time and part, tells workers */
/* that the shares of its jobs take; less than 1: it is not all needed */
double cw_parts_time_on(const struct cw_worker *w);
/* that it has in all; less than granted: its workers have no more */
double cw_parts_time_of(const struct cw_job *job);

#endif
