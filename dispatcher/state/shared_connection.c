/* SPDX-License-Identifier: Apache-2.0 */
/* With a lease there is one connection, which the writer's thread, the loop and a backup use in turn. */
#include "dispatcher/state/state_int.h"

void cw_state_share_begin(struct cw_state *state)
{
    if (state->root)
        cw_mutex_lock(&state->shared);
}

void cw_state_share_end(struct cw_state *state)
{
    if (state->root)
        cw_mutex_unlock(&state->shared);
}
