/* SPDX-License-Identifier: Apache-2.0 */
/* Finds an autoscale or autoplace policy by its option. */
#include <string.h>

#include "policies/scale_int.h"

#define CW_AUTOSCALE(name) extern const struct cw_scale_policy cw_policy_autoscale_##name;
#define CW_AUTOPLACE(name) extern const struct cw_scale_policy cw_policy_autoplace_##name;
#include "policies/scale_list.h"
#undef CW_AUTOSCALE
#undef CW_AUTOPLACE

static const struct cw_scale_policy *const autoscales[] = {
#define CW_AUTOSCALE(name) &cw_policy_autoscale_##name,
#include "policies/scale_list.h"
#undef CW_AUTOSCALE
    NULL};
static const struct cw_scale_policy *const autoplaces[] = {
#define CW_AUTOPLACE(name) &cw_policy_autoplace_##name,
#include "policies/scale_list.h"
#undef CW_AUTOPLACE
    NULL};

static int find(const char *kind, const struct cw_scale_policy *const *all, const char *option,
                const struct cw_scale_policy **ret_policy, const char **ret_argument,
                struct cw_err *err)
{
    size_t n = strcspn(option, ":");
    const char *numbers = all == autoplaces ? "2,1" : "3";
    CW_STR_AUTO names = {0};
    for (; *all; all++) {
        if (strlen((*all)->name) == n && memcmp((*all)->name, option, n) == 0) {
            *ret_policy = *all;
            *ret_argument = option[n] ? option + n + 1 : NULL;
            return 0;
        }
        cw_str_addf(&names, "%s%s", names.len ? ", " : "", (*all)->name);
    }
    return cw_err_set(
        err, CW_E_INVALID,
        "%s policy \"%s\" is not known; there are: %s, off (fixed needs numbers: fixed:%s)", kind,
        option, cw_str_text(&names), numbers);
}

int cw_autoscale_find(const char *option, const struct cw_scale_policy **ret_policy,
                      const char **ret_argument, struct cw_err *err)
{
    return find("autoscale", autoscales, option, ret_policy, ret_argument, err);
}

int cw_autoplace_find(const char *option, const struct cw_scale_policy **ret_policy,
                      const char **ret_argument, struct cw_err *err)
{
    return find("autoplace", autoplaces, option, ret_policy, ret_argument, err);
}
