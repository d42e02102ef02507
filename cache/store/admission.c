/* SPDX-License-Identifier: Apache-2.0 */
/* Admission of operations: one may begin if the store is open and available. */
#include "base/clock.h"
#include "base/log.h"
#include "cache/store/store_state.h"

static int refuse(const struct cw_store *store, struct cw_err *err)
{
    return cw_store_breaker_refuse(&store->breaker, store->url.text, cw_clock_ns(), err);
}

/* Opens the store for its first user; other users wait for that. Called with the lock held, which
 * it gives up meanwhile. */
static int open_first(struct cw_store *store, struct cw_err *err)
{
    struct cw_err why = {0};

    store->is_opening = true;
    cw_mutex_unlock(&store->lock);
    int rc = cw_store_try(store, &why);
    cw_mutex_lock(&store->lock);
    store->is_opening = false;
    store->is_open = rc == 0;
    cw_cond_broadcast(&store->quiet);
    if (rc == CW_E_CANCELLED) { /* This says nothing about the storage. */
        if (err)
            *err = why;
        return rc;
    }
    if (rc < 0 && cw_store_breaker_open(&store->breaker, &why, cw_clock_ns()))
        cw_store_unavailable_locked(store);
    return refuse(store, err);
}

int cw_store_admit(struct cw_store *store, struct cw_err *err)
{
    cw_mutex_lock(&store->lock);
    while (store->is_opening)
        cw_cond_wait(&store->quiet, &store->lock);
    int rc = refuse(store, err);
    if (rc == 0 && !store->is_open)
        rc = open_first(store, err);
    cw_mutex_unlock(&store->lock);
    return rc;
}
