/* SPDX-License-Identifier: Apache-2.0 */
/* How long to wait before the next attempt: doubles up to a cap, with jitter of half to one and a
 * half, so that many peers of one that died do not come back in step. */
#ifndef CW_BASE_BACKOFF_H
#define CW_BASE_BACKOFF_H

#include "base/compiler.h"

struct cw_backoff {
    int64_t cap_ms;
    uint64_t seed;
    uint32_t tries;
};
/* The first wait is 25 to 75 ms; none is above cap_ms. */
void cw_backoff_init(struct cw_backoff *backoff, int64_t cap_ms);
int64_t cw_backoff_next_ms(struct cw_backoff *backoff);
void cw_backoff_reset(struct cw_backoff *backoff); /* after a success */

#endif
