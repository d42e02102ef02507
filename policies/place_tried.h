/* SPDX-License-Identifier: Apache-2.0 */
/* The numbers of workers that were tried since something changed. */
#ifndef CW_POLICIES_PLACE_TRIED_H
#define CW_POLICIES_PLACE_TRIED_H

#include "policies/place_worlds.h"

/* Returns the level that gave most, of those that can be had; or NULL. */
const struct cw_scale_level *cw_place_gave_most(const struct cw_scale_state *state,
                                                const struct cw_place_limits *limits);
/* Returns the level that gave most, of those with the same step that need no more remote workers than `now` and so
 * cost no more, if it gave more by a part of more than `slack`; or NULL. */
const struct cw_scale_level *cw_place_was_better(const struct cw_scale_state *state,
                                                 const struct cw_place_limits *limits,
                                                 const struct cw_scale_level *now);
/* Whether no more workers than these were tried. */
bool cw_place_is_most(const struct cw_scale_state *state, struct cw_place_numbers here);
/* Whether the numbers of the window were tried already. */
bool cw_place_was_tried(const struct cw_scale_state *state, const struct cw_scale_window *window);

#endif
