/* SPDX-License-Identifier: Apache-2.0 */
/* The program: its options, the end of each loop iteration, and the tick. */
#ifndef CW_DISPATCHER_PROGRAM_H
#define CW_DISPATCHER_PROGRAM_H

#include "dispatcher/model/model.h"

/* ---- options.c ---- */
/* Returns an enum cw_args_result, or an error code. */
int cw_options_parse(int argc, char **argv, struct cw_options *ret_options, struct cw_err *err);

/* ---- lead.c: option --lease ---- */
/* Begins to look at the Lease. */
int cw_lead_open(struct cw_dispatcher *d, struct cw_err *err);
/* Waits in the loop until this dispatcher holds the Lease, and then opens the state. */
int cw_lead_wait(struct cw_dispatcher *d, struct cw_err *err);
/* Ends the process with status 3 if the dispatcher leads no longer. It is called before everything
 * that only the leader may do. Without --lease it does nothing. */
void cw_lead_check(void *dispatcher);
/* Gives the Lease back, if it is held, and ends the process: it does not serve yet. */
void cw_lead_leave(struct cw_dispatcher *d);
/* Gives the Lease back, when the state is closed. It runs the loop. */
void cw_lead_close(struct cw_dispatcher *d);

/* ---- iteration_end.c ---- */
void cw_iteration_end(void *dispatcher);
/* Stores everything that is written, and waits for it, since the dispatcher stops. */
void cw_iteration_commit_last(struct cw_dispatcher *d);

/* ---- tick.c ---- */
/* Returns the part of the time since the last tick during which the dispatcher itself did not run
 * (it was stopped by a signal, or had no CPU). No worker or client may be blamed for that time. */
int64_t cw_tick_stall_ms(int64_t passed_ms, int64_t period_ms);
/* Starts or stops the tick, or changes its period, as needed. */
void cw_tick_update(struct cw_dispatcher *d);

#endif
