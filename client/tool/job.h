/* SPDX-License-Identifier: Apache-2.0 */
/* A job as its dispatcher describes it: all that is needed to compute its batches again. */
#ifndef CW_CLIENT_TOOL_JOB_H
#define CW_CLIENT_TOOL_JOB_H

#include "base/hash.h"
#include "conf/value.h"
#include "graph/graph.h"

struct tool_job {
    char *id;
    /* epoch: the first that is not consumed; epochs: 0 = without end */
    uint64_t seed, epoch, epochs;
    struct cw_hash fingerprint; /* of pipeline and sources; zero before they are opened */
    struct cw_graph *graph;
    struct cw_value manifest; /* the sources as they were; null before they are opened */
};
/* By name or id. */
int tool_job_get(const char *dispatcher, const char *name, struct tool_job *ret_job,
                 struct cw_err *err);
/* Any job of this fingerprint and seed: NOT_FOUND when the dispatcher knows none. */
int tool_job_find(const char *dispatcher, struct cw_hash fingerprint, uint64_t seed,
                  struct tool_job *ret_job, struct cw_err *err);
/* STATE when a source file has another size or time of change than the manifest says. */
int tool_job_check_files(const struct cw_value *manifest, struct cw_err *err);
void tool_job_fini(struct tool_job *job);
/* The present epoch of the job; if the job is over, its last. */
uint64_t tool_job_epoch(const struct tool_job *job);

#endif
