/* SPDX-License-Identifier: Apache-2.0 */
/* What was decided, by whom, of what, and why: every decision goes through here, into the log
 * and into state.db. Kinds:
 *
 *   autocache   at which node a job's elements are cached: choice is the node, "" = nothing
 *   autoscale   how many workers a job should have
 *   autoplace   how many of them run beside its trainer
 *   share       that it gets fewer workers than it wants, since there are no more
 *   provision   workers that are started or drained; of the fleet
 *   evict       chunks that leave the cache; of the fleet
 *
 * Which worker gets which lease is none: there are thousands a second, and they change nothing
 * but speed. Loop thread. */
#ifndef CW_DISPATCHER_DECISIONS_H
#define CW_DISPATCHER_DECISIONS_H

#include "dispatcher/model/model.h"

#define CW_DECISIONS_KEPT 100 /* of a job (or of the fleet) and a kind */
/* about; the last of each kind of each job that there is is among them */
#define CW_DECISIONS_IN_ALL 5000
#define CW_DECISIONS_BYTES ((size_t)2 << 20) /* of one answer */

#define CW_DECISION_KINDS 6
extern const char *const cw_decision_kinds[CW_DECISION_KINDS];

/* Sets id, time, epoch and the job's id and name; NULL texts are "". reason is one sentence;
 * inputs is JSON of all that was known; candidates are lines. job: NULL = about the fleet. */
void cw_decision_record(struct cw_dispatcher *d, const struct cw_job *job,
                        const struct cw_state_decision *decision);

/* ---- svc_decisions.c ---- */
void cw_svc_decisions_add(struct cw_dispatcher *d);

#endif
