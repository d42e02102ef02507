/* SPDX-License-Identifier: Apache-2.0 */
/* Whose CacheBackend is warmed next, when not all can be at once: tenants, which are namespaces, take turns,
 * so that one with many of them, or with some that never end, keeps nobody else waiting. Pure functions. */
#ifndef CW_CONTROLLER_PREFETCH_TURNS_H
#define CW_CONTROLLER_PREFETCH_TURNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cw_turn_wanted { /* one that waits */
    const char *name_space;
    size_t running; /* how many of its namespace are being warmed */
    uint64_t
        served;     /* a number that is higher the later one of its namespace was begun; 0: never */
    uint64_t since; /* a number that is higher the later it came */
};
/* Whether a is to be warmed before b: the namespace with fewer under way, then the one that was served longest
 * ago, then who came first. */
bool cw_turn_is_before(const struct cw_turn_wanted *a, const struct cw_turn_wanted *b);

struct cw_turn_taken { /* one that is being warmed */
    const char *name_space;
    size_t running; /* as above */
    int64_t begun_ms;
};
/* Whether it is to end so that `next` can be warmed: it has had its time, and its namespace has more under
 * way, or is the same. */
bool cw_turn_is_over(const struct cw_turn_taken *taken, const struct cw_turn_wanted *next,
                     int64_t now_ms, int64_t turn_ms);

#endif
