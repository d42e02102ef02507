/* SPDX-License-Identifier: Apache-2.0 */
/* Questions about the provisioner's state that several of its files ask. */
#include "dispatcher/kubernetes/cluster.h"

#include <string.h>

const struct cw_kube_kind cw_kind_deployments = {"apps", "v1", "deployments"};
const struct cw_kube_kind cw_kind_pods = {"", "v1", "pods"};

struct cw_cluster *cw_cluster_of(const struct cw_dispatcher *d)
{
    const struct cw_provisioner *kind = d->provision.kind;

    return kind && cw_str_eq(kind->name, CW_CLUSTER_NAME) ? d->provision.state : NULL;
}

bool cw_cluster_is_away(const struct cw_cluster *cluster)
{
    return cluster->failed_ms > 0 && cw_clock_ms() - cluster->failed_ms < CW_AWAY_MS;
}

bool cw_pool_may_write(const struct cw_pool *pool)
{
    return pool->seen && !pool->seen->error && pool->version && pool->version[0] != '\0' &&
           pool->hold == CW_HOLD_NOT;
}

void cw_pool_take_version(struct cw_pool *pool, const char *version)
{
    cw_mem_free(pool->version);
    pool->version = cw_mem_strdup(version);
    pool->answered_lists = cw_kube_watch_counts(pool->watch).lists;
}

bool cw_version_is_older(const char *version, const char *than)
{
    size_t n = strlen(version), than_n = strlen(than);

    if (n == 0 || than_n == 0 || strspn(version, "0123456789") != n ||
        strspn(than, "0123456789") != than_n)
        return false;
    return n != than_n ? n < than_n : strcmp(version, than) < 0;
}
