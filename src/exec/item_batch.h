/* SPDX-License-Identifier: Apache-2.0 */
/* Allocation of the buffers of batches. */
#ifndef CW_EXEC_ITEM_BATCH_H
#define CW_EXEC_ITEM_BATCH_H

#include "exec/task.h"

/* Lays out the batch, whose tensors are set, and allocates its buffer: from the item's allocator if
 * this is the batch that the caller gets (final), else from the heap. A batch of 0 bytes gets no
 * buffer. Any thread. */
int cw_exec_batch_alloc(const struct cw_exec_task *task, bool final, struct cw_batch *batch,
                        struct cw_err *err);
/* Gives up a batch that was not final. The plan keeps its memory for the next one, up to some
 * megabytes, since new memory costs a page fault for each 4 KiB. Any thread. */
void cw_exec_batch_give_back(const struct cw_exec_task *task, struct cw_batch *batch);

#endif
