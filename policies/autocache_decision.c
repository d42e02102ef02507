/* SPDX-License-Identifier: Apache-2.0 */
/* Frees decisions of autocache policies. */
#include "policies/policy.h"

void cw_autocache_decision_fini(struct cw_autocache_decision *decision)
{
    cw_str_fini(&decision->reason);
    cw_str_fini(&decision->candidates);
}
