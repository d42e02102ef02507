/* SPDX-License-Identifier: Apache-2.0 */
/* A batch as the trainer holds it; on its way there, an entry of the job's queue. */
#ifndef CW_CLIENT_MODEL_TRAINER_BATCH_H
#define CW_CLIENT_MODEL_TRAINER_BATCH_H

#include <sys/types.h>
#include "client/model/position.h"
#include "data/batch.h"

struct cachew_batch {
    uint32_t magic;
    _Atomic int refs;      /* the trainer's, and one for each DLPack tensor */
    pid_t pid;             /* of the process that received it: a forked child must not free it */
    bool end;              /* not a batch, but the end of an epoch */
    struct cw_batch *data; /* one ref; NULL for an end */
    uint64_t epoch, number, seed;
    uint64_t item; /* dense pipelines: the item that it is */
    uint64_t lost; /* items left out just before it */
    struct cw_hash fingerprint;
    struct cw_pos after;       /* the position behind it */
    struct cachew_batch *next; /* in the queue */
};
struct cachew_batch *cw_public_batch_new(void) CW_MUST_CHECK; /* zeroed, with one ref */

/* The recipe of a batch: all that is needed to compute it again (cachew replay). */
/* "cachew1:<fingerprint>:<seed>:<epoch>:<number>" */
#define CW_RECIPE_BYTES 160
int cw_recipe_print(struct cw_hash fingerprint, uint64_t seed, uint64_t epoch, uint64_t number,
                    char *ret_text, size_t cap);
struct cw_recipe {
    struct cw_hash fingerprint;
    uint64_t seed, epoch, number;
};
bool cw_recipe_parse(const char *text, struct cw_recipe *ret_recipe);

#endif
