/* SPDX-License-Identifier: Apache-2.0 */
/* In a dispatcher's program: where its state is. */
#ifndef SIM_DISPATCHER_STATE_H
#define SIM_DISPATCHER_STATE_H

#include "system.h"

struct cw_dispatcher;
/* Now and then: its tables and queues are within bounds.h. */
void sim_check_dispatcher_bounds(const struct cw_dispatcher *d);
extern const struct cw_dispatcher
    *sim_dispatcher; /* main's variable; NULL: nothing is loaded yet */

#endif
