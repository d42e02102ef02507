/* SPDX-License-Identifier: Apache-2.0 */
/* Divides a fleet that is too small for all jobs by weighted max-min fairness (progressive filling:
 * Bertsekas and Gallager, Data Networks, 6.5.2), first among the tenants, then among the jobs of
 * each, in order of priority. No job starves: it gets its minimum whatever the others want, or, if
 * the fleet is too small for all minimums, its part of the fleet by weight. What a job does not
 * want goes to the others. The function is pure, like all policies (policy.h). Shares are numbers
 * of workers and may be fractions, since a worker can serve several jobs. */
#ifndef CW_POLICIES_MAX_MIN_SHARE_H
#define CW_POLICIES_MAX_MIN_SHARE_H

#include <stddef.h>

struct cw_share_tenant {
    double weight; /* > 0 */
    double most;   /* limit of workers for all its jobs together; <= 0 = no limit */
};
struct cw_share_job {
    size_t tenant;
    double weight; /* weight among the tenant's jobs of one priority, > 0 */
    /* priority among the tenant's jobs: beyond the minimums, a higher one is served first */
    int priority;
    double least; /* the job's minimum of workers (default 1) */
    /* Number of workers that it can use: the autoscaler's wish, limited by its maximum; less than
     * `least` counts as `least`. */
    double want;
};
/* Sets ret_workers[i] for job i. Their sum is at most `workers`. */
void cw_share_out(double workers, const struct cw_share_tenant *tenants, size_t tenants_n,
                  const struct cw_share_job *jobs, size_t jobs_n, double *ret_workers);

#endif
