/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs of one function want the same bytes. An item that several of them ask this worker for is
 * computed once: who asks while it is being computed waits for that result, and who asks later
 * finds it kept, for a while: what is kept is bounded in bytes, and what was finished first is
 * forgotten first; a job that comes too late computes its own. Loop thread only. */
#ifndef CW_WORKER_COMPUTE_BATCH_DEDUP_H
#define CW_WORKER_COMPUTE_BATCH_DEDUP_H

#include <stdbool.h>
#include "base/hash.h"
#include "base/map.h"

struct cw_batch;
struct cw_task;
struct cw_function;

/* An item that is being computed (maker) or is kept (batch). */
struct cw_shared_item {
    struct cw_function *function;
    uint64_t epoch, item;
    struct cw_task *maker;
    struct cw_task *waiters; /* oldest first */
    struct cw_batch *batch;
    size_t bytes;
    size_t given;                         /* jobs that got it, its maker's among them */
    struct cw_shared_item *older, *newer; /* kept ones of all functions */
};
/* A job in its function. */
struct cw_member {
    struct cw_member *next;
    bool began;
    uint64_t epoch, item; /* the highest that it began */
};
struct cw_function {
    struct cw_function *next;
    struct cw_hash key;
    size_t refs; /* jobs, those forgotten and not yet freed as well */
    struct cw_member *members;
    size_t members_n;
    struct cw_map items; /* cw_shared_item by a number made of epoch and item */
};
struct cw_shared_items {
    struct cw_function *functions;
    struct cw_shared_item *oldest, *newest;
    size_t bytes, limit;
};

/* A job of this function is here. Key: whatever decides the bytes of its items. */
struct cw_function *cw_shared_join(struct cw_shared_items *items, struct cw_hash key,
                                   struct cw_member *member);
/* it wants no more */
void cw_shared_leave(struct cw_shared_items *items, struct cw_function *function,
                     struct cw_member *member);
/* none of its tasks is left; NULL is accepted */
void cw_shared_unref(struct cw_shared_items *items, struct cw_function *function);

enum cw_shared_answer {
    CW_SHARED_COMPUTE, /* nobody else has it; cw_shared_made with the result */
    CW_SHARED_WAIT,    /* among the waiters of another's */
    CW_SHARED_HAVE,    /* task->batch is set */
};
/* The task's epoch and item are set. */
enum cw_shared_answer cw_shared_ask(struct cw_shared_items *items, struct cw_function *function,
                                    struct cw_member *member, struct cw_task *task);
/* The task that was told to compute is back, with its batch or without. Returns those who
 * waited, by wait_next. The batch is kept if another job is still to come to it. */
struct cw_task *cw_shared_made(struct cw_shared_items *items, struct cw_task *task);
/* Another job waits for what the task computes. */
bool cw_shared_is_awaited(const struct cw_task *task);
/* Forgets what was finished first until at most so many bytes are kept. */
void cw_shared_trim(struct cw_shared_items *items, size_t bytes);

#endif
