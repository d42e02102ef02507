/* SPDX-License-Identifier: Apache-2.0 */
/* Readers of what was read ahead. */
#include <string.h>

#include "io/ahead_int.h"

/* Waits until it is known what the range has, as its user. A request that has not begun is left to the
 * reader. Called with the lock held. Returns false if nothing is there. */
static bool settle(struct cw_ahead_range *range, const struct cw_stop *stop)
{
    if (range->state == CW_AHEAD_WAITING) {
        cw_ahead_range_give_up(range);
        return false;
    }
    if (range->state == CW_AHEAD_UNDER_WAY) {
        cw_io_waits();
        cw_ahead_range_wait(range, stop);
    }
    return range->state == CW_AHEAD_THERE;
}

bool cw_ahead_info(const char *url, const struct cw_stop *stop, struct cw_io_info *ret_info)
{
    cw_ahead_lock();
    struct cw_ahead_range *range = cw_ahead_range_any(url);
    bool is_there = false;
    if (range) {
        range->users++;
        is_there = settle(range, stop);
        if (is_there)
            *ret_info = range->fetch.info;
        cw_ahead_range_leave(range);
    }
    cw_ahead_unlock();
    return is_there;
}

/* Copies without the lock, as a user of the range. */
static size_t copy(struct cw_ahead_range *range, uint64_t offset, void *dst, size_t n)
{
    size_t begin = (size_t)(offset - range->offset), part = CW_MIN(n, range->n - begin);
    cw_ahead_unlock();
    memcpy(dst, range->bytes + begin, part);
    cw_ahead_lock();
    cw_ahead_counters()->reads++;
    cw_ahead_counters()->read_bytes += part;
    return part;
}

size_t cw_ahead_read(const char *url, struct cw_hash state, uint64_t offset, void *dst, size_t n,
                     const struct cw_stop *stop)
{
    size_t part = 0;
    cw_ahead_lock();
    struct cw_ahead_range *range = cw_ahead_range_at(url, offset);
    if (range) {
        range->users++;
        if (settle(range, stop) && cw_hash_eq(range->fetch.info.state, state))
            part = copy(range, offset, dst, n);
        cw_ahead_range_leave(range);
    }
    cw_ahead_unlock();
    return part;
}

bool cw_ahead_has(const char *url, struct cw_hash state, uint64_t offset, uint64_t n)
{
    cw_ahead_lock();
    const struct cw_ahead_range *range = cw_ahead_range_at(url, offset);
    bool is = range && range->state == CW_AHEAD_THERE &&
              cw_hash_eq(range->fetch.info.state, state) &&
              n <= range->n - (offset - range->offset);
    cw_ahead_unlock();
    return is;
}
