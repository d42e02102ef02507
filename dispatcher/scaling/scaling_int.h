/* SPDX-License-Identifier: Apache-2.0 */
/* Declarations that the files of scaling/ share. */
#ifndef CW_DISPATCHER_SCALING_SCALING_INT_H
#define CW_DISPATCHER_SCALING_SCALING_INT_H

#include "dispatcher/scaling/scaling.h"

/* ---- settle.c ---- */
/* Returns whether measurements show the effect of the last change. It must be called once per
 * tick. */
bool cw_scaling_is_settled(struct cw_job *job, int64_t now);

/* ---- run_scaling_policy.c ---- */
void cw_scaling_record(const struct cw_job *job, const struct cw_policy_decision *decision,
                       const struct cw_scale_inputs *inputs);

/* ---- fair_share.c ---- */
/* Sets `granted` of each job, and returns what cw_scaling_assign returns. */
double cw_fair_shares_make(struct cw_dispatcher *d);

/* ---- time_slices.c ---- */
/* Sets worker_time and slice of each share, and tells the workers. */
void cw_time_slices_make(struct cw_dispatcher *d);
/* Returns how much of the worker's time its jobs' shares need; if less than 1, some is left. */
double cw_time_slices_of_worker(const struct cw_worker *w);
/* Returns how much time the job has on all its workers; less than `granted` means that they have no
 * more. */
double cw_time_slices_of_job(const struct cw_job *job);

/* ---- local_worker_counts.c ---- */
/* Returns how many local workers the job's clients would start. */
uint32_t cw_placement_max_local(const struct cw_job *job);
/* Returns whether any client would start local workers, or has started some. */
bool cw_placement_is_used(const struct cw_dispatcher *d);
/* Asks the job's clients for `wanted` local workers in all, and drains those that are too many. */
void cw_placement_carry_out(struct cw_job *job, uint32_t wanted, int64_t now);
/* Drains local workers whose job does not exist here. */
void cw_placement_tick(struct cw_dispatcher *d);

/* ---- provisioner.c ---- */
/* Jobs could use n workers: starts or drains some, within the limits. */
void cw_provision_set_wanted(struct cw_dispatcher *d, double n, int64_t now);

#endif
