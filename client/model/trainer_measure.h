/* SPDX-License-Identifier: Apache-2.0 */
/* What the trainer does with its time, batch by batch: how long it worked on one, how long it
 * waited for the next. One record a batch, so that its parts always belong together. The
 * trainer's thread writes, the loop thread takes; no lock. */
#ifndef CW_CLIENT_TRAINER_MEASURE_H
#define CW_CLIENT_TRAINER_MEASURE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define CW_MEASURE_RING 1024

struct cw_measured {
    /* from the batch before being given out to the trainer asking again; -1 = there was none
     * before */
    _Atomic int64_t step_ns;
    _Atomic int64_t wait_ns; /* then until it got this one */
};
struct cw_measure {
    int64_t asked_ns, given_ns; /* trainer */
    /* trainer; asking: since asked_ns, and nothing came yet */
    bool has_given, asking;
    struct cw_measured ring[CW_MEASURE_RING];
    _Atomic uint64_t written; /* records; the last CW_MEASURE_RING are there */
    uint64_t taken;           /* loop */
};
/* A stretch of batches. */
struct cw_measure_sum {
    uint64_t batches;
    int64_t ns, wait_ns; /* of all: steps and waits */
    int64_t step_ns;     /* median; 0 = unknown */
};

/* Trainer: it asks for a batch, again if it was told to come back later: it waits since the
 * first time; it gets one; or it gets something else (the end of an epoch), after which a step
 * begins anew. */
void cw_measure_asked(struct cw_measure *measure, int64_t now_ns);
void cw_measure_given(struct cw_measure *measure, int64_t now_ns);
void cw_measure_break(struct cw_measure *measure);
/* Loop: all since the last call. When more than the ring holds were given out, those that it
 * holds stand for all. */
void cw_measure_take(struct cw_measure *measure, struct cw_measure_sum *ret_sum);

#endif
