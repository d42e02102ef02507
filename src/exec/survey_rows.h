/* SPDX-License-Identifier: Apache-2.0 */
/* Computes elements for surveys (plan/survey.h), row by row, without keeping them. */
#ifndef CW_EXEC_SURVEY_ROWS_H
#define CW_EXEC_SURVEY_ROWS_H

#include "exec/thread_context.h"

/* Computes an element again that was bad when its filter was surveyed, and returns its error; the node that
 * refused it is *ret_failed. pos: the position at the base of the survey. */
int cw_exec_survey_again(const struct cw_plan_node *node, int64_t pos, size_t *ret_failed,
                         struct cw_err *err);

#endif
