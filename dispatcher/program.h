/* SPDX-License-Identifier: Apache-2.0 */
/* The program: its options, the end of each loop iteration, and the tick. */
#ifndef CW_DISPATCHER_PROGRAM_H
#define CW_DISPATCHER_PROGRAM_H

#include "dispatcher/model/model.h"

/* ---- options.c ---- */
/* Returns an enum cw_args_result, or an error code. */
int cw_options_parse(int argc, char **argv, struct cw_options *ret_options, struct cw_err *err);

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
