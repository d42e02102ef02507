/* SPDX-License-Identifier: Apache-2.0 */
/* A pool of buffers for spans. Buffers are reused because touching fresh memory costs more time
 * than reading a file into it. */
#ifndef CW_CACHE_RECORD_BUFFER_POOL_H
#define CW_CACHE_RECORD_BUFFER_POOL_H

#include "cache/record/memory_budget.h"

/* Returns the capacity of the buffer that the pool gives for so many bytes: sizes are rounded up to
 * classes. */
size_t cw_buffer_pool_cap(size_t bytes);
unsigned char *cw_buffer_pool_alloc(size_t cap); /* NULL: no memory */
/* The functions below are called with the memory budget's lock held. */

/* Counts *cap bytes of the budget as frames. *ret_data receives an idle buffer, whose larger
 * capacity is then written to *cap, or NULL: then the caller allocates one. Returns false if the
 * budget has no room. now: the frame is needed at once, so the limit may be exceeded. */
bool cw_buffer_pool_take(struct cw_memory_budget *budget, size_t *cap, bool now,
                         unsigned char **ret_data, struct cw_garbage *garbage);
/* Takes a buffer back into the pool; its bytes do not count as frames any more. data may be
 * NULL. */
void cw_buffer_pool_give(struct cw_memory_budget *budget, unsigned char *data, size_t cap,
                         struct cw_garbage *garbage);
/* Moves an idle buffer, one of the largest size that the pool has, to the garbage. Returns false if
 * the pool is empty. */
bool cw_buffer_pool_drop(struct cw_memory_budget *budget, struct cw_garbage *garbage);

#endif
