/* SPDX-License-Identifier: Apache-2.0 */
/* Finds autocache policies by name. */
#include <string.h>
#include "policies/policy.h"

#define CW_AUTOCACHE(name) extern const struct cw_autocache_policy cw_policy_autocache_##name;
#include "policies/policy_list.h"
#undef CW_AUTOCACHE

static const struct cw_autocache_policy *const policies[] = {
#define CW_AUTOCACHE(name) &cw_policy_autocache_##name,
#include "policies/policy_list.h"
#undef CW_AUTOCACHE
};
#define POLICIES_N (sizeof(policies) / sizeof(policies[0]))

const char *cw_autocache_names(void)
{
    return "auto, cachew (also cachew:THRESHOLD, cachew:table), force:NODE, off";
}

int cw_autocache_find(const char *option, const struct cw_autocache_policy **ret_policy,
                      const char **ret_argument, struct cw_err *err)
{
    size_t n = strcspn(option, ":");
    for (size_t i = 0; i < POLICIES_N; i++) {
        if (strlen(policies[i]->name) != n || memcmp(policies[i]->name, option, n) != 0)
            continue;
        const char *argument = option[n] == ':' ? option + n + 1 : NULL;
        int rc = policies[i]->check ? policies[i]->check(argument, err) : 0;
        if (rc == 0 && !policies[i]->check && argument)
            rc = cw_err_set(err, CW_E_INVALID,
                            "the autocache policy \"%s\" takes nothing behind its name",
                            policies[i]->name);
        if (rc < 0)
            return rc;
        *ret_policy = policies[i];
        *ret_argument = argument;
        return 0;
    }
    return cw_err_set(err, CW_E_INVALID, "there is no autocache policy \"%s\": it is one of %s",
                      option, cw_autocache_names());
}
