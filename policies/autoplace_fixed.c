/* SPDX-License-Identifier: Apache-2.0 */
/* The autoplace policy `fixed`: the user gives the numbers of remote workers, and of workers beside
 * the trainer. */
#include "policies/scale_int.h"

#include <math.h>
#include <string.h>

#define MOST 1000000

static bool read_argument(const char *argument, double *ret_remote, double *ret_local)
{
    uint64_t remote, local;
    char first[32];
    const char *comma = argument ? strchr(argument, ',') : NULL;
    size_t n = comma ? (size_t)(comma - argument) : 0;
    if (!comma || n >= sizeof(first))
        return false;
    memcpy(first, argument, n);
    first[n] = 0;
    if (!cw_str_to_u64(first, &remote) || !cw_str_to_u64(comma + 1, &local) || remote > MOST ||
        local > MOST || remote + local == 0)
        return false;
    *ret_remote = (double)remote;
    *ret_local = (double)local;
    return true;
}

static int decide(const struct cw_scale_window *window, const struct cw_scale_available *available,
                  const struct cw_scale_options *options, const char *argument,
                  struct cw_scale_state *state, struct cw_policy_decision *decision,
                  struct cw_err *err)
{
    double remote = 0, local = 0;
    (void)window, (void)options;
    if (!read_argument(argument, &remote, &local))
        return cw_err_set(
            err, CW_E_INVALID,
            "autoplace policy \"fixed\" needs numbers of remote and of local workers: fixed:2,3");
    cw_scale_target(state, decision, fmin(remote, available->remote),
                    fmin(local, available->local));
    decision->settled = true;
    if (decision->changed)
        cw_str_addf(&decision->reason, "%.0f remote and %.0f local workers, as asked for",
                    decision->remote, decision->local);
    return 0;
}

const struct cw_scale_policy cw_policy_autoplace_fixed = {
    .name = "fixed",
    .summary = "always so many remote and local workers: fixed:R,L",
    .places = true,
    .at_once = true,
    .decide = decide};
