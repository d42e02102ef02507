/* SPDX-License-Identifier: Apache-2.0 */
#include "policies/replicas_owner.h"

#include <string.h>

static void note_foreign(struct cw_replicas_owner *owner, int64_t now_ms)
{
    memmove(&owner->foreign_ms[1], &owner->foreign_ms[0],
            sizeof(owner->foreign_ms) - sizeof(owner->foreign_ms[0]));
    owner->foreign_ms[0] = now_ms;
    owner->foreign_n = CW_MIN(owner->foreign_n + 1, CW_OWNER_TIMES);
    if (owner->foreign_n == CW_OWNER_TIMES &&
        now_ms - owner->foreign_ms[CW_OWNER_TIMES - 1] <= CW_OWNER_PEACE_MS)
        owner->left_alone = true;
}

bool cw_replicas_owner_see(struct cw_replicas_owner *owner, uint64_t seen, bool by_us,
                           int64_t now_ms)
{
    bool is_news = owner->known && seen != owner->ours;

    owner->known = true;
    owner->ours = seen;
    if (!is_news || by_us)
        return false;
    note_foreign(owner, now_ms);
    return true;
}

void cw_replicas_owner_wrote(struct cw_replicas_owner *owner, uint64_t number, int64_t now_ms)
{
    owner->ours = number;
    owner->known = true;
    if (owner->foreign_n > 0)
        owner->put_back_ms = now_ms + CW_OWNER_PUT_BACK_MS;
}

bool cw_replicas_owner_may_write(struct cw_replicas_owner *owner, int64_t now_ms,
                                 int64_t *ret_at_ms)
{
    int64_t last_ms = owner->foreign_ms[0];

    *ret_at_ms = now_ms;
    if (owner->foreign_n == 0)
        return true;
    if (owner->left_alone && now_ms - last_ms < CW_OWNER_PEACE_MS) {
        *ret_at_ms = last_ms + CW_OWNER_PEACE_MS;
        return false;
    }
    if (owner->left_alone || now_ms - last_ms >= CW_OWNER_PEACE_MS) { /* peace */
        owner->left_alone = false;
        owner->foreign_n = 0;
        return true;
    }
    if (now_ms < owner->put_back_ms) {
        *ret_at_ms = owner->put_back_ms;
        return false;
    }
    return true;
}
