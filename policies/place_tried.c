/* SPDX-License-Identifier: Apache-2.0 */
#include "policies/place_tried.h"

#include <math.h>

#define SAME_STEP 0.05
#define WINDOWS_LEAST 5 /* a level that was measured for a shorter time may owe it to luck */

const struct cw_scale_level *cw_place_gave_most(const struct cw_scale_state *s,
                                                const struct cw_place_limits *limits)
{
    const struct cw_scale_level *most = NULL;
    for (size_t i = 0; i < s->levels_n; i++) {
        const struct cw_scale_level *v = &s->levels[i];
        if (v->before <= 0 && v->workers <= limits->remote && v->local <= limits->local &&
            (!most || v->given > most->given))
            most = v;
    }
    return most;
}

const struct cw_scale_level *cw_place_was_better(const struct cw_scale_state *s,
                                                 const struct cw_place_limits *limits,
                                                 const struct cw_scale_level *now)
{
    const struct cw_scale_level *best = NULL;
    for (size_t i = 0; i < s->levels_n; i++) {
        const struct cw_scale_level *v = &s->levels[i];
        if (v->before > 0 || v->workers > fmin(limits->remote, now->workers) ||
            v->local > limits->local || v->windows < WINDOWS_LEAST ||
            fabs(v->demand - now->demand) > SAME_STEP * now->demand)
            continue;
        if (v->given > (1 + limits->slack) * now->given && (!best || v->given > best->given))
            best = v;
    }
    return best;
}

bool cw_place_is_most(const struct cw_scale_state *s, struct cw_place_numbers here)
{
    bool is = true;
    for (size_t i = 0; i < s->levels_n; i++)
        is = is && (s->levels[i].before > 0 ||
                    s->levels[i].workers + s->levels[i].local <= here.remote + here.local);
    return is;
}

bool cw_place_was_tried(const struct cw_scale_state *s, const struct cw_scale_window *w)
{
    bool tried = false;
    for (size_t i = 0; i < s->levels_n; i++)
        tried = tried || (s->levels[i].before <= 0 && s->levels[i].workers == w->remote &&
                          s->levels[i].local == w->local);
    return tried;
}
