/* SPDX-License-Identifier: Apache-2.0 */
/* How the trainer spends its time, batch by batch: how long it worked on one (the step), and how
 * long it then waited for the next. One record holds both, so that they always belong together.
 * The trainer's thread writes a ring of records, the loop thread reads them; there is no lock. */
#ifndef CW_CLIENT_MODEL_TRAINER_MEASURE_H
#define CW_CLIENT_MODEL_TRAINER_MEASURE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define CW_TRAINER_MEASURE_RING 1024

struct cw_trainer_step {
    /* From being given the batch before to asking for this one; -1 = there was none before. */
    _Atomic int64_t step_ns;
    _Atomic int64_t wait_ns; /* from asking for this batch to being given it */
};
struct cw_trainer_measure {
    int64_t asked_ns, given_ns; /* trainer; the last time of each */
    bool has_given;             /* trainer; given_ns is set, and the next step counts from it */
    bool asking;                /* trainer; it asked at asked_ns and was given nothing yet */
    struct cw_trainer_step ring[CW_TRAINER_MEASURE_RING];
    _Atomic uint64_t written; /* records written so far; the ring has the last of them */
    uint64_t taken;           /* loop; records read so far */
};
struct cw_trainer_measure_sum {
    uint64_t batches;
    int64_t ns, wait_ns; /* of all batches: steps and waits together; waits alone */
    int64_t step_ns;     /* median step; 0 = unknown */
};

/* Trainer. It asks for a batch. Repeated calls, after a timeout, count as one wait. */
void cw_trainer_measure_asked(struct cw_trainer_measure *measure, int64_t now_ns);
void cw_trainer_measure_given(struct cw_trainer_measure *measure, int64_t now_ns);
/* Trainer. It was given no batch, but the end of an epoch: the next step starts anew. */
void cw_trainer_measure_break(struct cw_trainer_measure *measure);
/* Loop. Sums all records since the last call. If there were more than the ring holds, those that
 * it holds stand for all. */
void cw_trainer_measure_take(struct cw_trainer_measure *measure,
                             struct cw_trainer_measure_sum *ret_sum);

#endif
