/* SPDX-License-Identifier: Apache-2.0 */
/* How many workers each job has: windows of what its trainers measured go to an autoscale policy (policies/scale.h), fair shares are made of what
 * all jobs want (policies/share.h), workers are assigned, and the provisioner is told how many there should be. Loop thread.
 *
 * A job whose policy is "off" uses every worker, and takes no part in this. */
#ifndef CW_DISPATCHER_SCALING_H
#define CW_DISPATCHER_SCALING_H

#include "dispatcher/dispatcher.h"
#include "policies/scale.h"

struct cw_scaling { /* of a job */
    const struct cw_scale_policy *policy;
    const char *argument;
    struct cw_scale_options options;
    struct cw_scale_state state;
    double target;       /* workers that the policy wants; 0 = nothing decided yet */
    double granted;      /* of these, the fair share */
    uint32_t assigned_n; /* workers that get leases */
    uint32_t serving_n;  /* of these, that have done something since they were assigned */
    int64_t changed_ms;  /* when that changed */
    uint64_t settle_at;  /* consumed up to here, what was leased under the old number is behind (epoch * items + item) */
    unsigned settling;   /* rounds of that still to go */
    /* the window under way */
    int64_t begin_ms;
    uint64_t batches, ns, wait_ns, queue_n;
    double step_batches, step_sum, queue_sum;
    struct cw_scale_window last; /* the last whole one */
    unsigned windows_n, decisions_n;
};

/* "" = as the dispatcher was told. INVALID: there is no such policy. */
int cw_scaling_check(const char *policy, struct cw_err *err);
void cw_scaling_begin(struct cw_job *job); /* a job is made */
void cw_scaling_free(struct cw_job *job);
void cw_scaling_measured(struct cw_job *job, const Cachew__V1__Ack *ack);
/* Whether the worker is one of the job's. */
bool cw_scaling_uses(const struct cw_job *job, const struct cw_worker *worker);
/* Windows that are full go to their policies; targets to shares, shares to workers. */
void cw_scaling_tick(struct cw_dispatcher *d, int64_t now);

/* The workers that it has are others. */
void cw_scaling_changed(struct cw_job *job, int64_t now);

/* scaling_assign.c */
/* Makes assigned workers what the shares say; returns how many workers all jobs together could use. */
double cw_scaling_assign(struct cw_dispatcher *d, int64_t now);

#endif
