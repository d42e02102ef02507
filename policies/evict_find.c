/* SPDX-License-Identifier: Apache-2.0 */
/* Finds eviction policies by name. */
#include <string.h>
#include "policies/policy.h"

#define CW_EVICT(name) extern const struct cw_evict_policy cw_policy_evict_##name;
#include "policies/policy_list.h"
#undef CW_EVICT

static const struct cw_evict_policy *const policies[] = {
#define CW_EVICT(name) &cw_policy_evict_##name,
#include "policies/policy_list.h"
#undef CW_EVICT
};

const struct cw_evict_policy *cw_evict_find(const char *name)
{
    for (size_t i = 0; i < CW_ARRAY_LEN(policies); i++) {
        if (strcmp(policies[i]->name, name) == 0)
            return policies[i];
    }
    return NULL;
}
