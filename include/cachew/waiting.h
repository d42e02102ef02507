/* SPDX-License-Identifier: Apache-2.0 */
/* What a trainer waits for when no batch comes: for people who look at a job that stands still, and
 * for programs that decide whether to go on waiting. */
#ifndef CACHEW_WAITING_H
#define CACHEW_WAITING_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What is waited for. The numbers are part of the ABI and of the protocol; further ones may be
 * added. */
enum cachew_wait_kind {
    CACHEW_WAIT_NOTHING = 0,    /* nothing: a batch comes as usual, or the job is over */
    CACHEW_WAIT_DISPATCHER = 1, /* the dispatcher cannot be reached, or cannot go on yet */
    CACHEW_WAIT_NO_WORKER = 2,  /* there is no worker that could compute for the job */
    CACHEW_WAIT_WORKER = 3,     /* a worker cannot be reached from this host */
    CACHEW_WAIT_CONSUMER = 4,   /* another consumer of the job is not there, or is behind */
    CACHEW_WAIT_PREPARING = 5,  /* a worker prepares the job: it opens and indexes the sources */
    CACHEW_WAIT_COMPUTING = 6,  /* a worker computes what comes next */
    CACHEW_WAIT_TRAINER = 7,    /* this trainer: batches are ready, and it does not take them */
    CACHEW_WAIT_UNKNOWN = 8     /* nothing that explains it: a mistake in cachew */
};

/* What a job waits for. The struct begins with its size, so that it can grow. */
struct cachew_waiting {
    size_t struct_size; /* set it to sizeof(struct cachew_waiting) */
    int kind;           /* an enum cachew_wait_kind */
    int64_t since_ms;   /* for how many milliseconds; 0 if it waits for nothing */
    /* One sentence without a full stop that names the dispatcher, worker, consumer, file or batch,
     * and the reason; "" if it waits for nothing. */
    char text[512];
};
#define CACHEW_WAITING_INIT                                                                        \
    {                                                                                              \
        sizeof(struct cachew_waiting), 0, 0,                                                       \
        {                                                                                          \
            0                                                                                      \
        }                                                                                          \
    }

struct cachew_job;
/* Tells what the job waits for, in *ret_waiting, of which struct_size must be set. It is looked at
 * about 20 times a second, and the dispatcher tells what it knows once a second. CACHEW_E_STATE (no
 * such job) or CACHEW_E_INVALID (struct_size). Any thread, also while cachew_job_next waits. */
int cachew_job_waiting(const struct cachew_job *job, struct cachew_waiting *ret_waiting);

#ifdef __cplusplus
}
#endif
#endif
