/* SPDX-License-Identifier: Apache-2.0 */
/* Peers that have seen a higher generation than this dispatcher's. */
#include "dispatcher/session/session.h"
#include "dispatcher/state/state.h"

void cw_session_note_generation(struct cw_dispatcher *d, uint64_t seen, const char *who,
                                const char *address)
{
    if (seen <= d->generation_seen || seen >= CW_GENERATION_MAX)
        return;
    d->generation_seen = seen;
    cw_log_error(CW_LOG_MOD,
                 "%s %s has seen generation %llu, this dispatcher has %llu, and workers and "
                 "trainers obey the highest: stop whichever dispatcher "
                 "has that one; if there is none (this state is an older copy), start this one "
                 "again with --generation-above %llu",
                 who, address, (unsigned long long)seen, (unsigned long long)d->generation,
                 (unsigned long long)seen);
}
