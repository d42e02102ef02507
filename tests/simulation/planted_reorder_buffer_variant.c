/* SPDX-License-Identifier: Apache-2.0 */
/* client/delivery/reorder_buffer.c with SIM_PLANTED_TWICE: an unordered job does not look whether an
 * item has come already. (An ordered one gives out each number once, whatever it keeps.) */
#include "base/interval.h"
#include "planted.h"

#define cw_set_has(set, x)                                                                         \
    (cw_set_has(set, x) && !(sim_planted() == SIM_PLANTED_TWICE && order->conf.unordered))
#include "client/delivery/reorder_buffer.c"
