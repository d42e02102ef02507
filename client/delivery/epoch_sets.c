/* SPDX-License-Identifier: Apache-2.0 */
#include "client/delivery/epoch_sets.h"

#include "base/mem.h"

struct cw_set *cw_epoch_sets_get(struct cw_map *sets, uint64_t epoch)
{
    struct cw_set *set = cw_map_get(sets, epoch);
    if (!set) {
        set = CW_NEW(struct cw_set);
        cw_map_set(sets, epoch, set);
    }
    return set;
}

void cw_epoch_sets_clear(struct cw_map *sets)
{
    uint64_t epoch;
    void *set;
    for (size_t i = 0; cw_map_next(sets, &i, &epoch, &set);) {
        cw_set_fini(set);
        cw_mem_free(set);
    }
    cw_map_fini(sets);
    *sets = (struct cw_map){0};
}

void cw_epoch_sets_remove(struct cw_map *sets, uint64_t epoch)
{
    struct cw_set *set = cw_map_remove(sets, epoch);
    if (set)
        cw_set_fini(set);
    cw_mem_free(set);
}
