/* SPDX-License-Identifier: Apache-2.0 */
/* Indices that several workers make together (ops/source/index_parts.h; docs/protocol.md, "Indices"):
 * the worker that prepares a job leases parts to those that the dispatcher offers; a worker that was
 * leased some makes them on a thread. Loop thread, but for cw_index_help_run. */
#ifndef CW_WORKER_JOB_INDEX_LEASES_H
#define CW_WORKER_JOB_INDEX_LEASES_H

#include "cachew/v1/fleet.pb-c.h"
#include "worker/model/state.h"

struct cw_loading;

/* ---- commands of the dispatcher ---- */
void cw_index_leases_asked(struct cw_worker_state *w, const Cachew__V1__IndexAsk *ask);
void cw_index_leases_made(struct cw_worker_state *w, const Cachew__V1__IndexMade *made);
/* source_store: as in cw_source_use_store */
void cw_index_leases_given(struct cw_worker_state *w, const Cachew__V1__IndexLease *lease,
                           uint64_t source_store);

/* ---- what a loading needs ---- */
/* Of a preparation. */
void cw_index_leases_init(struct cw_loading *loading);
void cw_index_leases_fini(struct cw_loading *loading);
/* The dispatcher that gave the numbers is gone. */
void cw_index_leases_detached(struct cw_worker_state *w);
/* Makes the parts that were leased to this worker; on the loading's thread. */
int cw_index_help_run(struct cw_loading *loading);
/* Tells the dispatcher what came of it. */
void cw_index_help_tell(struct cw_loading *loading);
/* Logs what the surveys of a manifest have found out. */
void cw_index_tell_surveys(const char *job_id, const struct cw_value *manifest);

#endif
