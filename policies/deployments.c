/* SPDX-License-Identifier: Apache-2.0 */
#include "policies/deployments.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/name.h"
#include "base/str.h"

static int parse_part(const char *part, struct cw_deployment *d, struct cw_err *err)
{
    if (cw_str_starts(part, "max=")) {
        if (cw_str_to_u64(part + 4, &d->max))
            return CW_OK;
        return cw_err_set(err, CW_E_INVALID, "\"%.64s\": max is a number of pods", part);
    }
    if (cw_str_starts(part, "price=")) {
        if (cw_str_to_f64(part + 6, &d->price) && d->price >= 0 && isfinite(d->price))
            return CW_OK;
        return cw_err_set(err, CW_E_INVALID, "\"%.64s\": price is a number that is not negative",
                          part);
    }
    return cw_err_set(err, CW_E_INVALID, "\"%.64s\" is neither max=N nor price=P", part);
}

int cw_deployment_parse(const char *text, double price, struct cw_deployment *ret_deployment,
                        struct cw_err *err)
{
    struct cw_deployment d = {.max = UINT64_MAX, .price = price};
    cw_autofree char *copy = cw_mem_strdup(text);
    char *rest = copy, *name = strsep(&rest, ","), *part;

    if (!cw_name_is_pod(name) || strlen(name) >= sizeof(d.name))
        return cw_err_set(err, CW_E_INVALID, "\"%.64s\" is no name of a Deployment", name);
    memcpy(d.name, name, strlen(name) + 1);
    while ((part = strsep(&rest, ","))) {
        int rc = parse_part(part, &d, err);
        if (rc != CW_OK)
            return rc;
    }
    *ret_deployment = d;
    return CW_OK;
}

/* Pods that are workers, or soon will be. */
static uint64_t usable(const struct cw_deployment *d)
{
    return d->replicas - CW_MIN(d->waiting, d->replicas);
}

/* Finds the cheapest one that is not done; of equal ones the first. */
static size_t cheapest(const struct cw_deployment *deployments, size_t n, const bool *done)
{
    size_t best = n;

    for (size_t i = 0; i < n; i++)
        if (!done[i] && (best == n || deployments[i].price < deployments[best].price))
            best = i;
    return best;
}

static uint64_t spread_one(const struct cw_deployment *d, uint64_t *rest)
{
    uint64_t pods, workers;

    if (d->held) {
        pods = d->replicas;
        workers = usable(d);
    } else if (d->waiting > 0) {
        pods = CW_MIN(CW_MIN(d->replicas, d->max), *rest);
        workers = CW_MIN(usable(d), pods);
    } else {
        pods = workers = CW_MIN(d->max, *rest);
    }
    *rest -= CW_MIN(workers, *rest);
    return pods;
}

void cw_deployments_spread(const struct cw_deployment *deployments, size_t n, uint64_t workers,
                           uint64_t *ret_replicas)
{
    bool *done = CW_NEW_ARRAY(bool, n ? n : 1);
    uint64_t rest = workers;
    size_t i;

    for (i = 0; i < n; i++) { /* what cannot be changed comes first */
        done[i] = deployments[i].held;
        if (done[i])
            ret_replicas[i] = spread_one(&deployments[i], &rest);
    }
    while ((i = cheapest(deployments, n, done)) < n) {
        done[i] = true;
        ret_replicas[i] = spread_one(&deployments[i], &rest);
    }
    cw_mem_free(done);
}

size_t cw_deployments_next(const struct cw_deployment *deployments, size_t n)
{
    size_t best = n;

    for (size_t i = 0; i < n; i++) {
        const struct cw_deployment *d = &deployments[i];
        bool has_room = !d->held && d->waiting == 0 && d->replicas < d->max;

        if (has_room && (best == n || d->price < deployments[best].price))
            best = i;
    }
    return best;
}
