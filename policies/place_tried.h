/* SPDX-License-Identifier: Apache-2.0 */
/* The numbers of workers that were tried since something changed. */
#ifndef CW_POLICIES_PLACE_TRIED_H
#define CW_POLICIES_PLACE_TRIED_H

#include "policies/place_worlds.h"

/* Returns the level that gave most, of those that can be had; or NULL. */
const struct cw_scale_level *cw_place_gave_most(const struct cw_scale_state *state,
                                                const struct cw_place_limits *limits);
/* Whether the numbers of the window were tried already. */
bool cw_place_was_tried(const struct cw_scale_state *state, const struct cw_scale_window *window);

#endif
