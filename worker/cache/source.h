/* SPDX-License-Identifier: Apache-2.0 */
/* The source cache of this worker. Loop thread. */
#ifndef CW_WORKER_CACHE_SOURCE_H
#define CW_WORKER_CACHE_SOURCE_H

#include "cachew/v1/fleet.pb-c.h"
#include "worker/worker.h"

int cw_wsource_start(struct cw_worker *w, const struct cw_worker_options *o, struct cw_err *err);
/* NULL = the cluster has none */
void cw_wsource_welcome(struct cw_worker *w, const Cachew__V1__CacheStore *store);
void cw_wsource_stop(struct cw_worker *w); /* no plan may be open */
void cw_wsource_report(struct cw_worker *w, Cachew__V1__Progress *progress);
void cw_wsource_report_free(Cachew__V1__Progress *progress);

#endif
