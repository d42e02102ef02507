/* SPDX-License-Identifier: Apache-2.0 */
/* Conditions, and steps that are due. */
#include "controller/decide_parts.h"

#include <stdio.h>

struct cw_condition *cw_plan_add(struct cw_decision *plan, const char *type, bool is_true,
                                 const char *reason, const char *message)
{
    struct cw_condition *c = &plan->conditions[plan->conditions_n++];
    c->type = type;
    c->status = is_true ? CW_TRUE : CW_FALSE;
    snprintf(c->reason, sizeof(c->reason), "%s", reason[0] != '\0' ? reason : "Unknown");
    snprintf(c->message, sizeof(c->message), "%s", message);
    c->counts = false;
    if (!is_true && !plan->message)
        plan->message = c->message;
    return c;
}

void cw_plan_again_at(struct cw_decision *plan, int64_t wall_ms)
{
    if (plan->again_ms == 0 || wall_ms < plan->again_ms)
        plan->again_ms = wall_ms;
}

/* Whether a step is to be begun now. One that has failed too often is not, until the spec changes. */
bool cw_plan_is_due(const struct cw_sight *s, struct cw_decision *plan, const struct cw_step *step)
{
    if (step->state == CW_STEP_NONE)
        return true;
    if (step->state != CW_STEP_RETRY || step->tries >= CW_STEP_TRIES_MAX)
        return false;
    if (step->retry_ms > s->now_ms)
        cw_plan_again_at(plan, step->retry_ms);
    return step->retry_ms <= s->now_ms;
}

bool cw_step_is_final(const struct cw_step *step)
{
    return step->state == CW_STEP_REFUSED ||
           (step->state == CW_STEP_RETRY && step->tries >= CW_STEP_TRIES_MAX);
}

bool cw_sight_has_store(const struct cw_sight *s)
{
    return s->place_answer->url[0] != '\0';
}
