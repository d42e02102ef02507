/* SPDX-License-Identifier: Apache-2.0 */
/* Workers that see other files than a job was prepared with (another copy of the data, a missing
 * mount). Such a worker is barred: it gets no leases of the job, tools show it, and it is tried
 * again at intervals. If no worker is left that sees the job's files, the job waits for one, and
 * fails after a while. Loop thread. */
#ifndef CW_DISPATCHER_MODEL_OTHER_FILES_H
#define CW_DISPATCHER_MODEL_OTHER_FILES_H

#include <stdbool.h>
#include <stdint.h>
#include "base/compiler.h"

struct cw_job;
struct cw_share;
struct cw_worker;

/* A barred worker is tried again after this time, since its files may have been repaired. */
#define CW_OTHER_FILES_RETRY_MS 30000

/* What is known of the workers of a job that see other source files; the verdict depends on it. */
struct cw_files_view {
    /* The job has a worker that was not found to see other files than the job was prepared with. */
    bool others;
    bool barred; /* The job has a worker that was found to see other files. */
    /* One of the workers that see other files prepared the job, so the files themselves have
     * changed. */
    bool preparer;
    /* The time that has passed since the job last had a worker that sees its files. */
    int64_t none_ms;
    int64_t grace_ms; /* The time that the job waits for another worker. */
};
enum cw_files_verdict { CW_FILES_GO_ON, CW_FILES_WAIT, CW_FILES_FAIL };
enum cw_files_verdict cw_other_files_verdict(const struct cw_files_view *view);

/* The worker reported that an item's file is another one: it is barred from the job. */
void cw_other_files_seen(struct cw_share *share, const char *error, int64_t now);
/* The worker has computed an item, so it sees the job's files. */
void cw_other_files_computed(struct cw_share *share);
/* Ends the bar of workers that have been barred for long enough. */
void cw_other_files_tick(struct cw_job *job, int64_t now);
/* Returns NULL, or the reason why the job must fail with OTHER_FILE because no worker sees its
 * files. The caller frees it. */
char *cw_other_files_judge(struct cw_job *job, int64_t now) CW_MUST_CHECK;
/* Returns whether the worker is barred from the job. */
bool cw_other_files_is_barred(const struct cw_job *job, const struct cw_worker *worker);
/* Returns "worker ADDRESS: ..." of the first worker that sees other files, and their number; NULL
 * if there is none. */
const char *cw_other_files_text(const struct cw_job *job, uint32_t *ret_n);
void cw_other_files_forget(struct cw_share *share); /* Forgets the share, which is being removed. */

#endif
