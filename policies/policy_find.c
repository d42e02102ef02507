/* SPDX-License-Identifier: Apache-2.0 */
/* The registry of policies: finds those of each kind by name, or by an option "NAME:ARGUMENT". */
#include <string.h>

#include "policies/optimizer.h"
#include "policies/policy.h"
#include "policies/scale.h"

#define CW_AUTOCACHE(name) extern const struct cw_autocache_policy cw_policy_autocache_##name;
#define CW_AUTOPLACE(name) extern const struct cw_scale_policy cw_policy_autoplace_##name;
#define CW_AUTOSCALE(name) extern const struct cw_scale_policy cw_policy_autoscale_##name;
#define CW_EVICT(name) extern const struct cw_evict_policy cw_policy_evict_##name;
#define CW_OPTIMIZER(name) extern const struct cw_optimizer cw_optimizer_##name;
#include "policies/policy_list.h"

/* A policy of any kind. */
struct entry {
    const char *name;
    const void *policy;
};

static const struct entry autocaches[] = {
#define CW_AUTOCACHE(name) {#name, &cw_policy_autocache_##name},
#include "policies/policy_list.h"
    {0}};
static const struct entry autoplaces[] = {
#define CW_AUTOPLACE(name) {#name, &cw_policy_autoplace_##name},
#include "policies/policy_list.h"
    {0}};
static const struct entry autoscales[] = {
#define CW_AUTOSCALE(name) {#name, &cw_policy_autoscale_##name},
#include "policies/policy_list.h"
    {0}};
static const struct entry evicts[] = {
#define CW_EVICT(name) {#name, &cw_policy_evict_##name},
#include "policies/policy_list.h"
    {0}};
static const struct entry optimizers[] = {
#define CW_OPTIMIZER(name) {#name, &cw_optimizer_##name},
#include "policies/policy_list.h"
    {0}};

/* The policy whose name is the first n characters; NULL: there is none. */
static const void *find(const struct entry *all, const char *name, size_t n)
{
    for (; all->name; all++)
        if (strlen(all->name) == n && memcmp(all->name, name, n) == 0)
            return all->policy;
    return NULL;
}

/* The policy that stands before the colon of an option, and what stands behind it (NULL: there is none). */
static const void *find_option(const struct entry *all, const char *option,
                               const char **ret_argument)
{
    const size_t n = strcspn(option, ":");
    *ret_argument = option[n] ? option + n + 1 : NULL;
    return find(all, option, n);
}

const struct cw_evict_policy *cw_evict_find(const char *name)
{
    return find(evicts, name, strlen(name));
}

const struct cw_optimizer *cw_optimizer_find(const char *name)
{
    return find(optimizers, name, strlen(name));
}

const char *cw_optimizer_names(void)
{
#define CW_OPTIMIZER(name) ", " #name
    static const char names[] =
#include "policies/policy_list.h"
        ;
    return &names[2];
}

const char *cw_autocache_names(void)
{
    return "auto, cachew (also cachew:THRESHOLD, cachew:table), force:NODE, off";
}

int cw_autocache_find(const char *option, const struct cw_autocache_policy **ret_policy,
                      const char **ret_argument, struct cw_err *err)
{
    const char *argument;
    const struct cw_autocache_policy *policy = find_option(autocaches, option, &argument);
    int rc = 0;
    if (!policy)
        return cw_err_set(err, CW_E_INVALID, "there is no autocache policy \"%s\": it is one of %s",
                          option, cw_autocache_names());
    if (policy->check)
        rc = policy->check(argument, err);
    else if (argument)
        rc = cw_err_set(err, CW_E_INVALID,
                        "the autocache policy \"%s\" takes nothing behind its name", policy->name);
    if (rc < 0)
        return rc;
    *ret_policy = policy;
    *ret_argument = argument;
    return 0;
}

/* numbers: an example of what stands behind "fixed:". */
static int find_scale(const char *kind, const struct entry *all, const char *numbers,
                      const char *option, const struct cw_scale_policy **ret_policy,
                      const char **ret_argument, struct cw_err *err)
{
    const char *argument;
    const struct cw_scale_policy *policy = find_option(all, option, &argument);
    if (policy) {
        *ret_policy = policy;
        *ret_argument = argument;
        return 0;
    }
    CW_STR_AUTO names = {0};
    for (; all->name; all++)
        cw_str_addf(&names, "%s%s", names.len ? ", " : "", all->name);
    return cw_err_set(
        err, CW_E_INVALID,
        "%s policy \"%s\" is not known; there are: %s, off (fixed needs numbers: fixed:%s)", kind,
        option, cw_str_text(&names), numbers);
}

int cw_autoscale_find(const char *option, const struct cw_scale_policy **ret_policy,
                      const char **ret_argument, struct cw_err *err)
{
    return find_scale("autoscale", autoscales, "3", option, ret_policy, ret_argument, err);
}

int cw_autoplace_find(const char *option, const struct cw_scale_policy **ret_policy,
                      const char **ret_argument, struct cw_err *err)
{
    return find_scale("autoplace", autoplaces, "2,1", option, ret_policy, ret_argument, err);
}
