/* SPDX-License-Identifier: Apache-2.0 */
#include "planted.h"

static int planted;

int sim_planted(void)
{
    return sim_seed() != 0 ? planted : SIM_PLANTED_NONE; /* not in a reference, whose seed is 0 */
}

void sim_plant(int mistake)
{
    planted = mistake;
}
