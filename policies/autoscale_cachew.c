/* SPDX-License-Identifier: Apache-2.0 */
/* The autoscale policy `cachew`: Cachew's hill climb on batch time (Graur et al., ATC'22, and the
 * published scaling code). It adds one worker at a time while that makes batches more than 7 %
 * faster, and goes back by one when it does not. In the stable state every 21st window is compared
 * with the converged one, and a queue or a batch time that has grown by half starts a descent or a
 * climb.
 *
 * Every constant is an option ("cachew:up=0.05,stable=10"). Two quirks are corrected unless the
 * option says quirks=published: as published a descent cannot settle at one worker (at one it takes
 * the branch that goes back), and a converged queue of 0 makes the growth no finite number, so that
 * nothing ever starts a rescale. One thing is never as published: a target beyond what there is
 * would be waited for without end, so the limit counts as "no further gain". */
#include "policies/scale_int.h"
#include "policies/scale_settings.h"

#include <math.h>

#define QUEUE_LEAST 0.01

static const struct cw_scale_setting settings[] = {
    CW_SCALE_SETTING("up", up, 1e-6, 1),
    CW_SCALE_SETTING("down", down, 1e-6, 1),
    CW_SCALE_SETTING("stable", stable_windows, 1, 1e6),
    CW_SCALE_SETTING("queue", queue_growth, 1, 1e6),
    CW_SCALE_SETTING("time", time_growth, 1, 1e6),
    CW_SCALE_SETTING("outlier", outlier, 1e-6, 1e6)};

struct rule {
    double up, down, stable, queue_growth, time_growth, outlier;
    bool fixed;
};

static struct rule rule_of(const struct cw_scale_options *o)
{
    return (struct rule){.up = cw_scale_or(o->up, 0.07),
                         .down = cw_scale_or(o->down, 0.03),
                         .stable = cw_scale_or(o->stable_windows, 20),
                         .queue_growth = cw_scale_or(o->queue_growth, 1.5),
                         .time_growth = cw_scale_or(o->time_growth, 1.5),
                         .outlier = cw_scale_or(o->outlier, 1.2),
                         .fixed = !o->published_quirks};
}

static double converge(struct cw_scale_state *state, const struct cw_scale_window *at)
{
    state->converged = *at;
    state->phase = CW_SCALE_STABLE;
    state->calm = 0;
    return at->remote;
}

static double climb(struct cw_scale_state *state, const struct rule *rule, double gain,
                    const struct cw_scale_window *prev, double n, struct cw_str *reason)
{
    if (gain > rule->up) {
        cw_str_addf(reason,
                    "the last worker made batches %.1f %% faster (more than %.0f %%): one more",
                    100 * gain, 100 * rule->up);
        return n + 1;
    }
    cw_str_addf(reason, "the last worker changed the batch time by %.1f %% only: back to %.0f",
                100 * gain, prev->remote);
    return converge(state, prev);
}

static double descend(struct cw_scale_state *state, const struct rule *rule, double gain,
                      const struct cw_scale_window *prev, const struct cw_scale_window *last,
                      struct cw_str *reason)
{
    double n = last->remote;
    if (gain > -rule->down && n > 1) {
        cw_str_addf(reason,
                    "without that worker batches are %.1f %% slower (at most %.0f %%): one less",
                    -100 * gain, 100 * rule->down);
        return n - 1;
    }
    if (gain > -rule->down && rule->fixed) {
        cw_str_addf(reason, "one worker is enough");
        return converge(state, last);
    }
    cw_str_addf(reason, "with %.0f workers batches are %.1f %% slower: back to %.0f", n,
                -100 * gain, prev->remote);
    return converge(state, prev);
}

static double scaling(struct cw_scale_state *state, const struct rule *rule,
                      const struct cw_scale_window *last, struct cw_str *reason)
{
    double n = last->remote;
    if (state->history_n == 1) {
        cw_str_addf(reason, "first window with %.0f: one more, to see what it brings", n);
        return n + 1;
    }
    const struct cw_scale_window *prev = cw_scale_other(state, false);
    if (!prev) {
        cw_str_addf(reason, "no other number of workers is possible");
        return converge(state, last);
    }
    double gain = 1 - cw_scale_batch_s(last) / cw_scale_batch_s(prev);
    if (!isfinite(gain) || fabs(gain) > rule->outlier)
        return state->remote; /* the window is an outlier */
    return prev->remote < n ? climb(state, rule, gain, prev, n, reason)
                            : descend(state, rule, gain, prev, last, reason);
}

static double stable(struct cw_scale_state *state, const struct rule *rule,
                     const struct cw_scale_window *last, struct cw_str *reason)
{
    if (++state->calm <= rule->stable)
        return state->remote;
    state->calm = 0;
    const struct cw_scale_window *then = &state->converged;
    double queue_then = rule->fixed ? fmax(then->queue, QUEUE_LEAST) : then->queue;
    double queue = last->queue / queue_then, time = cw_scale_batch_s(last) / cw_scale_batch_s(then);
    if (isfinite(queue) && queue > rule->queue_growth && then->remote > 1) {
        cw_str_addf(reason,
                    "%.1f times as many batches lie ready as when it settled: one worker less",
                    queue);
        state->phase = CW_SCALE_REMOTE_UP;
        return then->remote - 1;
    }
    if (isfinite(queue) && time > rule->time_growth) {
        cw_str_addf(reason, "batches take %.1f times as long as when it settled: one worker more",
                    time);
        state->phase = CW_SCALE_REMOTE_UP;
        return then->remote + 1;
    }
    return last->remote;
}

static int decide(const struct cw_scale_window *window, const struct cw_scale_available *available,
                  const struct cw_scale_options *options, const char *argument,
                  struct cw_scale_state *state, struct cw_policy_decision *decision,
                  struct cw_err *err)
{
    struct cw_scale_options set = *options;
    int rc =
        cw_scale_settings("cachew", argument, settings, CW_ARRAY_LEN(settings), true, &set, err);
    if (rc < 0)
        return rc;
    struct rule rule = rule_of(&set);
    if (state->phase == CW_SCALE_BEGIN) {
        state->phase = CW_SCALE_REMOTE_UP;
        state->remote = window->remote;
    }
    cw_scale_remember(state, window);
    double target = state->remote;
    if (window->remote == target)
        target = state->phase == CW_SCALE_STABLE ? stable(state, &rule, window, &decision->reason)
                                                 : scaling(state, &rule, window, &decision->reason);
    /* The published code would wait without end for more workers than exist; here the limit counts
     * as "no further gain". */
    double possible = cw_scale_clamp(target, available, options);
    if (possible < target && possible == window->remote && state->phase != CW_SCALE_STABLE) {
        cw_str_clear(&decision->reason);
        cw_str_addf(&decision->reason, "there are no more than %.0f workers", possible);
        converge(state, window);
    }
    cw_scale_target(state, decision, possible, 0);
    decision->settled = state->phase == CW_SCALE_STABLE;
    return 0;
}

const struct cw_scale_policy cw_policy_autoscale_cachew = {
    .name = "cachew",
    .summary = "hill climb on batch time, as published (ATC'22)",
    .decide = decide};
