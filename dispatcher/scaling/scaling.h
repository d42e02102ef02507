/* SPDX-License-Identifier: Apache-2.0 */
/* How many workers each job has, where they run, which part of each belongs to the job, and what
 * that costs. This is the face of scaling/.
 *
 *   scaling.c              gives demand windows to the job's policy (policies/scale.h)
 *   run_scaling_policy.c   which policy that is, what it is shown, and what is remembered of it
 *   fair_share.c           computes fair shares of the fleet from what jobs want
 *                          (policies/max_min_share.h)
 *   assign.c               turns fair shares into assigned workers
 *   time_slices.c          divides the time of a worker that several jobs use
 *   local_worker_counts.c  how many workers each client is asked to start on its own host
 *   provisioner.c          how many workers there should be in all
 *   accounting.c           what jobs have used, and what it cost
 *   settle.c               after a change: when measurements show its effect */
#ifndef CW_DISPATCHER_SCALING_SCALING_H
#define CW_DISPATCHER_SCALING_SCALING_H

#include "dispatcher/model/model.h"

struct cw_scaling { /* The scaling of one job: its policy, its windows and its last decision. */
    const struct cw_scale_policy *policy;
    const char *argument;
    struct cw_scale_options options;
    struct cw_scale_state state;
    /* The numbers of remote and local workers that the policy wants. */
    double target, local_target;
    uint32_t local_n; /* The number of local workers that get leases. */
    uint32_t
        /* Of these and of the remote workers, those that have completed items since they were
         * assigned. */
        serving_n;
    int64_t changed_ms; /* The time when the job's workers last changed. */
    /* When everything below this is consumed, nothing of it was leased under the old number of
     * workers any more. It counts epoch * items + item. */
    uint64_t settle_at;
    unsigned settling; /* The number of rounds (see settle_at) that are still to come. */
    /* ---- the present demand window ---- */
    int64_t begin_ms;
    struct cw_demand_sums sums;
    struct cw_scale_window last; /* The last complete demand window. */
};

/* Checks a policy's name and argument. "" stands for the dispatcher's own policy. INVALID: there is
 * no such policy. */
int cw_scaling_check(const char *policy, struct cw_err *err);
int cw_placement_check(const char *policy, struct cw_err *err);
void cw_scaling_begin(struct cw_job *job); /* Chooses the policy of a job that was just created. */
/* Changes the policy of a running job by request: for the number of its workers or, with `place`,
 * for where they run. INVALID: there is no such policy. */
int cw_scaling_change(struct cw_job *job, const char *policy, bool place, struct cw_err *err);
/* A client has joined. An earlier dispatcher, or an earlier connection, had asked it for local_now
 * local workers. */
void cw_scaling_client_joined(struct cw_job *job, uint32_t local_now);
void cw_scaling_free(struct cw_job *job);
/* Whether the job's policy finds the number of workers by itself, so that it may be told it. */
bool cw_scaling_may_jump(const struct cw_job *job);
/* The job has a new plan, which needs so many workers: if they are fewer, the policy begins anew with them.
 * Whether more would help it finds by trying, since workers are not all that may be short. */
void cw_scaling_jump(struct cw_job *job, unsigned workers);
void cw_scaling_measured(struct cw_job *job, const Cachew__V1__Ack *ack);
/* Notes that the job's number of workers, or its plan, has changed: what is measured until that shows is
 * not believed (settle.c). */
void cw_scaling_changed(struct cw_job *job, int64_t now);
/* The job was loaded: it goes on with the numbers that were decided last. */
void cw_scaling_restore(struct cw_job *job);
/* After a restart a worker comes back that computes for the job: it becomes one of the job's. */
void cw_scaling_keep_worker(struct cw_job *job, struct cw_worker *worker);
/* Of a job with scaling: the kind of its decisions, "autoscale" or "autoplace"; what the policy is
 * shown besides the window; and its decision in words, which the caller frees. */
const char *cw_scaling_kind(const struct cw_job *job);
void cw_scaling_inputs(const struct cw_job *job, const struct cw_scale_window *window,
                       struct cw_scale_inputs *ret_inputs);
char *cw_scaling_choice(const struct cw_job *job,
                        const struct cw_policy_decision *decision) CW_MUST_CHECK;
/* Returns how many remote workers the job is to have, whatever other jobs want. */
double cw_scaling_wants(const struct cw_job *job);
/* Gives complete windows to their policies, and turns what they want into assigned workers. */
void cw_scaling_tick(struct cw_dispatcher *d, int64_t now);

/* ---- assign.c ---- */
/* Brings shares, assigned workers and time slices up to date. Returns how many workers all jobs
 * together could use. */
double cw_scaling_assign(struct cw_dispatcher *d, int64_t now);

/* ---- local_worker_counts.c ---- */
/* Returns the placement policy that decides about the job; "off" if there is none. */
const char *cw_placement_policy(const struct cw_job *job);

/* ---- provisioner.c ---- */
/* Finds a provisioner by its name. The error INVALID names those that exist. */
int cw_provision_find(const char *name, const struct cw_provisioner **ret_kind, struct cw_err *err);
int cw_provision_open(struct cw_dispatcher *d, struct cw_err *err);
void cw_provision_close(struct cw_dispatcher *d);
void cw_provision_attached(struct cw_dispatcher *d, struct cw_worker *worker);

/* ---- accounting.c ---- */
/* What jobs use, and what that costs. It is counted as it happens, kept in state.db with the job
 * and, after the job's removal, with the tenant.
 *
 * Time is charged at every tick, and whenever it changes who uses what. A worker that serves
 * several jobs is charged to them by their time slices; one that serves none is charged to nobody.
 * Local workers run on the trainer's host, which is charged as a client. */
void cw_usage_add(struct cw_usage *to, const struct cw_usage *more);
/* Charges the jobs for their workers and clients in the time since each was charged last. */
void cw_accounting_tick(struct cw_dispatcher *d, int64_t now);
/* Charges for one worker, which goes or whose jobs change: the time of a job on it counts from the first
 * call that finds it used, so a job pays nothing for the time before. */
void cw_accounting_worker(struct cw_worker *worker, int64_t now);
/* Charges for the job's workers and clients, before its clients change. */
void cw_accounting_job(struct cw_job *job, int64_t now);
/* The job is removed: its use is added to its tenant's. */
void cw_accounting_retire(struct cw_job *job);
/* Writes the sums of tenants that have changed (state/state.h). */
void cw_tenants_store(struct cw_dispatcher *d);

#endif
