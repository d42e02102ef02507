/* SPDX-License-Identifier: Apache-2.0 */
/* cachew profile: what a pipeline's operators cost, measured in this process, or by a job's workers. */
#ifndef CW_CLIENT_TOOL_PROFILE_RUN_H
#define CW_CLIENT_TOOL_PROFILE_RUN_H

#include "rewrite/profile.h"

/* Runs the pipeline of a file with the engine of workers, epoch after epoch, for so many seconds: with
 * one thread, and then, half of the time, with `threads`. Nothing is cached. */
int tool_profile_run(const char *path, double seconds, size_t threads,
                     struct cw_cost_profile *ret_profile, struct cw_err *err);
/* Asks a dispatcher what a job has measured (profile_job.c). */
int tool_profile_job(const char *dispatcher, const char *job, struct cw_cost_profile *ret_profile,
                     struct cw_err *err);

#endif
