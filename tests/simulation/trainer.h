/* SPDX-License-Identifier: Apache-2.0 */
/* A trainer: what it is told to do, and what it has been given. All in world memory, so it outlives
 * the trainer; a killed one's successor goes on from the checkpoint. */
#ifndef SIM_TRAINER_H
#define SIM_TRAINER_H

#include "sim.h"

#define SIM_TOKEN_BYTES 4096
#define SIM_TEXT_BYTES 256

/* One element, in the order in which they were given. */
struct sim_element {
    uint64_t epoch, batch; /* the batch's number in its epoch */
    uint64_t hash;
};
struct sim_list {
    struct sim_element *at;
    size_t n, cap;
};

/* What is saved: a token, and what had been given by then. */
struct sim_checkpoint {
    uint64_t step; /* of all consumers: their next one, counted over epochs */
    size_t given_n;
    uint64_t epoch, item, batches; /* where the token stands */
    size_t token_bytes;
    unsigned char token[SIM_TOKEN_BYTES];
};

/* A batch of a job. */
struct sim_place {
    uint64_t epoch, batch;
};

struct sim_trainer {
    /* what to do */
    char dispatcher[SIM_TEXT_BYTES];
    const char *pipeline;          /* text */
    char name[64];                 /* of the job; "" = anonymous */
    const char *cache;             /* NULL = it names none */
    uint64_t seed, epochs, window; /* window: 0 = the dispatcher's choice */
    int unordered, mode, consumers, consumer, at_most_once;
    int64_t step_ns;     /* the longest time that it works on a batch */
    int64_t stands_ns;   /* until then it works on the batch that it has (progress.c) */
    uint64_t save_every; /* batches between checkpoints; 0 = none */
    int *left;           /* trainers of the job that have not ended: it waits for them at the end */
    bool visits;         /* it tries to take its own place once more, now and then */
    bool with_last;      /* the checkpoint counts the last batch as consumed */
    bool is_sparse;
    int64_t joins_ns; /* shared: so late it comes */
    bool came_late;
    uint64_t leaves_after; /* shared: it leaves after so many batches of a life, once; 0 = never */
    bool comes_back;       /* from that */
    /* elastic.c: its part of the job begins and ends before these batches; it is followed by others
     * if it is a former one */
    struct sim_place from, to;
    bool is_former;
    struct sim_trainer *next_former;
    int job;   /* its number in the world */
    int sizes; /* how often the job has changed its number of consumers */
    /* what it has been given, and what of it is in the checkpoint */
    struct sim_list given;
    struct sim_checkpoint *saved; /* oldest first */
    size_t saved_n, saved_cap;
    /* how it stands */
    bool has_ended; /* with the last epoch */
    int error;      /* that ended it, else 0 */
    char message[1024];
    uint64_t batches, skipped, reconnects, leaves;
    /* What was left out, as the last process of it has counted, and where that process began. */
    uint64_t lost_items, begin_epoch, begin_item;
    uint64_t lost_before; /* what earlier processes had counted when they were given a batch last */
    size_t given_before;  /* shared: elements that its killed processes were given */
    int64_t asked_ns;     /* since when it waits for a batch; 0: it does not */
    char job_id[64];      /* "": it has none yet */
    uint64_t last_epoch, last_batch; /* the highest that it was given */
};
extern struct sim_trainer *sim_trainer_self; /* of this program's actor */

/* ---- checkpoint.c ---- */
/* Adds one behind the first given_n elements. */
struct sim_checkpoint *sim_checkpoint_add(struct sim_trainer *t, size_t given_n);
/* The latest; NULL: it has saved none. */
const struct sim_checkpoint *sim_checkpoint_last(const struct sim_trainer *t);
/* Elements that the checkpoint has. */
size_t sim_checkpoint_given(const struct sim_trainer *t);
/* It stands where it saved last. A consumer of a shared job has no way back: what it was given
 * stays. */
void sim_checkpoint_return(struct sim_trainer *t);
/* The trainers of a job go back to the latest step of which all have a checkpoint, or to one before. */
void sim_checkpoint_join(struct sim_trainer *const *trainers, size_t n);

#endif
