/* SPDX-License-Identifier: Apache-2.0 */
/* The autocache policy `off`: only what operators `cache` ask for is cached. */
#include "policies/policy.h"

static int decide(const struct cw_autocache_snapshot *snapshot, const char *argument,
                  struct cw_policy_decision *ret_decision, struct cw_err *err)
{
    (void)snapshot;
    (void)argument;
    (void)err;
    *ret_decision = (struct cw_policy_decision){.decided = true, .node = CW_POLICY_NONE};
    cw_str_add(&ret_decision->reason, "Nothing is cached by policy: it is off.");
    return 0;
}

const struct cw_autocache_policy cw_policy_autocache_off = {
    "off", "nothing is cached but what the pipeline's `cache` operators ask for", NULL, decide};
