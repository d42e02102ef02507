/* SPDX-License-Identifier: Apache-2.0 */
/* What an answer of the dispatcher means for a job: whether to try again, to start the job anew,
 * or to fail it, and how long cachew_job_start may still wait. Pure functions. */
#ifndef CW_CLIENT_SESSION_ANSWER_H
#define CW_CLIENT_SESSION_ANSWER_H

#include <stdbool.h>
#include <stdint.h>

enum cw_answer {
    CW_ANSWER_RETRY,   /* connect again, after a backoff */
    CW_ANSWER_RESTART, /* start the job anew, from where the trainer stands */
    CW_ANSWER_FAIL     /* the job has failed */
};
/* The stream to the dispatcher ended with a code of enum cw_code. `begun`: the dispatcher has
 * welcomed this client once; from then on only a JobError ends the job, since the peer may have
 * been a dispatcher that stops, or a proxy. */
enum cw_answer cw_answer_to_close(int code, bool begun);
/* The dispatcher sent a JobError with this code. */
enum cw_answer cw_answer_to_error(int code, bool can_restart);
/* The code of a JobError, or INTERNAL when it is none that this version knows. */
int cw_answer_code(int code);

/* CW_SESSION_STUCK: nothing has moved. */
#define CW_SESSION_STUCK UINT64_MAX
/* When cachew_job_start gives up (ns, as cw_clock_ns): timeout_ms after something last moved, which
 * was still_ms ago. Never earlier than `start_by_ns`, what was decided before. */
int64_t cw_answer_start_limit(int64_t start_by_ns, int64_t now_ns, int64_t timeout_ms,
                              uint64_t still_ms);

#endif
