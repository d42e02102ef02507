/* SPDX-License-Identifier: Apache-2.0 */
/* Circuit breaker of a store. After an operation that timed out or could not reach the store, the
 * store is "away": operations are refused at once, while the store itself is tried now and then,
 * first after half a second, then at intervals that double up to ten seconds. The first try that
 * succeeds ends it. Pure: the caller has the lock and the clock. */
#ifndef CW_CACHE_STORE_BREAKER_H
#define CW_CACHE_STORE_BREAKER_H

#include "base/err.h"

struct cw_store_breaker {
    bool is_away;
    bool is_trying;     /* a try is under way */
    int64_t since_ns;   /* when it went away */
    int64_t try_ns;     /* when to try next */
    int64_t backoff_ns; /* between the last two tries */
    struct cw_err why;  /* the error that it went away with, or the last try's */
};
/* An operation ended with rc. true: the store is away since this moment. */
bool cw_store_breaker_note(struct cw_store_breaker *breaker, int rc, const struct cw_err *err,
                           int64_t now_ns);
/* It goes away, whatever the error is. false: it was away. */
bool cw_store_breaker_open(struct cw_store_breaker *breaker, const struct cw_err *why,
                           int64_t now_ns);
/* Whether to begin a try now; it is then under way. If not, *ret_at_ns is brought forward to when
 * the next one is due. */
bool cw_store_breaker_may_try(struct cw_store_breaker *breaker, int64_t now_ns, int64_t *ret_at_ns);
/* A try ended. true: the store is back. */
bool cw_store_breaker_tried(struct cw_store_breaker *breaker, int rc, const struct cw_err *err,
                            int64_t now_ns);
/* UNAVAILABLE, with a message that names the URL, if it is away; else 0. */
int cw_store_breaker_refuse(const struct cw_store_breaker *breaker, const char *url, int64_t now_ns,
                            struct cw_err *err);

#endif
