/* SPDX-License-Identifier: Apache-2.0 */
/* The progress of an epoch as rows: what is consumed, by which consumer, and who owns which
 * items. */
#include "dispatcher/state/state_int.h"

void cw_state_put_epoch(struct cw_state *state, const char *job, const struct cw_epoch *epoch)
{
    cw_state_put_progress(state, job, epoch->number, -1, &epoch->consumed);
    for (uint32_t c = 0; epoch->layout.to_all && c < epoch->layout.consumers; c++)
        cw_state_put_progress(state, job, epoch->number, (int)c, &epoch->parts[c].consumed);
    for (uint32_t c = 0; epoch->layout.mode == CW_MODE_SHARED && c < epoch->layout.consumers; c++)
        cw_state_put_progress(state, job, epoch->number, CW_OWNED_BASE + (int)c,
                              &epoch->parts[c].owned);
    if (epoch->skipped.n > 0)
        cw_state_put_skipped(state, job, epoch->number, &epoch->skipped);
}
