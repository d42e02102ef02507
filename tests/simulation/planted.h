/* SPDX-License-Identifier: Apache-2.0 */
/* Mistakes that are planted to see whether the simulation finds them: run --plant N. */
#ifndef SIM_PLANTED_H
#define SIM_PLANTED_H

#include "sim.h"

enum sim_mistake {
    SIM_PLANTED_NONE,
    SIM_PLANTED_PROMISE, /* what is promised is told before it is stored */
    SIM_PLANTED_OUTPUT,  /* a worker loses an output */
    SIM_PLANTED_TOKEN,   /* a token is one batch late */
    SIM_PLANTED_SYNC     /* a disk says that it has written what it has not */
};
__attribute__((visibility("default"))) int sim_planted(void);
void sim_plant(int mistake);

#endif
