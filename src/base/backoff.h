/* SPDX-License-Identifier: Apache-2.0 */
/* Exponential backoff: how long to wait before the next attempt. The wait doubles up to a cap,
 * times a random factor of 0.5 to 1.5, so that the many peers of a process that died do not
 * reconnect all at once. */
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
void cw_backoff_reset(struct cw_backoff *backoff); /* called after a success */

#endif
