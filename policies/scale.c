/* SPDX-License-Identifier: Apache-2.0 */
/* Calculations that several policies about workers share: histories, medians, and limits. */
#include "policies/scale_int.h"

#include <math.h>
#include <string.h>

double cw_scale_batch_s(const struct cw_scale_window *window)
{
    return window->batches > 0 ? window->seconds / window->batches : 0;
}

void cw_scale_remember(struct cw_scale_state *state, const struct cw_scale_window *window)
{
    if (state->history_n == CW_SCALE_HISTORY)
        memmove(state->history, state->history + 1, --state->history_n * sizeof(state->history[0]));
    state->history[state->history_n++] = *window;
}

const struct cw_scale_window *cw_scale_other(const struct cw_scale_state *state, bool locals_count)
{
    if (state->history_n == 0)
        return NULL;
    const struct cw_scale_window *last = &state->history[state->history_n - 1];
    for (size_t i = state->history_n - 1; i-- > 0;) {
        const struct cw_scale_window *w = &state->history[i];
        if (w->remote != last->remote || (locals_count && w->local != last->local))
            return w;
    }
    return NULL;
}

double cw_scale_given_before(const struct cw_scale_state *state, double remote, double local)
{
    for (size_t i = state->phase == CW_SCALE_STABLE ? 0 : state->history_n; i-- > 0;) {
        const struct cw_scale_window *w = &state->history[i];
        if (w->remote != remote || w->local != local)
            return w->seconds > 0 ? w->batches / w->seconds : 0;
    }
    return 0;
}

double cw_scale_median(const double *v, size_t n)
{
    double sorted[CW_SCALE_HISTORY];
    for (size_t i = 0; i < n; i++) {
        size_t at = i;
        for (; at > 0 && sorted[at - 1] > v[i]; at--)
            sorted[at] = sorted[at - 1];
        sorted[at] = v[i];
    }
    return n % 2 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
}

double cw_scale_clamp(double remote, const struct cw_scale_available *available,
                      const struct cw_scale_options *options)
{
    double most = options->max_workers > 0 && options->max_workers < available->remote
                      ? options->max_workers
                      : available->remote;
    double least = cw_scale_or(options->min_workers, 1);
    if (remote > most)
        remote = most;
    return remote < least ? least : remote;
}

double cw_scale_clamp_now(double remote, const struct cw_scale_available *available,
                          const struct cw_scale_options *options)
{
    double n = cw_scale_clamp(remote, available, options);
    return available->granted > 0 && available->granted < n ? available->granted : n;
}

void cw_scale_target(struct cw_scale_state *state, struct cw_policy_decision *decision,
                     double remote, double local)
{
    decision->changed = remote != state->remote || local != state->local;
    decision->remote = state->remote = remote;
    decision->local = state->local = local;
}
