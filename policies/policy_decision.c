/* SPDX-License-Identifier: Apache-2.0 */
#include "policies/policy_decision.h"

void cw_policy_decision_fini(struct cw_policy_decision *decision)
{
    cw_str_fini(&decision->reason);
    cw_str_fini(&decision->candidates);
}
