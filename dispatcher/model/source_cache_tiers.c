/* SPDX-License-Identifier: Apache-2.0 */
/* What workers report of their source caches. The last report of each worker is kept for `cachew
 * cache status`. */
#include "base/mem.h"
#include "dispatcher/model/model.h"

#define TIERS_MAX 16

void cw_worker_clear_source_tiers(struct cw_worker *worker)
{
    for (size_t i = 0; i < worker->source_tiers_n; i++)
        cachew__v1__source_tier__free_unpacked(worker->source_tiers[i], NULL);
    cw_mem_free(worker->source_tiers);
    worker->source_tiers = NULL;
    worker->source_tiers_n = 0;
}

void cw_worker_set_source_tiers(struct cw_worker *worker, const Cachew__V1__Progress *progress)
{
    cw_worker_clear_source_tiers(worker);
    worker->source_tiers = CW_NEW_ARRAY(Cachew__V1__SourceTier *, TIERS_MAX);
    for (size_t i = 0; i < CW_MIN(progress->n_source, (size_t)TIERS_MAX); i++) {
        size_t n = cachew__v1__source_tier__get_packed_size(progress->source[i]);
        cw_autofree uint8_t *bytes = cw_mem_new(n + 1);
        cachew__v1__source_tier__pack(progress->source[i], bytes);
        Cachew__V1__SourceTier *tier = cachew__v1__source_tier__unpack(NULL, n, bytes);
        if (tier)
            worker->source_tiers[worker->source_tiers_n++] = tier;
    }
}
