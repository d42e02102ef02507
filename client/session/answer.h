/* SPDX-License-Identifier: Apache-2.0 */
/* What an answer of the dispatcher means for a job: whether to try again, to start the job anew, or
 * to fail it; and how long cachew_job_start may still wait. The functions are pure. */
#ifndef CW_CLIENT_SESSION_ANSWER_H
#define CW_CLIENT_SESSION_ANSWER_H

#include <stdbool.h>
#include <stdint.h>

enum cw_answer {
    CW_ANSWER_RETRY,   /* The client connects again, after a backoff. */
    CW_ANSWER_RESTART, /* The job is started anew at the trainer's position. */
    CW_ANSWER_FAIL     /* The job has failed. */
};
/* The stream to the dispatcher ended with a code of enum cw_code. `begun`: the dispatcher has
 * welcomed this client before. From then on only a JobError ends the job, since the peer may have
 * been a dispatcher that stops, or a proxy. */
enum cw_answer cw_answer_to_close(int code, bool begun);
/* The dispatcher sent a JobError with this code. */
enum cw_answer cw_answer_to_error(int code, bool can_restart);
/* Returns the code of a JobError; INTERNAL if this version does not know it. */
int cw_answer_code(int code);

/* This value says that the trainer's position has not moved. */
#define CW_SESSION_STUCK UINT64_MAX
/* Returns the time at which cachew_job_start gives up (in ns, as cw_clock_ns): timeout_ms after
 * something last moved, which was still_ms ago. It is never earlier than `start_by_ns`, the time
 * that was decided before. */
int64_t cw_answer_start_limit(int64_t start_by_ns, int64_t now_ns, int64_t timeout_ms,
                              uint64_t still_ms);

#endif
