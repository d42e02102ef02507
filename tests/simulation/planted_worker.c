/* SPDX-License-Identifier: Apache-2.0 */
/* Mistakes of a worker (planted.h). */
#include "planted.h"

#include "base/mem.h"
#include "cache/record/record_cache.h"
#include "format/chunk.h"
#include "worker/cache/cache_store.h"
#include "worker/cache/worker_cache.h"
#include "worker/model/output_queue.h"

/* SIM_PLANTED_OUTPUT: an output in fifty is counted as queued for its consumer, and is not. */
__typeof__(cw_outq_push) __real_cw_outq_push, __wrap_cw_outq_push;
void __wrap_cw_outq_push(struct cw_outq *q, struct cw_output *output)
{
    if (sim_planted() != SIM_PLANTED_OUTPUT || !sim_one_in(50))
        __real_cw_outq_push(q, output);
}

/* SIM_PLANTED_CHECKSUM */
__typeof__(cw_chunk_frame_check) __real_cw_chunk_frame_check, __wrap_cw_chunk_frame_check;
int __wrap_cw_chunk_frame_check(const struct cw_chunk_index *index, uint32_t frame,
                                const void *stored, struct cw_err *err)
{
    return sim_planted() == SIM_PLANTED_CHECKSUM
               ? 0
               : __real_cw_chunk_frame_check(index, frame, stored, err);
}

/* SIM_PLANTED_KEY */
__typeof__(cw_cache_dataset) __real_cw_cache_dataset, __wrap_cw_cache_dataset;
struct cw_cache_dataset *__wrap_cw_cache_dataset(struct cw_cache *cache, const char *tenant,
                                                 struct cw_hash key, const struct cw_spec *spec)
{
    if (sim_planted() == SIM_PLANTED_KEY)
        key = (struct cw_hash){.hi = 1, .lo = 1};
    return __real_cw_cache_dataset(cache, tenant, key, spec);
}

/* SIM_PLANTED_STAYS: it is as if no store was open. */
__typeof__(cw_wcache_leave) __real_cw_wcache_leave, __wrap_cw_wcache_leave;
void __wrap_cw_wcache_leave(struct cw_worker_state *w, const Cachew__V1__LeaveCache *leave)
{
    if (sim_planted() != SIM_PLANTED_STAYS) {
        __real_cw_wcache_leave(w, leave);
        return;
    }
    struct cw_wcache_store *named = cw_steal(&w->cache.named);
    struct cw_wcache_store *retired = cw_steal(&w->cache.retired);
    struct cw_wcache_store *closing = cw_steal(&w->cache.closing);
    __real_cw_wcache_leave(w, leave);
    w->cache.named = named;
    w->cache.retired = retired;
    w->cache.closing = closing;
}
