/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/prefetch_turns.h"

#include "base/str.h"

bool cw_turn_is_before(const struct cw_turn_wanted *a, const struct cw_turn_wanted *b)
{
    if (a->running != b->running)
        return a->running < b->running;
    if (a->served != b->served)
        return a->served < b->served;
    return a->since < b->since;
}

bool cw_turn_is_over(const struct cw_turn_taken *taken, const struct cw_turn_wanted *next,
                     int64_t now_ms, int64_t turn_ms)
{
    bool makes_it_fairer =
        taken->running > next->running || cw_str_eq(taken->name_space, next->name_space);
    return makes_it_fairer && now_ms - taken->begun_ms >= turn_ms;
}
