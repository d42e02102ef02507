/* SPDX-License-Identifier: Apache-2.0 */
/* A batch as the trainer holds it. On its way to the trainer it is an entry of the job's queue. */
#ifndef CW_CLIENT_MODEL_TRAINER_BATCH_H
#define CW_CLIENT_MODEL_TRAINER_BATCH_H

#include <sys/types.h>
#include "client/model/position.h"
#include "data/batch.h"

struct cachew_batch {
    uint32_t magic;
    /* The number of references: one of the trainer, and one of each DLPack tensor. */
    _Atomic int refs;
    pid_t pid;     /* The process that received the batch. A forked child must not free it. */
    bool end;      /* The entry is not a batch, but the end of an epoch. */
    bool writable; /* The trainer may write into its memory. */
    struct cw_batch *data; /* The batch's data, by one reference; NULL for the end of an epoch. */
    uint64_t epoch, number, seed;
    uint64_t item; /* In a dense pipeline, the item that the batch is. */
    uint64_t lost; /* The number of items that were skipped just before it. */
    struct cw_hash fingerprint;
    struct cw_pos after; /* The position in the job behind the batch. */
    /* The end of an epoch: bad elements behind its last batch. end_bad holds one reference. */
    uint64_t end_skipped;
    struct cw_bad_list *end_bad;
    struct cachew_batch *next; /* The next entry of the queue. */
};
/* Returns a zeroed batch with one reference. */
struct cachew_batch *cw_public_batch_new(void) CW_MUST_CHECK;

/* The recipe of a batch: everything that is needed to compute it again (cachew replay). */
/* The longest text "cachew1:<fingerprint>:<seed>:<epoch>:<number>". */
#define CW_RECIPE_BYTES 160
int cw_recipe_print(struct cw_hash fingerprint, uint64_t seed, uint64_t epoch, uint64_t number,
                    char *ret_text, size_t cap);
struct cw_recipe {
    struct cw_hash fingerprint;
    uint64_t seed, epoch, number;
};
bool cw_recipe_parse(const char *text, struct cw_recipe *ret_recipe);

#endif
