/* SPDX-License-Identifier: Apache-2.0 */
/* Counts operations of a store and the time in which at least one was under way. */
#include "cache/store/meter.h"

void cw_store_meter_begin(struct cw_store_meter *meter, int64_t now_ns)
{
    if (meter->under_way++ == 0)
        meter->since_ns = now_ns;
}

void cw_store_meter_end(struct cw_store_meter *meter, uint64_t bytes, int rc, int64_t now_ns)
{
    meter->busy_ns += (uint64_t)(now_ns - meter->since_ns);
    meter->since_ns = now_ns;
    meter->under_way--;
    if (rc < 0) {
        meter->errors++;
    } else {
        meter->n++;
        meter->bytes += bytes;
    }
}

uint64_t cw_store_meter_busy_ns(const struct cw_store_meter *meter, int64_t now_ns)
{
    return meter->busy_ns + (meter->under_way ? (uint64_t)(now_ns - meter->since_ns) : 0);
}
