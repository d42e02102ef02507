/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIM_TRAINER_BOUNDS_H
#define SIM_TRAINER_BOUNDS_H

#include <stdint.h>

struct cw_ledger;
/* What the ledger and its session hold is within bounds.h, with an output that has just come and is
 * not in the ledger; it takes `cost` bytes. */
void sim_check_trainer_bounds(const struct cw_ledger *ledger, uint64_t cost);

#endif
