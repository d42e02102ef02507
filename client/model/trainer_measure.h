/* SPDX-License-Identifier: Apache-2.0 */
/* How the trainer spends its time, batch by batch: how long it worked on one (the step), and how
 * long it then waited for the next. One record holds both, so they always belong together. The
 * trainer's thread writes a ring of records, and the loop thread reads them. There is no lock. */
#ifndef CW_CLIENT_MODEL_TRAINER_MEASURE_H
#define CW_CLIENT_MODEL_TRAINER_MEASURE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define CW_TRAINER_MEASURE_RING 1024

struct cw_trainer_step {
    /* The time from getting the batch before to asking for this one; -1 if there was none
     * before. */
    _Atomic int64_t step_ns;
    _Atomic int64_t wait_ns; /* The time from asking for this batch to getting it. */
};
struct cw_trainer_measure {
    /* The times when the trainer last asked, and was last given a batch. The trainer owns them. */
    int64_t asked_ns, given_ns;
    bool has_given; /* given_ns is set, and the next step counts from it. The trainer owns it. */
    bool asking; /* The trainer asked at asked_ns and has got nothing yet. The trainer owns it. */
    struct cw_trainer_step ring[CW_TRAINER_MEASURE_RING];
    /* The number of records that were written; the ring has the last of them. */
    _Atomic uint64_t written;
    uint64_t taken; /* The number of records that were read. The loop owns it. */
};
struct cw_trainer_measure_sum {
    uint64_t batches;
    int64_t ns, wait_ns; /* The time of all steps and waits together, and of the waits alone. */
    int64_t step_ns;     /* The duration of the median step; 0 if it is not known. */
};

/* The trainer asks for a batch. Repeated calls, after a timeout, count as one wait. Trainer's
 * thread. */
void cw_trainer_measure_asked(struct cw_trainer_measure *measure, int64_t now_ns);
void cw_trainer_measure_given(struct cw_trainer_measure *measure, int64_t now_ns);
/* The trainer got no batch, but the end of an epoch: its next step starts anew. Trainer's
 * thread. */
void cw_trainer_measure_break(struct cw_trainer_measure *measure);
/* Sums up all records since the last call. If there were more than the ring holds, those in the
 * ring stand for all. Loop thread. */
void cw_trainer_measure_take(struct cw_trainer_measure *measure,
                             struct cw_trainer_measure_sum *ret_sum);

#endif
