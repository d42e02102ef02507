/* SPDX-License-Identifier: Apache-2.0 */
/* Deduplication of batches across jobs. Jobs of one function (the same pipeline, files and seed)
 * need the same bytes, so an item that several of them want from this worker is computed once. A
 * job that asks while it is being computed waits for the result; a job that asks later finds the
 * batch kept, for a while. The kept bytes are limited, and the batch that was finished first is
 * evicted first; a job that comes too late computes the item itself. Loop thread. */
#ifndef CW_WORKER_MODEL_BATCH_DEDUP_H
#define CW_WORKER_MODEL_BATCH_DEDUP_H

#include <stdbool.h>
#include "base/hash.h"
#include "base/map.h"

struct cw_batch;
struct cw_wtask;
struct cw_dedup_function;

/* An item that is being computed (maker is set) or kept (batch is set). */
struct cw_dedup_item {
    struct cw_dedup_function *function;
    uint64_t epoch, item;
    struct cw_wtask *maker;
    struct cw_wtask *waiters; /* the tasks that wait for it, oldest first */
    struct cw_batch *batch;
    size_t bytes;
    size_t given; /* number of jobs that have got it, including the maker's */
    struct cw_dedup_item *older, *newer; /* neighbours in the list of kept items of all functions */
};
/* a job of a function */
struct cw_dedup_member {
    struct cw_dedup_member *next;
    bool began;
    uint64_t epoch, item; /* the highest item that the job has begun */
};
struct cw_dedup_function {
    struct cw_dedup_function *next;
    struct cw_hash key;
    size_t refs; /* number of jobs, including forgotten ones that are not freed yet */
    struct cw_dedup_member *members;
    size_t members_n;
    struct cw_map items; /* maps a hash of epoch and item to a cw_dedup_item */
};
struct cw_dedup {
    struct cw_dedup_function *functions;
    struct cw_dedup_item *oldest, *newest;
    size_t bytes, limit;
};

/* Adds a job to its function. key: a hash of everything that decides the bytes of its items. */
struct cw_dedup_function *cw_dedup_join(struct cw_dedup *items, struct cw_hash key,
                                        struct cw_dedup_member *member);
/* Notes that the job wants no more items. */
void cw_dedup_leave(struct cw_dedup *items, struct cw_dedup_function *function,
                    struct cw_dedup_member *member);
/* Called when the job has no task left. Accepts NULL. */
void cw_dedup_unref(struct cw_dedup *items, struct cw_dedup_function *function);

enum cw_dedup_answer {
    CW_DEDUP_COMPUTE, /* the caller computes the item, and calls cw_dedup_made with the result */
    CW_DEDUP_WAIT,    /* another job's task computes it; this task waits for the result */
    CW_DEDUP_KEPT,    /* a kept batch was found; task->batch is set */
};
/* Asks how a task, whose epoch and item are set, gets its batch. */
enum cw_dedup_answer cw_dedup_ask(struct cw_dedup *items, struct cw_dedup_function *function,
                                  struct cw_dedup_member *member, struct cw_wtask *task);
/* Called when a task that was answered COMPUTE is finished, with its batch or without. Returns the
 * tasks that waited for it, linked by wait_next. The batch is kept if another job may still ask for
 * it. */
struct cw_wtask *cw_dedup_made(struct cw_dedup *items, struct cw_wtask *task);
/* Whether another job waits for the task's result. */
bool cw_dedup_is_awaited(const struct cw_wtask *task);
/* Evicts kept batches, oldest first, until at most so many bytes are kept. */
void cw_dedup_trim(struct cw_dedup *items, size_t bytes);

#endif
