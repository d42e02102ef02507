/* SPDX-License-Identifier: Apache-2.0 */
/* How many operations of one kind a store did, and in how much time. Pure: the caller has the
 * lock and the clock. */
#ifndef CW_CACHE_STORE_METER_H
#define CW_CACHE_STORE_METER_H

#include <stdint.h>

struct cw_store_meter {
    uint64_t n, bytes; /* of operations that ended well */
    uint64_t errors;
    uint64_t busy_ns;   /* time in which at least one was under way, up to since_ns */
    unsigned under_way; /* now */
    int64_t since_ns;   /* when the last one began alone, or ended */
};
void cw_store_meter_begin(struct cw_store_meter *meter, int64_t now_ns);
/* rc < 0: it failed, and its bytes do not count */
void cw_store_meter_end(struct cw_store_meter *meter, uint64_t bytes, int rc, int64_t now_ns);
uint64_t cw_store_meter_busy_ns(const struct cw_store_meter *meter, int64_t now_ns);

#endif
