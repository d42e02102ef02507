/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIM_STATE_CHECK_H
#define SIM_STATE_CHECK_H

struct cw_dispatcher;
/* Now and then, when all that was written is stored: state.db has the rows of what there is, and no
 * other. Fails the world if not. */
void sim_check_state(const struct cw_dispatcher *d);

#endif
