/* SPDX-License-Identifier: Apache-2.0 */
/* The eviction policy `lru`: the chunk whose last use is longest ago is evicted first. */
#include "policies/policy.h"

static double worth(const struct cw_evict_entry *entry)
{
    return -entry->idle_s;
}

const struct cw_evict_policy cw_policy_evict_lru = {
    "lru", "what was not used for the longest time leaves first", worth};
