/* SPDX-License-Identifier: Apache-2.0 */
#include "policies/scale_trial.h"

#include <math.h>

#include "policies/scale_level.h"

#define FEW 12   /* so few workers may be one too many, which is as right */
#define LIKE 0.3 /* numbers whose logarithms differ by less tell the same of a curve */

struct cw_scale_tried cw_scale_tried_by(const struct cw_scale_state *s)
{
    struct cw_scale_tried t = {.least = (double)INFINITY};
    for (size_t i = 0; i < s->levels_n; i++) {
        const struct cw_scale_level *v = &s->levels[i];
        t.before = t.before || v->before > 0;
        if (v->wait < CW_SCALE_WAITS || v->before > 0)
            continue;
        t.n++;
        if (v->workers < t.least)
            t.least = v->workers, t.least_gave = v->given;
        t.most = fmax(t.most, v->workers);
        t.most_given = fmax(t.most_given, v->given);
    }
    return t;
}

static bool is_tried(const struct cw_scale_state *s, double n)
{
    bool tried = false;
    for (size_t i = 0; i < s->levels_n; i++)
        tried = tried || fabs(log(s->levels[i].workers / n)) < LIKE;
    return tried;
}

double cw_scale_trial_of_bend(const struct cw_scale_state *s, double right, double most)
{
    double above = fmin(ceil(2 * right), most), below = ceil(right / 2);
    if (right < FEW)
        return 0;
    return !is_tried(s, above) ? above : !is_tried(s, below) ? below : 0;
}
