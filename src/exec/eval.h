/* SPDX-License-Identifier: Apache-2.0 */
/* One element of one node, computed on the calling thread. */
#ifndef CW_EXEC_EVAL_H
#define CW_EXEC_EVAL_H

#include "exec/thread_context.h"

enum cw_eval_result {
    CW_EVAL_KEEP = 0,
    CW_EVAL_DROP = 1,   /* left out by a filter */
    CW_EVAL_IN_SLOT = 2 /* the only field is in its slot already; *element is not set */
};
/* Computes the element at *at; what it points to lives in the arena, the slots or the source's
 * memory until the arena is reset. On an error work->failed names the node, and err holds the
 * operator's own words. */
int cw_eval(struct cw_thread_context *work, const struct cw_walk_at *at,
            struct cw_element *ret_element, struct cw_err *err);
/* Which source elements that element is made of: "/data/a.tfrecord record 17". *ret_id: position in
 * the source when there is one, else -1. */
void cw_eval_describe(const struct cw_plan *plan, uint64_t epoch, const struct cw_walk_at *at,
                      int64_t *ret_id, struct cw_str *out);

#endif
