/* SPDX-License-Identifier: Apache-2.0 */
/* The circuit breaker of a store. After an operation that timed out or could not reach the storage,
 * the store is unavailable: operations are refused at once, while the store itself makes a try now
 * and then, first after half a second, then at intervals that double up to ten seconds. The first
 * try that succeeds makes it available again. These functions are pure: the caller holds the
 * store's lock and passes the time. */
#ifndef CW_CACHE_STORE_BREAKER_H
#define CW_CACHE_STORE_BREAKER_H

#include "base/err.h"

struct cw_store_breaker {
    bool is_unavailable;
    bool is_trying;     /* a try is under way */
    int64_t since_ns;   /* when the store became unavailable */
    int64_t try_ns;     /* when the next try is due */
    int64_t backoff_ns; /* time between the last two tries */
    struct cw_err why;  /* the error that made the store unavailable, or that of the last try */
};
/* Notes that an operation ended with rc. Returns true if the store has just become unavailable by
 * it. */
bool cw_store_breaker_note(struct cw_store_breaker *breaker, int rc, const struct cw_err *err,
                           int64_t now_ns);
/* Makes the store unavailable, whatever the error is. Returns false if it was unavailable
 * before. */
bool cw_store_breaker_open(struct cw_store_breaker *breaker, const struct cw_err *why,
                           int64_t now_ns);
/* Whether a try begins now; if so, it counts as under way. If not, *ret_at_ns is set to the time of
 * the next try if that is earlier. */
bool cw_store_breaker_may_try(struct cw_store_breaker *breaker, int64_t now_ns, int64_t *ret_at_ns);
/* Notes that a try ended with rc. Returns true if the store is available again. */
bool cw_store_breaker_tried(struct cw_store_breaker *breaker, int rc, const struct cw_err *err,
                            int64_t now_ns);
/* Returns UNAVAILABLE, with a message that names the URL, if the store is unavailable; otherwise
 * 0. */
int cw_store_breaker_refuse(const struct cw_store_breaker *breaker, const char *url, int64_t now_ns,
                            struct cw_err *err);

#endif
