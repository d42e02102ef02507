/* SPDX-License-Identifier: Apache-2.0 */
/* What jobs use, and what that costs: counted while it happens, kept in state.db with the job
 * and, of removed jobs, with the tenant.
 *
 * Time is charged at every tick, and whenever who uses what changes. A worker that serves
 * several jobs is charged to them by the parts that they have of it; one that serves none, to
 * nobody. Local workers run on the trainer's host, which is charged as client. */
#ifndef CW_DISPATCHER_USAGE_H
#define CW_DISPATCHER_USAGE_H

#include <stdbool.h>
#include <stdint.h>

struct cw_dispatcher;
struct cw_job;

struct cw_usage {
    uint64_t elements, bytes, cpu_ns; /* computed by workers */
    double remote_s, local_s;         /* of workers */
    double client_s;                  /* of attached trainers */
    double cost;                      /* by the prices of each moment */
};

void cw_usage_add(struct cw_usage *to, const struct cw_usage *more);
/* Of the time until now. */
void cw_usage_tick(struct cw_dispatcher *d, int64_t now);
/* The job is removed: what it used is its tenant's. */
void cw_usage_retire(struct cw_job *job);
/* With what people read of the job (telemetry.h), which is stored at the same time: when it has not
 * been for some time (all: if it changed at all). */
void cw_usage_store(struct cw_job *job, int64_t now, bool all);
bool cw_usage_is_unstored(const struct cw_job *job);         /* changed since */
bool cw_usage_is_due(const struct cw_job *job, int64_t now); /* changed, and long not stored */

#endif
