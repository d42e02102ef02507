/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of elements that have positions, since a survey has counted them (docs/decisions/0006-survey.md): the
 * element is computed once, all its parts are made, and those that are asked for next are found there. */
#ifndef CW_EXEC_TAKE_APART_H
#define CW_EXEC_TAKE_APART_H

#include "exec/thread_context.h"

/* Counts the parts that node i makes of an element. An error says that the element is bad; then work->failed is
 * set. */
int cw_take_apart_count(struct cw_thread_context *work, size_t i, const struct cw_element *element,
                        uint64_t *ret_n, struct cw_err *err);
/* Goes down into the node at *at, which has `parts`: pos is the position of the element at its input. Returns 1 if
 * the element is held, and *element is the part now; 0 if it must be computed below; an error otherwise. */
int cw_take_apart_enter(struct cw_thread_context *work, struct cw_walk_at *at, int64_t pos,
                        uint64_t part, struct cw_element *element, struct cw_err *err);
/* Ends that, once the element is computed: it becomes its part, and is held. */
int cw_take_apart_end(struct cw_thread_context *work, const struct cw_walk_pending *pending,
                      struct cw_element *element, struct cw_err *err);

#endif
