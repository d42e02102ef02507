/* SPDX-License-Identifier: Apache-2.0 */
/* Counts the operations of one kind that a store did, and the time that they took. These functions
 * are pure: the caller holds the store's lock and passes the time. */
#ifndef CW_CACHE_STORE_METER_H
#define CW_CACHE_STORE_METER_H

#include <stdint.h>

struct cw_store_meter {
    uint64_t n, bytes; /* operations that succeeded, and their bytes */
    uint64_t errors;
    uint64_t busy_ns;   /* time until since_ns in which at least one operation was under way */
    unsigned under_way; /* number of operations under way now */
    int64_t since_ns; /* when an operation last ended, or last began while no other was under way */
};
void cw_store_meter_begin(struct cw_store_meter *meter, int64_t now_ns);
/* Notes the end of an operation. rc < 0: it failed, and its bytes do not count. */
void cw_store_meter_end(struct cw_store_meter *meter, uint64_t bytes, int rc, int64_t now_ns);
uint64_t cw_store_meter_busy_ns(const struct cw_store_meter *meter, int64_t now_ns);

#endif
