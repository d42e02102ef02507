/* SPDX-License-Identifier: Apache-2.0 */
/* What the dispatcher counts, and what workers and trainers told it, as text for Prometheus
 * (exposition format 0.0.4); metric_items.h has the rows. Series are bounded by what the
 * dispatcher keeps: jobs by --max-jobs; operators are told of jobs at work only. Loop thread. */
#ifndef CW_DISPATCHER_ADMIN_METRICS_H
#define CW_DISPATCHER_ADMIN_METRICS_H

#include "base/str.h"
#include "dispatcher/model/model.h"

#define CW_METRICS_NODES_MAX 64 /* operators of a job */

void cw_metrics_print(struct cw_dispatcher *d, struct cw_str *out);
/* A label's value: backslashes, quotes and newlines escaped; other control characters are '?'. */
void cw_metrics_add_value(struct cw_str *out, const char *text);
void cw_metrics_markdown(struct cw_str *out); /* docs/metrics.md */

/* --metrics-listen: /metrics and /healthz by HTTP. Nothing when it is not asked for. */
int cw_metrics_open(struct cw_dispatcher *d, struct cw_err *err);
void cw_metrics_close(struct cw_dispatcher *d);
void cw_svc_metrics_add(struct cw_dispatcher *d);

#endif
