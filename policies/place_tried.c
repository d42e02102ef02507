/* SPDX-License-Identifier: Apache-2.0 */
#include "policies/place_tried.h"

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

bool cw_place_was_tried(const struct cw_scale_state *s, const struct cw_scale_window *w)
{
    bool tried = false;
    for (size_t i = 0; i < s->levels_n; i++)
        tried = tried || (s->levels[i].before <= 0 && s->levels[i].workers == w->remote &&
                          s->levels[i].local == w->local);
    return tried;
}
