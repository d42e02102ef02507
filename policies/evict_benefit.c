/* SPDX-License-Identifier: Apache-2.0 */
/* benefit: the CPU time that a byte of the chunk saves, aged.
 *
 *   worth = (saved + cost) / bytes / (1 + idle / 10 min)
 *
 * saved: CPU time that hits have saved so far; cost: what computing it once takes, that is one
 * use more: so a chunk that was written now is not worth nothing. What is not used for ten
 * minutes is worth half, for an hour a seventh. A cost that nobody knows (the chunk was found in
 * the store) is taken for 10 ns a byte, which decoding takes. */
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
