/* SPDX-License-Identifier: Apache-2.0 */
/* In a worker's program: where its state is. */
#ifndef SIM_WORKER_HELD_H
#define SIM_WORKER_HELD_H

#include "system.h"

struct cw_worker_state;
/* main's variable; NULL: there is no worker yet */
extern struct cw_worker_state **sim_worker_at;

#endif
