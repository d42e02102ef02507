/* SPDX-License-Identifier: Apache-2.0 */
/* Who gets how much of a fleet that is too small for all: weighted max-min fairness (progressive
 * filling: Bertsekas and Gallager, Data Networks, 6.5.2), first between the tenants, then
 * between the jobs of each, in order of priority. Nobody starves: a job has its minimum whatever
 * the others are, or, when there is not even that for all, its share of it by weight. What one
 * does not want the others get. Pure, like all policies (policy.h). Shares are in workers and
 * may be fractions: a worker can serve several jobs. */
#ifndef CW_POLICIES_SHARE_H
#define CW_POLICIES_SHARE_H

#include <stddef.h>

struct cw_share_tenant {
    double weight; /* > 0 */
    double most;   /* workers of all its jobs together; <= 0 = no limit */
};
struct cw_share_job {
    size_t tenant;
    double weight; /* within its tenant and priority, > 0 */
    int priority;  /* within its tenant: higher is served first, above the minimum */
    double least;  /* workers that it has a right to (1 if nobody says otherwise) */
    /* workers that it can use: the autoscaler's wish within its maximum; less than least counts
     * as least */
    double want;
};
/* ret_workers[i]: of job i. Their sum is at most workers. */
void cw_share_out(double workers, const struct cw_share_tenant *tenants, size_t tenants_n,
                  const struct cw_share_job *jobs, size_t jobs_n, double *ret_workers);

#endif
