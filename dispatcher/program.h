/* SPDX-License-Identifier: Apache-2.0 */
/* The program: its options, and what is done at the end of each iteration of its loop. */
#ifndef CW_DISPATCHER_PROGRAM_H
#define CW_DISPATCHER_PROGRAM_H

#include "dispatcher/model/model.h"

/* ---- options.c ---- */
/* enum cw_args_result or a code */
int cw_options_parse(int argc, char **argv, struct cw_options *ret_options, struct cw_err *err);

/* ---- cycle.c ---- */
void cw_cycle_end(void *dispatcher);
/* stores what there is, and waits for it: the dispatcher stops */
void cw_cycle_commit_last(struct cw_dispatcher *d);
/* Of the time since the last tick, what the dispatcher itself stood (stopped by a signal, or
 * without a CPU): nobody else is to blame for it. */
int64_t cw_cycle_stall_ms(int64_t passed_ms, int64_t period_ms);
void cw_cycle_update_tick(struct cw_dispatcher *d); /* starts or stops the tick as needed */

#endif
