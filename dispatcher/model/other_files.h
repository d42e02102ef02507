/* SPDX-License-Identifier: Apache-2.0 */
/* Workers that see other files than a job was prepared with (another copy, a mount that is
 * missing): such a worker gets no leases of the job, is shown as such, and is tried again now
 * and then. If no worker is left that sees the files, the job waits for one, and then fails.
 * Loop thread. */
#ifndef CW_DISPATCHER_MODEL_OTHER_FILES_H
#define CW_DISPATCHER_MODEL_OTHER_FILES_H

#include <stdbool.h>
#include <stdint.h>
#include "base/compiler.h"

struct cw_job;
struct cw_share;
struct cw_worker;

#define CW_OTHER_FILES_RETRY_MS 30000 /* somebody may have put them in order */

struct cw_files_view { /* of a job */
    bool others;       /* a worker serves it that was not found to see other files */
    bool barred;       /* one was */
    /* among those is the one that prepared it: the files themselves have changed */
    bool preparer;
    int64_t none_ms;  /* for so long there has been no other worker */
    int64_t grace_ms; /* for so long one may come */
};
enum cw_files_verdict { CW_FILES_GO_ON, CW_FILES_WAIT, CW_FILES_FAIL };
enum cw_files_verdict cw_other_files_verdict(const struct cw_files_view *view);

/* The worker said so of an item: it gets no more of the job until it is tried again. */
void cw_other_files_seen(struct cw_share *share, const char *error, int64_t now);
void cw_other_files_computed(struct cw_share *share); /* it has computed something: it sees them */
void cw_other_files_tick(struct cw_job *job, int64_t now); /* tries workers again after a while */
/* NULL, or why the job must fail with OTHER_FILE: no worker is left that sees its files. The caller
 * frees it. */
char *cw_other_files_judge(struct cw_job *job, int64_t now) CW_MUST_CHECK;
/* no leases for it */
bool cw_other_files_is_barred(const struct cw_job *job, const struct cw_worker *worker);
/* "worker ADDRESS: ..." of the first, and of how many it is said; NULL = of none. */
const char *cw_other_files_text(const struct cw_job *job, uint32_t *ret_n);
void cw_other_files_forget(struct cw_share *share); /* it is being removed */

#endif
