/* SPDX-License-Identifier: Apache-2.0 */
/* What tools and scrapers ask for: the calls of proto/cachew/v1/admin.proto, and metrics. This is
 * the face of admin/.
 *
 *   svc_common.c          what all calls have in common: unpacking, finding the job, replying
 *   svc_admin.c           the dispatcher, jobs and workers: shown, changed, removed, drained
 *   svc_cache.c           the cache · svc_tenants.c: tenants · svc_decisions.c: recorded decisions
 *   svc_caches.c          caches are attached, described, closed and detached
 *   svc_jobs.c            the list of jobs · svc_workers.c: the list of workers
 *   walk.c                goes over all jobs and workers, a part in each turn of the loop
 *   svc_elements.c        elements of a job's latest batches, where the operator allows it
 *   svc_explain.c         a job's decisions, and what its policies would decide now
 *   svc_check_pipeline.c  whether a pipeline could run
 *   measured_rows.c       measurements of jobs and workers as messages
 *   metrics.c             metrics as text, from the rows of metric_items.h
 *   metrics_serve.c       serves metrics by call and by HTTP; metrics_tls.c: by HTTPS
 *   backup.c              a copy of the state, as a stream */
#ifndef CW_DISPATCHER_ADMIN_ADMIN_H
#define CW_DISPATCHER_ADMIN_ADMIN_H

#include "dispatcher/admin/metrics.h"
#include "dispatcher/model/model.h"

/* Each of these functions adds its methods to the server. (cw_svc_metrics_add is in metrics.h.) */
/* ---- svc_admin.c ---- */
void cw_svc_admin_add(struct cw_dispatcher *d);
/* ---- svc_cache.c ---- */
void cw_svc_cache_add(struct cw_dispatcher *d);
/* ---- svc_caches.c ---- */
void cw_svc_caches_add(struct cw_dispatcher *d);
/* ---- svc_decisions.c ---- */
void cw_svc_decisions_add(struct cw_dispatcher *d);
/* ---- svc_elements.c ---- */
void cw_svc_elements_add(struct cw_dispatcher *d);
/* ---- svc_explain.c ---- */
void cw_svc_explain_add(struct cw_dispatcher *d);
/* ---- svc_check_pipeline.c ---- */
void cw_svc_check_add(struct cw_dispatcher *d);

/* ---- svc_plan.c ---- */
void cw_svc_plan_add(struct cw_dispatcher *d);
/* ---- svc_tenants.c ---- */
void cw_svc_tenants_add(struct cw_dispatcher *d);
/* ---- backup.c ---- */
void cw_backup_add(struct cw_dispatcher *d);
void cw_backup_close(struct cw_dispatcher *d); /* Tells the thread to stop, and waits for it. */

#endif
