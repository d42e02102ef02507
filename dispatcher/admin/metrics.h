/* SPDX-License-Identifier: Apache-2.0 */
/* Metrics as text for Prometheus (exposition format 0.0.4): what the dispatcher counts, and what
 * workers and trainers reported to it. metric_items.h has the rows. The number of series is limited
 * by what the dispatcher keeps: jobs by --max-jobs; operators are shown only of running jobs.
 *
 * The numbers of thousands of workers are collected in several iterations of the loop (walk.h). The
 * text is made of them by another thread, since that takes longest. */
#ifndef CW_DISPATCHER_ADMIN_METRICS_H
#define CW_DISPATCHER_ADMIN_METRICS_H

#include "base/str.h"
#include "dispatcher/model/model.h"

/* The largest number of operators of a job that metrics are shown for. */
#define CW_METRICS_NODES_MAX 64

/* Numbers that were collected, on the loop thread: of each object once. */
struct cw_metrics_page;
struct cw_metrics_page *cw_metrics_page_new(void) CW_MUST_CHECK;
void cw_metrics_page_free(struct cw_metrics_page *page); /* Accepts NULL. */
/* Adds what is not of one tenant, job or worker. */
void cw_metrics_add_dispatcher(struct cw_metrics_page *page, struct cw_dispatcher *d);
void cw_metrics_add_tenant(struct cw_metrics_page *page, struct cw_dispatcher *d,
                           const struct cw_tenant *tenant);
void cw_metrics_add_job(struct cw_metrics_page *page, struct cw_job *job);
void cw_metrics_add_worker(struct cw_metrics_page *page, const struct cw_worker *worker);
/* Adds how many of the workers and jobs that were added are in which state. */
void cw_metrics_add_states(struct cw_metrics_page *page, struct cw_dispatcher *d);
/* Adds the text to `out`. Any thread. */
void cw_metrics_page_print(const struct cw_metrics_page *page, struct cw_str *out);

/* Adds the value of a label, in which backslashes, quotes and newlines are escaped, and other
 * control characters become '?'. */
void cw_metrics_add_value(struct cw_str *out, const char *text);
void cw_metrics_markdown(struct cw_str *out); /* Writes the text of docs/metrics.md to `out`. */

/* Serves /metrics and /healthz by HTTP, if --metrics-listen was given. */
int cw_metrics_open(struct cw_dispatcher *d, struct cw_err *err);
void cw_metrics_close(struct cw_dispatcher *d);
void cw_svc_metrics_add(struct cw_dispatcher *d);

#endif
