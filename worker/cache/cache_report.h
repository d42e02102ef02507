/* SPDX-License-Identifier: Apache-2.0 */
/* The cache's part of a Progress message. Loop thread. */
#ifndef CW_WORKER_CACHE_CACHE_REPORT_H
#define CW_WORKER_CACHE_CACHE_REPORT_H

#include "cachew/v1/fleet.pb-c.h"
#include "worker/model/state.h"

/* Adds events; with with_counts also counters and the state of the store. */
void cw_wcache_report(struct cw_worker_state *w, Cachew__V1__Progress *progress, bool with_counts);
/* Frees what cw_wcache_report has added. */
void cw_wcache_report_free(Cachew__V1__Progress *progress);
/* Notes that the stream to the dispatcher has ended: everything is sent again on the next one. */
void cw_wcache_report_detached(struct cw_worker_state *w);

#endif
