/* SPDX-License-Identifier: Apache-2.0 */
/* What workers report of their source caches. The last report of each worker is kept for `cachew
 * cache status`. */
#include "base/mem.h"
#include "dispatcher/model/model.h"

#define TIERS_MAX 16
#define NAMED_TIERS_MAX 1000

static void clear(Cachew__V1__SourceTier ***tiers, size_t *n)
{
    for (size_t i = 0; i < *n; i++)
        cachew__v1__source_tier__free_unpacked((*tiers)[i], NULL);
    cw_mem_free(*tiers);
    *tiers = NULL;
    *n = 0;
}

static void copy(Cachew__V1__SourceTier *const *from, size_t from_n,
                 Cachew__V1__SourceTier ***tiers, size_t *n)
{
    clear(tiers, n);
    *tiers = CW_NEW_ARRAY(Cachew__V1__SourceTier *, from_n);
    for (size_t i = 0; i < from_n; i++) {
        size_t size = cachew__v1__source_tier__get_packed_size(from[i]);
        cw_autofree uint8_t *bytes = cw_mem_new(size + 1);
        cachew__v1__source_tier__pack(from[i], bytes);
        Cachew__V1__SourceTier *tier = cachew__v1__source_tier__unpack(NULL, size, bytes);
        if (tier)
            (*tiers)[(*n)++] = tier;
    }
}

void cw_worker_clear_source_tiers(struct cw_worker *worker)
{
    clear(&worker->source_tiers, &worker->source_tiers_n);
    clear(&worker->named_tiers, &worker->named_tiers_n);
}

void cw_worker_set_source_tiers(struct cw_worker *worker, const Cachew__V1__Progress *progress)
{
    copy(progress->source, CW_MIN(progress->n_source, (size_t)TIERS_MAX), &worker->source_tiers,
         &worker->source_tiers_n);
    copy(progress->named_source, CW_MIN(progress->n_named_source, (size_t)NAMED_TIERS_MAX),
         &worker->named_tiers, &worker->named_tiers_n);
}
