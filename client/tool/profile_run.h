/* SPDX-License-Identifier: Apache-2.0 */
/* cachew profile: what a pipeline's operators cost, measured in this process, or by a job's workers. */
#ifndef CW_CLIENT_TOOL_PROFILE_RUN_H
#define CW_CLIENT_TOOL_PROFILE_RUN_H

#include "cachew/v1/admin.pb-c.h"
#include "rewrite/profile.h"

struct cw_plan;
/* Called with the plan that was run, when it is done: its counters are there. */
typedef void tool_profiled_fn(void *arg, struct cw_plan *plan);

/* Runs the pipeline of a file with the engine of workers, epoch after epoch, for so many seconds: with
 * one thread, and then, half of the time, with `threads`. Nothing is cached. */
int tool_profile_run(const char *path, double seconds, size_t threads,
                     struct cw_cost_profile *ret_profile, struct cw_err *err);
/* The same of a pipeline that is checked; look: is called at the end, or NULL. */
int tool_profile_checked(struct cw_checked *checked, double seconds, size_t threads,
                         tool_profiled_fn *look, void *arg, struct cw_cost_profile *ret_profile,
                         struct cw_err *err);
/* Asks a dispatcher what a job has measured (profile_job.c). */
int tool_profile_job(const char *dispatcher, const char *job, struct cw_cost_profile *ret_profile,
                     struct cw_err *err);

/* Makes the profile of what it answered to Explain; `checked` is the job's pipeline. */
int tool_profile_of_reply(const Cachew__V1__ExplainReply *reply, const struct cw_checked *checked,
                          const char *job, struct cw_cost_profile *ret_profile, struct cw_err *err);

/* Writes a profile to a file (NULL: to standard output): as JSON if its name ends with .json, else as YAML.
 * Returns the exit code (profile_write.c). */
int tool_profile_write(const struct cw_cost_profile *profile, const char *path);

#endif
