/* SPDX-License-Identifier: Apache-2.0 */
#include "policies/scale_trial.h"

#include <math.h>

#include "policies/scale_level.h"

#define FEW 12          /* so few workers may be one too many, which is as right */
#define LIKE 0.3        /* numbers whose logarithms differ by less tell the same of a curve */
#define LIKE_ABOVE 0.08 /* the same where it bends more */

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

struct bend {
    double above, below;
};

/* Far above the right number, and far below it, a curve shows best how it bends. */
static struct bend bend_of(double right, double most)
{
    return (struct bend){.above = fmin(ceil(2 * right), most), .below = ceil(right / 2)};
}

static bool is_like(double n, double other, double least)
{
    return fabs(log(n / other)) < least;
}

static bool is_tried(const struct cw_scale_state *s, double n, double least)
{
    bool tried = false;
    for (size_t i = 0; i < s->levels_n; i++)
        tried = tried || is_like(s->levels[i].workers, n, least);
    return tried;
}

bool cw_scale_shows_bend(double n, double right, double most)
{
    const struct bend b = bend_of(right, most);
    return right >= FEW && (is_like(n, b.above, LIKE_ABOVE) || is_like(n, b.below, LIKE));
}

double cw_scale_trial_of_bend(const struct cw_scale_state *s, double right, double most)
{
    const struct bend b = bend_of(right, most);
    if (right < FEW)
        return 0;
    return !is_tried(s, b.above, LIKE_ABOVE) ? b.above : !is_tried(s, b.below, LIKE) ? b.below : 0;
}
