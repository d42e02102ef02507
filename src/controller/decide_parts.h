/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of decide.c. Pure functions. */
#ifndef CW_CONTROLLER_DECIDE_PARTS_H
#define CW_CONTROLLER_DECIDE_PARTS_H

#include "controller/decide.h"

#define CW_STEP_TRIES_MAX 30 /* with at most five minutes in between: about two hours */

/* Adds a condition. The first one that is not true gives the status its message. */
struct cw_condition *cw_plan_add(struct cw_decision *plan, const char *type, bool is_true,
                                 const char *reason, const char *message);
/* It is to be asked again then, if not before. */
void cw_plan_again_at(struct cw_decision *plan, int64_t wall_ms);
/* Whether a step is to be begun now. One that has failed too often is not, until the spec changes. */
bool cw_plan_is_due(const struct cw_sight *s, struct cw_decision *plan, const struct cw_step *step);
/* Whether a step is not tried again before the spec changes. */
bool cw_step_is_final(const struct cw_step *step);
/* Whether the engine gives the cache a store, which the dispatcher has then. */
bool cw_sight_has_store(const struct cw_sight *s);

/* decide_fluid.c: whether the engine fluid is ready; whether so much is cached that the job may begin; and
 * whether nothing of Fluid is left. */
bool cw_decide_fluid(const struct cw_sight *s, struct cw_decision *plan);
bool cw_decide_fluid_cached(const struct cw_sight *s, struct cw_decision *plan);
bool cw_decide_fluid_gone(const struct cw_sight *s, struct cw_decision *plan);

/* decide_go.c: what is to be done about one that is being deleted */
void cw_decide_go(const struct cw_sight *s, struct cw_decision *plan);

#endif
