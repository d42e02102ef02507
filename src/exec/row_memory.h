/* SPDX-License-Identifier: Apache-2.0 */
/* Memory for the rows of an item whose sizes are not known before they are computed. Rows lie one behind
 * another in blocks that belong to the item, and blocks are used again for other items of the plan: so
 * a row costs no allocation. */
#ifndef CW_EXEC_ROW_MEMORY_H
#define CW_EXEC_ROW_MEMORY_H

#include <stddef.h>

#include "base/compiler.h"

struct cw_exec_task;
struct cw_plan_exec;
struct cw_row_block;
struct cw_thread_context;

/* Of an item; all but share is guarded by the task's mutex. Zeroed: none. */
struct cw_row_memory {
    struct cw_row_block *used; /* blocks that are full, or that a thread writes into */
    struct cw_row_block *open; /* blocks with room that no thread has */
    size_t bytes;              /* of all blocks */
    struct cw_plan_exec
        *share; /* of the task's plan, whose spare blocks are taken; set before use */
};
/* Of a plan, for its next items; guarded by its mutex. */
struct cw_row_spare {
    struct cw_row_block *blocks;
    size_t bytes;
};

/* Returns memory that is aligned to 64 bytes and not zeroed, or NULL. It is valid until the item is
 * done. The thread keeps a block until cw_row_memory_pause. */
void *cw_row_memory_get(struct cw_exec_task *task, struct cw_thread_context *work,
                        size_t bytes) CW_MUST_CHECK;
/* Gives back what the thread has got last. */
void cw_row_memory_undo(struct cw_thread_context *work, const void *last);
/* The thread ends its work on the item: other threads may go on in its block. */
void cw_row_memory_pause(struct cw_exec_task *task, struct cw_thread_context *work);
/* Gives all blocks of an item to the plan, or frees them. Nobody uses its rows any more. */
void cw_row_memory_fini(struct cw_row_memory *memory);
void cw_row_spare_fini(struct cw_row_spare *spare);

#endif
