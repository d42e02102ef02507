/* SPDX-License-Identifier: Apache-2.0 */
#include "dispatcher/caching.h"

void cw_caching_waiter_done(struct cw_caching_waiter *waiter, int rc, const char *why)
{
    (void)waiter, (void)rc, (void)why;
}
void cw_caching_scan_answer(struct cw_caching *caching, int rc, const char *why, uint64_t removed)
{
    (void)caching, (void)rc, (void)why, (void)removed;
}
