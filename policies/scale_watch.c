/* SPDX-License-Identifier: Apache-2.0 */
#include "policies/scale_watch.h"

#include <math.h>

#include "base/compiler.h"
#include "policies/scale_level.h"
#include "policies/standing.h"

#define WAIT_CHANGED 0.02 /* change of the part of its time that the trainer waits that counts */
#define DRIFT_SIGMAS 4.5
#define DOUBTED_WINDOWS 16
#define DOUBTED_KEPT 8
#define DOUBTED_LEAST 0.03
#define DOUBTED_SIGMAS 2.5
#define NOISE_LEAST 0.03 /* less was luck */
#define ALIKE 0.12       /* windows that differ by less may differ by noise alone */
#define ALIKE_WAIT 0.02
#define UNNOTICED 3  /* so many windows it may have taken to see a change */
#define MOVES_KEPT 2 /* of the moves so far, if something changes while they are counted */

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
        if (level.wait <= stall / 2 && level.rate <= 0)
            continue;
        level.wait = level.wait > stall / 2;
        level.demand = 0;
        s->levels[kept++] = level;
    }
    s->levels_n = kept;
}

/* Keeps the levels as those of before a change, and forgets those of before an earlier one. */
static void keep_as_before(struct cw_scale_state *s)
{
    size_t kept = 0;
    for (size_t i = 0; i < s->levels_n; i++) {
        struct cw_scale_level level = s->levels[i];
        if (level.before > 0)
            continue;
        level.before = 1;
        s->levels[kept++] = level;
    }
    s->levels_n = kept;
}

static bool is_near(double a, double b, double least)
{
    return fabs(a - b) <= ALIKE * fmax(a, b) + least;
}

/* Returns how many of the last windows look like the last one. The one in which the change came is
 * partly of before it. */
static size_t last_alike(const struct cw_scale_state *s)
{
    const struct cw_scale_window *last = &s->history[s->history_n - 1];
    size_t n = 1;
    for (; n < s->history_n; n++) {
        const struct cw_scale_window *w = last - n;
        if (!is_near(w->wait_share, last->wait_share, ALIKE_WAIT) ||
            !is_near(w->batches / w->seconds, last->batches / last->seconds, 0))
            break;
    }
    return n;
}

/* Keeps so many windows at most, all of them of after a change. */
static void keep_last_windows(struct cw_scale_state *s, size_t most)
{
    size_t n = CW_MIN(most, last_alike(s));
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
    int side = cw_standing_side(&cw_standing_demand, demand, s->demand);
    if (side == 0) {
        s->demand += (demand - s->demand) / 4;
    } else if (before > 0 && cw_standing_side(&cw_standing_demand, before, s->demand) == side) {
        s->demand = (demand + before) / 2;
        keep_what_workers_gave(s, stall);
        keep_last_windows(s, cw_standing_demand.in_a_row);
        cw_scale_look_anew(s);
        s->age = UNNOTICED;
    }
}

enum drift { DRIFT_NONE, DRIFT_TRAINER, DRIFT_WORKERS };

/* Compares the mean of the last windows with that at the time when the policy settled. */
static enum drift drift_in(const struct cw_scale_state *s, size_t windows, double least,
                           double sigmas, double stall)
{
    const struct cw_scale_window *then = &s->converged;
    struct cw_scale_level now;
    if (!cw_scale_level_last(s, windows, &now) || now.windows < (double)windows - 1 ||
        now.workers != then->remote || now.local != then->local)
        return DRIFT_NONE;
    double noise = fmax(cw_scale_level_noise(s), NOISE_LEAST),
           by = fmax(sigmas * noise * sqrt(1 / now.windows + 1 / then->seconds), least);
    bool waits = then->wait_share > stall;
    if ((waits && cw_standing_differs(now.given, then->batches / then->seconds, by)) ||
        cw_standing_differs(now.rate, then->rate, by) ||
        (!waits && now.wait > stall + WAIT_CHANGED))
        return DRIFT_WORKERS;
    return cw_standing_differs(now.demand * then->step_s, 1, by) ? DRIFT_TRAINER : DRIFT_NONE;
}

/* Begins anew, with what is still true and the last windows. */
static void follow(struct cw_scale_state *s, enum drift drift, size_t windows, size_t kept,
                   double stall)
{
    if (drift == DRIFT_TRAINER)
        keep_what_workers_gave(s, stall);
    else
        keep_as_before(s);
    keep_last_windows(s, kept);
    double moves = s->age > CW_SCALE_AGE_FREE ? 0 : fmin(s->moves, MOVES_KEPT);
    cw_scale_look_anew(s);
    s->age = (double)windows + UNNOTICED;
    s->moves = moves;
}

bool cw_scale_watch_doubted(struct cw_scale_state *s, double stall)
{
    enum drift drift = drift_in(s, DOUBTED_WINDOWS, DOUBTED_LEAST, DOUBTED_SIGMAS, stall);
    if (drift != DRIFT_NONE)
        follow(s, drift, DOUBTED_KEPT, DOUBTED_KEPT, stall);
    return drift != DRIFT_NONE;
}

bool cw_scale_watch_rest(struct cw_scale_state *s, double stall)
{
    static const struct {
        size_t windows, kept;
        double least;
    } looks[] = {{4, 3, 0.1}, {8, 6, 0.05}, {16, 8, 0.04}};
    if (s->phase != CW_SCALE_STABLE || s->converged.seconds <= 0)
        return false;
    for (size_t i = 0; i < (s->age > CW_SCALE_AGE_FREE ? CW_ARRAY_LEN(looks) : 1); i++) {
        enum drift drift = drift_in(s, looks[i].windows, looks[i].least, DRIFT_SIGMAS, stall);
        if (drift == DRIFT_NONE)
            continue;
        follow(s, drift, looks[i].windows, looks[i].kept, stall);
        return true;
    }
    return false;
}

void cw_scale_watch(struct cw_scale_state *s, double stall)
{
    follow_demand(s, stall);
    (void)cw_scale_watch_rest(s, stall);
}
