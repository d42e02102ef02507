/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a number that we write may be written now, when somebody else writes it too: two that put
 * each other's number back would fight for ever. It is put back, once a minute at most; the third time
 * in ten minutes it is left to the other one, until that has not written for ten minutes. Pure
 * functions; times are of one monotonic clock. */
#ifndef CW_POLICIES_REPLICAS_OWNER_H
#define CW_POLICIES_REPLICAS_OWNER_H

#include <stdbool.h>
#include "base/compiler.h"

#define CW_OWNER_PUT_BACK_MS 60000
#define CW_OWNER_PEACE_MS 600000
#define CW_OWNER_TIMES 3

struct cw_replicas_owner {
    uint64_t ours;                      /* what we wrote last, or found */
    bool known;                         /* there is such a number */
    bool left_alone;                    /* the number is somebody else's */
    int64_t foreign_ms[CW_OWNER_TIMES]; /* the last times that somebody else wrote; newest first */
    int foreign_n;                      /* of these, those that count */
    int64_t put_back_ms;                /* not before, after somebody else wrote; 0: at once */
};
/* A number was seen. by_us: who wrote it last was this program. Returns true if it is somebody else's
 * doing, for the first time that it is seen. Whoever starts takes the number that it finds as its
 * own. */
bool cw_replicas_owner_see(struct cw_replicas_owner *owner, uint64_t seen, bool by_us,
                           int64_t now_ms);
/* We have written a number. */
void cw_replicas_owner_wrote(struct cw_replicas_owner *owner, uint64_t number, int64_t now_ms);
/* Whether we may write now; if not, ret_at_ms says when to ask again. */
bool cw_replicas_owner_may_write(struct cw_replicas_owner *owner, int64_t now_ms,
                                 int64_t *ret_at_ms);

#endif
