/* SPDX-License-Identifier: Apache-2.0 */
/* Frees memory that was taken out of the budget under its lock, once the lock is released. */
#include "cache/record/record_state.h"

void cw_garbage_free(struct cw_garbage *garbage)
{
    while (garbage->spans) {
        struct cw_span *next = garbage->spans->next;

        cw_mem_free(garbage->spans->data);
        cw_mem_free(garbage->spans);
        garbage->spans = next;
    }
    cw_segments_free(garbage->segments);
    garbage->segments = NULL;
    while (garbage->pooled) {
        struct cw_pooled_buffer *next = garbage->pooled->next;

        cw_mem_free(garbage->pooled);
        garbage->pooled = next;
    }
}
