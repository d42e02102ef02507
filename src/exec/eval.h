/* SPDX-License-Identifier: Apache-2.0 */
/* Computes one element of one node, on the calling thread. */
#ifndef CW_EXEC_EVAL_H
#define CW_EXEC_EVAL_H

#include "exec/thread_context.h"

enum cw_eval_result {
    CW_EVAL_KEEP = 0,
    CW_EVAL_DROP = 1 /* a filter has left the element out */
};
/* Computes the element at *at. It points into the arena, the slots or the source's memory, and is
 * valid until the arena is reset. On an error work->failed names the node, and err has the
 * operator's message. */
int cw_eval(struct cw_thread_context *work, struct cw_walk_at *at, struct cw_element *ret_element,
            struct cw_err *err);
/* Names the source elements that the element is made of, for messages: "/data/a.tfrecord record
 * 17". *ret_id: its position in the source if there is one source, else -1. */
void cw_eval_describe(const struct cw_plan *plan, uint64_t epoch, const struct cw_walk_at *at,
                      int64_t *ret_id, struct cw_str *out);
/* Returns the file of the element's only source element, and its number in the file, -1 if the file
 * is one element. NULL: there are several, or none that is in a file. The path belongs to the
 * plan. */
const char *cw_eval_locate(const struct cw_plan *plan, uint64_t epoch, const struct cw_walk_at *at,
                           int64_t *ret_record);

#endif
