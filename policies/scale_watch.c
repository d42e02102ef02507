/* SPDX-License-Identifier: Apache-2.0 */
#include "policies/scale_watch.h"

#include <math.h>

#include "policies/scale_fit.h"

#define DEMAND_CHANGED 0.1
#define GIVEN_CHANGED 0.12
#define WAIT_CHANGED 0.02 /* change of the part of its time that the trainer waits that counts */
#define IN_A_ROW 4
#define DRIFTED 0.04 /* change of a mean that counts, as a part of it */

static double demand_of(const struct cw_scale_window *w)
{
    if (w->step_s > 0)
        return 1 / w->step_s;
    double busy = w->seconds * (1 - w->wait_share);
    return busy > 0.02 * w->seconds ? w->batches / busy : 0;
}

void cw_scale_look_anew(struct cw_scale_state *s)
{
    s->moves = s->age = s->calm = s->phase_count = s->doubt = 0;
    s->phase = CW_SCALE_REMOTE_UP;
}

/* Reduces levels that were measured with another demand to what is still true: what the workers
 * gave. */
static void keep_what_workers_gave(struct cw_scale_state *s, double stall)
{
    size_t kept = 0;
    for (size_t i = 0; i < s->levels_n; i++) {
        struct cw_scale_level level = s->levels[i];
        if (level.wait <= stall / 2)
            continue;
        level.wait = 1;
        level.demand = 0;
        s->levels[kept++] = level;
    }
    s->levels_n = kept;
}

static void keep_last_windows(struct cw_scale_state *s, size_t n)
{
    if (s->history_n <= n)
        return;
    for (size_t i = 0; i < n; i++)
        s->history[i] = s->history[s->history_n - n + i];
    s->history_n = n;
}

/* Adopts a new demand of the trainer after two windows in a row that show it. */
static void follow_demand(struct cw_scale_state *s, double stall)
{
    const struct cw_scale_window *w = &s->history[s->history_n - 1];
    double demand = demand_of(w), before = s->history_n > 1 ? demand_of(w - 1) : 0;
    if (demand <= 0)
        return;
    if (s->demand <= 0) {
        s->demand = demand;
        return;
    }
    double off = demand / s->demand - 1, before_off = before / s->demand - 1;
    if (fabs(off) <= DEMAND_CHANGED) {
        s->demand += (demand - s->demand) / 4;
    } else if (before > 0 && fabs(before_off) > DEMAND_CHANGED && off * before_off > 0) {
        s->demand = (demand + before) / 2;
        keep_what_workers_gave(s, stall);
        keep_last_windows(s, 2);
        cw_scale_look_anew(s);
    }
}

static int way_of(double now, double then)
{
    double off = now > 0 && then > 0 ? now / then - 1 : 0;
    return off > GIVEN_CHANGED ? 1 : off < -GIVEN_CHANGED ? -1 : 0;
}

/* Compares a window with those at the time when the policy settled. Returns the sign of a
 * difference, or 0. */
static int differs(const struct cw_scale_state *s, const struct cw_scale_window *w, double stall)
{
    const struct cw_scale_window *then = &s->converged;
    int given = 0;
    if (then->wait_share > stall)
        given = way_of(w->batches / w->seconds, then->batches);
    else if (w->wait_share > stall + WAIT_CHANGED)
        given = -1;
    return given ? given : way_of(w->rate, then->rate);
}

/* Whether the workers' rate has changed: four windows in a row say the same, or twenty in the
 * mean. */
static bool workers_changed(const struct cw_scale_state *s, double stall)
{
    size_t alike = 0;
    int first = 0;
    while (alike < s->history_n) {
        const struct cw_scale_window *w = &s->history[s->history_n - 1 - alike];
        int way = w->remote == s->converged.remote ? differs(s, w, stall) : 0;
        if (way == 0 || (first && way != first))
            break;
        first = way;
        alike++;
    }
    return alike >= IN_A_ROW;
}

enum drift { DRIFT_NONE, DRIFT_TRAINER, DRIFT_WORKERS };

static enum drift drift_of(const struct cw_scale_state *s, double stall)
{
    const struct cw_scale_window *then = &s->converged;
    struct cw_scale_level now;
    if (s->age <= CW_SCALE_AGE_FREE + CW_SCALE_WINDOWS_DRIFT || !cw_scale_level_now(s, &now) ||
        now.windows < CW_SCALE_WINDOWS_DRIFT || now.workers != then->remote)
        return DRIFT_NONE;
    bool given = then->wait_share > stall && fabs(now.given / then->batches - 1) > DRIFTED;
    bool rate = then->rate > 0 && fabs(now.rate / then->rate - 1) > DRIFTED;
    bool demand = then->step_s > 0 && fabs(now.demand * then->step_s - 1) > DRIFTED;
    return given || rate ? DRIFT_WORKERS : demand ? DRIFT_TRAINER : DRIFT_NONE;
}

static void follow_workers(struct cw_scale_state *s, double stall)
{
    if (s->phase != CW_SCALE_STABLE || s->converged.seconds <= 0)
        return;
    bool changed = workers_changed(s, stall);
    enum drift drift = changed ? DRIFT_WORKERS : drift_of(s, stall);
    if (drift == DRIFT_NONE)
        return;
    if (drift == DRIFT_TRAINER)
        keep_what_workers_gave(s, stall);
    else
        s->levels_n = 0;
    keep_last_windows(s, changed ? IN_A_ROW : CW_SCALE_WINDOWS_DRIFT / 2);
    cw_scale_look_anew(s);
}

void cw_scale_watch(struct cw_scale_state *s, double stall)
{
    follow_demand(s, stall);
    follow_workers(s, stall);
}
