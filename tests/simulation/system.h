/* SPDX-License-Identifier: Apache-2.0 */
/* What a program of actors has from base/system.c besides the system's calls. */
#ifndef SIM_SYSTEM_H
#define SIM_SYSTEM_H

#include <stdint.h>

/* First thing in an actor. */
void sim_system_init(void);
/* Uses thread-local memory once: the loader calls it, in no actor. */
__attribute__((visibility("default"))) void sim_program_touch(void);

/* worker_held.c: items that the worker was leased, and outputs that nobody has acknowledged. */
__attribute__((visibility("default"))) void sim_worker_held(uint64_t *ret_leased,
                                                            uint64_t *ret_outputs);
/* When all jobs have ended and their trainers are gone: something that is left of them and should
 * not be; NULL if there is nothing. Jobs with a name stay, and what workers have
 * of them. worker_held.c, dispatcher_left.c. */
__attribute__((visibility("default"))) const char *sim_worker_left(void);
__attribute__((visibility("default"))) const char *sim_dispatcher_left(void);

#endif
