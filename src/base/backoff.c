/* SPDX-License-Identifier: Apache-2.0 */
/* Computes the next wait of an exponential backoff. */
#include "base/backoff.h"

#include "base/hash.h"
#include "base/rng.h"

#define FIRST_MS 50

void cw_backoff_init(struct cw_backoff *backoff, int64_t cap_ms)
{
    backoff->cap_ms = cap_ms;
    backoff->seed = cw_rng_process_id();
    backoff->tries = 0;
}

int64_t cw_backoff_next_ms(struct cw_backoff *backoff)
{
    int64_t mean = (int64_t)FIRST_MS << CW_MIN(backoff->tries, 30u);
    double jitter = 0.5 + (double)(cw_mix64(backoff->seed + backoff->tries) >> 11) * 0x1.0p-53;

    backoff->tries++;
    mean = CW_MIN(mean, backoff->cap_ms);
    return CW_MIN((int64_t)((double)mean * jitter), backoff->cap_ms);
}

void cw_backoff_reset(struct cw_backoff *backoff)
{
    backoff->tries = 0;
}
