/* SPDX-License-Identifier: Apache-2.0 */
/* The access tokens of a world: the dispatcher's file, and those of who must show one. They are
 * replaced now and then, as an operator does it, and nothing may be lost by that. */
#ifndef SIM_TOKENS_H
#define SIM_TOKENS_H

#include <stdbool.h>
#include "sim.h"

#define SIM_TOKENS "/tokens"
#define SIM_TOKEN_OF_TRAINERS "/token.trainers"
#define SIM_TOKEN_OF_WORKERS "/token.workers"
#define SIM_TOKEN_OF_OPERATORS "/token.operators"
#define SIM_TOKEN_OF_OTHERS "/token.others" /* another tenant, who has no trainers */

/* Writes the first ones, and, with rotate, begins replacing them, for ever: new ones beside the old
 * ones; everybody shows the new ones; the old ones do not count any more. Between two steps the
 * dispatcher has time to see it. */
void sim_tokens_begin(bool rotate);

#endif
