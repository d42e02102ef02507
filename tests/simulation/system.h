/* SPDX-License-Identifier: Apache-2.0 */
/* What a program of actors has from base/system.c besides the system's calls. */
#ifndef SIM_SYSTEM_H
#define SIM_SYSTEM_H

/* First thing in an actor. */
void sim_system_init(void);
/* Uses thread-local memory once: the loader calls it, in no actor. */
__attribute__((visibility("default"))) void sim_program_touch(void);

#endif
