/* SPDX-License-Identifier: Apache-2.0 */
/* Divides a fleet that is too small for all jobs: weighted max-min fairness (progressive
 * filling: Bertsekas and Gallager, Data Networks, 6.5.2), first between the tenants, then
 * between the jobs of each, in order of priority. No job starves: it gets its minimum whatever
 * the others want, or, if the fleet is too small for all minimums, its share of that by weight.
 * What a job does not want goes to the others. Pure, like all policies (policy.h). Shares are
 * numbers of workers and may be fractions: a worker can serve several jobs. */
#ifndef CW_POLICIES_MAX_MIN_SHARE_H
#define CW_POLICIES_MAX_MIN_SHARE_H

#include <stddef.h>

struct cw_share_tenant {
    double weight; /* > 0 */
    double most;   /* limit of workers for all its jobs together; <= 0 = no limit */
};
struct cw_share_job {
    size_t tenant;
    double weight; /* among the tenant's jobs of one priority, > 0 */
    int priority;  /* among the tenant's jobs: beyond the minimums, higher is served first */
    double least;  /* the job's minimum of workers (default 1) */
    /* workers that it can use: the autoscaler's wish within its maximum; less than least counts
     * as least */
    double want;
};
/* Sets ret_workers[i] for job i. Their sum is at most `workers`. */
void cw_share_out(double workers, const struct cw_share_tenant *tenants, size_t tenants_n,
                  const struct cw_share_job *jobs, size_t jobs_n, double *ret_workers);

#endif
