/* SPDX-License-Identifier: Apache-2.0 */
/* The commands of the dispatcher. Loop thread. */
#ifndef CW_WORKER_SESSION_COMMANDS_H
#define CW_WORKER_SESSION_COMMANDS_H

#include "cachew/v1/fleet.pb-c.h"
#include "worker/model/state.h"

/* Carries out a command. Returns NULL, or a text that says why the command is not valid: the worker
 * then ends the session, and connects again after a while. */
const char *cw_commands_run(struct cw_worker_state *w, const Cachew__V1__WorkerCommand *command);

#endif
