/* SPDX-License-Identifier: Apache-2.0 */
/* dispatcher/state/state_queue.c with SIM_PLANTED_QUEUE: what was written before is not found. */
#include "planted.h"

#include "base/map.h"

#define cw_strmap_get(map, key)                                                                    \
    (sim_planted() == SIM_PLANTED_QUEUE ? NULL : cw_strmap_get(map, key))
#include "dispatcher/state/state_queue.c"
