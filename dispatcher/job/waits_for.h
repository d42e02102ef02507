/* SPDX-License-Identifier: Apache-2.0 */
/* What a trainer waits for, as far as the dispatcher knows: for its client, for tools, and for the
 * question whether anything explains it at all. */
#ifndef CW_DISPATCHER_JOB_WAITS_FOR_H
#define CW_DISPATCHER_JOB_WAITS_FOR_H

#include <stdbool.h>
#include <stdint.h>
#include "base/str.h"
#include "cachew/v1/job.pb-c.h"

struct cw_client;
struct cw_job;

/* A trainer that has received nothing for so long is told, and shown, why. */
#define CW_WAITS_MS 1000

struct cw_job_waits {
    Cachew__V1__WaitKind kind;
    int64_t since_ms;   /* Since when, in the time of cw_clock_ms. */
    uint64_t worker_id; /* The worker that the text is about; 0 if it is about none. */
    struct cw_str text;
};
void cw_job_waits_fini(struct cw_job_waits *waits);

/* Finds out what the client waits for. Returns false if it does not wait. */
bool cw_client_waits(struct cw_client *client, int64_t now, struct cw_job_waits *ret_waits);
/* The same of the client of the job that has waited longest, if that is CW_WAITS_MS at least. */
bool cw_job_waits(struct cw_job *job, int64_t now, struct cw_job_waits *ret_waits);
/* Is called at each tick. Sends each client what it waits for, about once a second, and once more
 * when it waits no longer. */
void cw_job_tell_waits(struct cw_job *job, int64_t now);
/* Is called at each tick. If a trainer has waited for 30 s although an item could be leased and none
 * is, the log says what is known, and a counter rises: that is a mistake of ours. */
void cw_job_look_for_mistake(struct cw_job *job, int64_t now);

#endif
