/* SPDX-License-Identifier: Apache-2.0 */
/* Buffers of spans. Fresh memory costs more than reading into it, so buffers are used again. */
#ifndef CW_CACHE_RECORD_BUFFER_POOL_H
#define CW_CACHE_RECORD_BUFFER_POOL_H

#include "cache/record/memory_budget.h"

/* The capacity of a buffer for so many bytes: they come in classes of sizes. */
size_t cw_buffer_pool_cap(size_t bytes);
unsigned char *cw_buffer_pool_alloc(size_t cap); /* NULL: no memory */
/* The functions below: lock of the budget. */

/* Counts *cap bytes as frames. *ret_data is an idle buffer, whose capacity may be larger than
 * *cap was, or NULL: the caller allocates one. false: there is no room. now: the frame is needed
 * at once, which exceeds the limit if it must. */
bool cw_buffer_pool_take(struct cw_memory_budget *budget, size_t *cap, bool now,
                         unsigned char **ret_data, struct cw_garbage *garbage);
/* Its bytes do not count as frames any more. data may be NULL. */
void cw_buffer_pool_give(struct cw_memory_budget *budget, unsigned char *data, size_t cap,
                         struct cw_garbage *garbage);
/* Frees an idle buffer, of the largest size that there is. false: there is none. */
bool cw_buffer_pool_drop(struct cw_memory_budget *budget, struct cw_garbage *garbage);

#endif
