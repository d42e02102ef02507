/* SPDX-License-Identifier: Apache-2.0 */
/* The eviction policy `benefit`: the value of a chunk is the CPU time that each of its bytes saves,
 * and it falls with age.
 *
 *   worth = (saved + cost) / bytes / (1 + idle / 10 min)
 *
 * saved is the CPU time that hits have saved so far. cost is what computing the chunk once takes,
 * which counts as one more use, so that a chunk that was written just now has a value. A chunk that
 * was not used for ten minutes is worth half, for an hour a seventh. An unknown cost (the chunk was
 * found in the store) counts as 10 ns a byte, which is what decoding takes. */
#include "policies/policy.h"

#define HALF_AFTER_S 600.0
#define UNKNOWN_NS_PER_BYTE 10.0

static double worth(const struct cw_evict_entry *entry)
{
    double bytes = entry->bytes > 1 ? entry->bytes : 1;
    double cost = entry->cost_ns > 0 ? entry->cost_ns : UNKNOWN_NS_PER_BYTE * bytes;
    return (entry->saved_ns + cost) / bytes / (1 + entry->idle_s / HALF_AFTER_S);
}

const struct cw_evict_policy cw_policy_evict_benefit = {
    "benefit", "what saves the least CPU time per byte, aged, leaves first", worth};
