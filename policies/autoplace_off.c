/* SPDX-License-Identifier: Apache-2.0 */
/* The autoplace policy `off`: there are no workers on the trainer's host. */
#include "policies/scale_int.h"

static int decide(const struct cw_scale_window *window, const struct cw_scale_available *available,
                  const struct cw_scale_options *options, const char *argument,
                  struct cw_scale_state *state, struct cw_policy_decision *decision,
                  struct cw_err *err)
{
    (void)available, (void)options, (void)argument, (void)err;
    cw_scale_target(state, decision, window->remote, 0);
    decision->settled = true;
    return 0;
}

const struct cw_scale_policy cw_policy_autoplace_off = {
    .name = "off", .summary = "no workers beside the trainer", .places = true, .decide = decide};
