/* SPDX-License-Identifier: Apache-2.0 */
/* A job as its dispatcher describes it: everything that is needed to compute its batches again. */
#ifndef CW_CLIENT_TOOL_JOB_H
#define CW_CLIENT_TOOL_JOB_H

#include "base/hash.h"
#include "conf/value.h"
#include "graph/graph.h"

struct tool_job {
    char *id;
    /* epoch: the first that is not consumed. epochs: 0 if there is no last one. */
    uint64_t seed, epoch, epochs;
    /* The fingerprint of the pipeline with its sources; zero before they are opened. */
    struct cw_hash fingerprint;
    struct cw_graph *graph;
    /* The sources as they were when the job was prepared; null before they are opened. */
    struct cw_value manifest;
};
/* Fetches a job by its name or id. */
int tool_job_get(const char *dispatcher, const char *name, struct tool_job *ret_job,
                 struct cw_err *err);
/* Fetches any job with this fingerprint and seed. NOT_FOUND: the dispatcher knows none. */
int tool_job_find(const char *dispatcher, struct cw_hash fingerprint, uint64_t seed,
                  struct tool_job *ret_job, struct cw_err *err);
/* Checks that the source files are unchanged. STATE: one has another size or modification time than
 * the manifest says. */
int tool_job_check_files(const struct cw_value *manifest, struct cw_err *err);
void tool_job_fini(struct tool_job *job);
/* Returns the present epoch of the job; if the job is over, its last one. */
uint64_t tool_job_epoch(const struct tool_job *job);

#endif
