/* SPDX-License-Identifier: Apache-2.0 */
/* The state of a worker that has no dispatcher, no clients and no threads, for tests of single
 * files: whatever it would send is dropped. */
#ifndef CW_TESTS_UNIT_WORKER_BARE_WORKER_H
#define CW_TESTS_UNIT_WORKER_BARE_WORKER_H

#include "worker/model/state.h"

#define BARE_BUDGET 100000

/* A worker with a budget of BARE_BUDGET bytes. */
struct cw_worker_state *bare_new(void);
/* Its jobs too. */
void bare_free(struct cw_worker_state *w);
/* A job without a pipeline, in the worker's table. */
struct cw_wjob *bare_job(struct cw_worker_state *w, const char *id, uint32_t consumers);
/* Leases items [lo, hi), with `counter` for the lease's id. */
void bare_lease(struct cw_wjob *job, uint64_t counter, uint64_t epoch, uint64_t lo, uint64_t hi);
/* An output of `bytes` bytes that is held and queued for one consumer, or for all. */
struct cw_output *bare_output(struct cw_wjob *job, uint64_t epoch, uint64_t item, size_t bytes,
                              bool to_all);

#endif
