/* SPDX-License-Identifier: Apache-2.0 */
/* The autoscale policy `fixed`: the user gives the number of workers. */
#include "policies/scale_int.h"

static int decide(const struct cw_scale_window *window, const struct cw_scale_available *available,
                  const struct cw_scale_options *options, const char *argument,
                  struct cw_scale_state *state, struct cw_policy_decision *decision,
                  struct cw_err *err)
{
    uint64_t n = 0;
    if (!argument || !cw_str_to_u64(argument, &n) || n == 0 || n > 1000000)
        return cw_err_set(err, CW_E_INVALID,
                          "autoscale policy \"fixed\" needs a number of workers: fixed:4");
    (void)window;
    cw_scale_target(state, decision, cw_scale_clamp((double)n, available, options), 0);
    decision->settled = true;
    if (decision->changed)
        cw_str_addf(&decision->reason, "%.0f workers, as asked for", decision->remote);
    return 0;
}

const struct cw_scale_policy cw_policy_autoscale_fixed = {.name = "fixed",
                                                          .summary =
                                                              "always so many workers: fixed:N",
                                                          .at_once = true,
                                                          .decide = decide};
