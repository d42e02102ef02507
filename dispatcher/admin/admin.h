/* SPDX-License-Identifier: Apache-2.0 */
/* What tools and scrapers ask: unary calls of proto/cachew/v1/admin.proto, and metrics. */
#ifndef CW_DISPATCHER_ADMIN_ADMIN_H
#define CW_DISPATCHER_ADMIN_ADMIN_H

#include "dispatcher/admin/metrics.h"
#include "dispatcher/model/model.h"

/* Each adds its methods to the server. */
/* ---- svc_admin.c ---- */
void cw_svc_admin_add(struct cw_dispatcher *d);
void cw_svc_cache_add(struct cw_dispatcher *d);
void cw_svc_decisions_add(struct cw_dispatcher *d);
void cw_svc_explain_add(struct cw_dispatcher *d);
void cw_svc_tenants_add(struct cw_dispatcher *d);
/* ---- backup.c ---- */
void cw_backup_add(struct cw_dispatcher *d);
void cw_backup_close(struct cw_dispatcher *d); /* waits for its thread, which is told to stop */

#endif
