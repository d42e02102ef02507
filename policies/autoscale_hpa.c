/* SPDX-License-Identifier: Apache-2.0 */
/* The autoscale policy `hpa`: the rule of Kubernetes' horizontal pod autoscaler on CPU utilisation,
 * with which Cachew was compared. wanted = ceil(now * cpu / target); nothing changes within 10 % of
 * the target; and to shrink, the highest wish of the last 5 minutes counts (kubernetes.io,
 * "Horizontal Pod Autoscaling", algorithm details). It does not look at the trainer. */
#include "policies/scale_int.h"
#include "policies/scale_settings.h"

#include <math.h>

#define TOLERANCE 0.1

static double wish(const struct cw_scale_window *window, double target)
{
    double ratio = window->cpu / target;
    return fabs(ratio - 1) <= TOLERANCE ? window->remote : ceil(window->remote * ratio);
}

static double highest_wish(const struct cw_scale_state *state, double now_s, double settle_s,
                           double target)
{
    double most = 0;
    for (size_t i = 0; i < state->history_n; i++)
        if (now_s - state->history[i].at_s <= settle_s)
            most = fmax(most, wish(&state->history[i], target));
    return most;
}

static int decide(const struct cw_scale_window *window, const struct cw_scale_available *available,
                  const struct cw_scale_options *options, const char *argument,
                  struct cw_scale_state *state, struct cw_policy_decision *decision,
                  struct cw_err *err)
{
    static const struct cw_scale_setting settings[] = {
        CW_SCALE_SETTING("cpu", cpu_target, 0.01, 1),
        CW_SCALE_SETTING("settle", settle_s, 1e-3, 1e6)};
    struct cw_scale_options set = *options;
    int rc = cw_scale_settings("hpa", argument, settings, CW_ARRAY_LEN(settings), false, &set, err);
    if (rc < 0)
        return rc;
    double target = cw_scale_or(set.cpu_target, 0.8);
    cw_scale_remember(state, window);
    double wanted = wish(window, target);
    if (wanted < window->remote)
        wanted = fmin(window->remote,
                      highest_wish(state, window->at_s, cw_scale_or(set.settle_s, 300), target));
    cw_scale_target(state, decision, cw_scale_clamp(wanted, available, options), 0);
    decision->settled = !decision->changed;
    if (decision->changed)
        cw_str_addf(&decision->reason,
                    "%.0f %% of the CPU of %.0f workers is used, %.0f %% is the target",
                    100 * window->cpu, window->remote, 100 * target);
    return 0;
}

const struct cw_scale_policy cw_policy_autoscale_hpa = {
    .name = "hpa", .summary = "Kubernetes' rule on CPU utilisation (a baseline)", .decide = decide};
