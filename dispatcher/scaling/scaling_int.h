/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files of scaling/. */
#ifndef CW_DISPATCHER_SCALING_SCALING_INT_H
#define CW_DISPATCHER_SCALING_SCALING_INT_H

#include "dispatcher/scaling/scaling.h"

/* ---- settle.c ---- */
/* The workers that it has are others. */
void cw_scaling_changed(struct cw_job *job, int64_t now);
/* Whether what is measured now shows the change: call it once a tick. */
bool cw_scaling_is_settled(struct cw_job *job, int64_t now);

/* ---- scaling_policy.c ---- */
void cw_scaling_record(const struct cw_job *job, const struct cw_scale_decision *decision,
                       const struct cw_scale_inputs *inputs);

/* ---- fair_share.c ---- */
/* sets job->granted; returns as cw_scaling_assign */
double cw_fair_shares_make(struct cw_dispatcher *d);

/* ---- time_slices.c ---- */
void cw_time_slices_make(
    struct cw_dispatcher *d); /* sets share->worker_time and part, tells workers */
/* that the shares of its jobs take; less than 1: it is not all needed */
double cw_time_slices_of_worker(const struct cw_worker *w);
/* that it has in all; less than granted: its workers have no more */
double cw_time_slices_of_job(const struct cw_job *job);

/* ---- placement.c ---- */
/* Workers that the job's clients would start. */
uint32_t cw_placement_max_local(const struct cw_job *job);
/* Whether any client would start workers, or has. */
bool cw_placement_is_used(const struct cw_dispatcher *d);
/* Asks the clients for `wanted` in all, drains those that are too many. */
void cw_placement_carry_out(struct cw_job *job, uint32_t wanted, int64_t now);
/* A local worker whose job is not known here has nothing to do. */
void cw_placement_tick(struct cw_dispatcher *d);

/* ---- provisioner.c ---- */
/* So many could be used: begins or drains workers, within the limits. */
void cw_provision_set_wanted(struct cw_dispatcher *d, double n, int64_t now);

#endif
