/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs that get fewer workers than their policies want, because there are no more. A decision says
 * so once this has lasted, and another when it is over. The shares themselves are computed at each
 * tick by scaling/assign.c. While workers are still starting, nothing is said. */
#include <math.h>
#include <string.h>

#include "dispatcher/job/telemetry.h"
#include "dispatcher/scaling/scaling.h"
#include "dispatcher/state/state.h"

#define LASTS_WINDOWS 2

static bool wants(const struct cw_job *job)
{
    return job->scaling && job->status == CW_JOB_RUNNING && cw_job_has_clients(job);
}

/* The wish is within the limits of the job and its tenant. */
static double wanted_by(const struct cw_job *job)
{
    return fmin(cw_scaling_wants(job), (double)cw_job_max_workers(job));
}

static double share_of(const struct cw_job *job)
{
    return job->granted > 0 ? fmax(floor(job->granted + 0.5), 1) : 0;
}

static bool fleet_is_at_its_limit(const struct cw_dispatcher *d)
{
    return d->provision.kind->fixed || d->provision.wanted >= cw_workers_possible(d);
}

/* Prints which jobs want how many workers, and what they get. Returns the sum of the wishes. */
static double print_inputs(const struct cw_dispatcher *d, struct cw_str *out)
{
    double all = 0;
    const char *before = "";
    cw_str_addf(out, "{\"workers\":%zu,\"jobs\":[", d->workers_n);
    for (const struct cw_job *job = d->jobs; job; job = job->next) {
        if (!wants(job))
            continue;
        double wanted = wanted_by(job);
        cw_str_addf(out, "%s{\"job\":\"%s\",\"tenant\":\"%s\",\"weight\":", before, job->id,
                    job->tenant ? job->tenant->name : "");
        cw_str_add_f64(out, job->options->weight > 0 ? job->options->weight : 1);
        cw_str_addf(out, ",\"priority\":%d,\"wanted\":%.0f,\"share\":", (int)job->options->priority,
                    wanted);
        cw_str_add_f64(out, job->granted);
        cw_str_add(out, "}");
        before = ",";
        all += wanted;
    }
    cw_str_add(out, "]}");
    return all;
}

static void record(const struct cw_job *job, double share)
{
    CW_STR_AUTO inputs = {0};
    double wanted = wanted_by(job), all = print_inputs(job->d, &inputs);
    const double n = share > 0 ? share : wanted;
    cw_autofree char *choice = cw_mem_printf("%.0f worker%s", n, n == 1 ? "" : "s");
    cw_autofree char *reason =
        share > 0
            ? cw_mem_printf(
                  "It wants %.0f; all jobs together want %.0f, and there are no more than %.0f.",
                  wanted, all, cw_workers_possible(job->d))
            : cw_mem_printf("It has all that it wants again.");
    const struct cw_state_decision row = {.kind = "share",
                                          .policy = "fair",
                                          .choice = choice,
                                          .reason = reason,
                                          .inputs = cw_str_text(&inputs)};
    cw_decision_record(job->d, job, &row);
}

void cw_too_few_workers_tick(struct cw_job *job, int64_t now)
{
    struct cw_telemetry *telemetry = job->telemetry;
    if (!wants(job)) {
        telemetry->alerted_share = 0;
        telemetry->differs_since_ms = 0;
        return;
    }
    double share = share_of(job),
           is = share < wanted_by(job) && fleet_is_at_its_limit(job->d) ? share : 0;
    if (is == telemetry->alerted_share) {
        telemetry->differs_since_ms = 0;
        return;
    }
    if (telemetry->differs_since_ms == 0)
        telemetry->differs_since_ms = now;
    if (now - telemetry->differs_since_ms < LASTS_WINDOWS * job->d->options.scale_window_ms)
        return;
    record(job, is);
    telemetry->alerted_share = is;
    telemetry->differs_since_ms = 0;
}
