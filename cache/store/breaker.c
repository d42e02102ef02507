/* SPDX-License-Identifier: Apache-2.0 */
/* The circuit breaker of a store (breaker.h explains its states). */
#include "cache/store/breaker.h"

#define BACKOFF_MIN_NS ((int64_t)500000000)
#define BACKOFF_MAX_NS ((int64_t)10000000000)

bool cw_store_breaker_open(struct cw_store_breaker *breaker, const struct cw_err *why,
                           int64_t now_ns)
{
    if (breaker->is_unavailable)
        return false;
    breaker->is_unavailable = true;
    breaker->since_ns = now_ns;
    breaker->backoff_ns = BACKOFF_MIN_NS;
    breaker->try_ns = now_ns + breaker->backoff_ns;
    breaker->why = *why;
    return true;
}

bool cw_store_breaker_note(struct cw_store_breaker *breaker, int rc, const struct cw_err *err,
                           int64_t now_ns)
{
    return (rc == CW_E_TIMEOUT || rc == CW_E_UNAVAILABLE) &&
           cw_store_breaker_open(breaker, err, now_ns);
}

bool cw_store_breaker_may_try(struct cw_store_breaker *breaker, int64_t now_ns, int64_t *ret_at_ns)
{
    if (!breaker->is_unavailable || breaker->is_trying)
        return false;
    if (breaker->try_ns > now_ns) {
        *ret_at_ns = CW_MIN(*ret_at_ns, breaker->try_ns);
        return false;
    }
    breaker->is_trying = true;
    return true;
}

bool cw_store_breaker_tried(struct cw_store_breaker *breaker, int rc, const struct cw_err *err,
                            int64_t now_ns)
{
    breaker->is_trying = false;
    if (rc == 0) {
        breaker->is_unavailable = false;
        return true;
    }
    breaker->why = *err;
    breaker->backoff_ns = CW_MIN(2 * breaker->backoff_ns, BACKOFF_MAX_NS);
    breaker->try_ns = now_ns + breaker->backoff_ns;
    return false;
}

int cw_store_breaker_refuse(const struct cw_store_breaker *breaker, const char *url, int64_t now_ns,
                            struct cw_err *err)
{
    if (!breaker->is_unavailable)
        return 0;
    return cw_err_set(err, CW_E_UNAVAILABLE, "store %s is away since %lld s: %s", url,
                      (long long)((now_ns - breaker->since_ns) / 1000000000), breaker->why.msg);
}
