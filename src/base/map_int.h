/* SPDX-License-Identifier: Apache-2.0 */
/* The rule by which the tables of map.c and strmap.c grow. */
#ifndef CW_BASE_MAP_INT_H
#define CW_BASE_MAP_INT_H

#include <stdbool.h>
#include <stddef.h>

/* Whether one more entry fits: at most 3/4 of the slots may be used, including graves. */
static inline bool cw_map_has_room(size_t used, size_t slots)
{
    return slots > 0 && (used + 1) * 4 <= slots * 3;
}

/* Returns the number of slots of a new table that takes over n entries and gets one more. */
static inline size_t cw_map_slots_for(size_t n)
{
    size_t slots = 16;
    while (slots < (n + 1) * 2)
        slots *= 2;
    return slots;
}

#endif
