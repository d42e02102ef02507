/* SPDX-License-Identifier: Apache-2.0 */
/* Programs of actors: shared objects, of which each actor runs in a copy of its own. */
#ifndef SIM_PROGRAM_H
#define SIM_PROGRAM_H

#include "sim.h"

struct sim_program;
/* Opened once, for all worlds. */
struct sim_program *sim_program_open(const char *path);
/* The actor runs the function `entry` (void (*)(void *)) of a copy whose static variables are as
 * they were when it was loaded. */
struct sim_actor *sim_program_spawn(struct sim_program *program, const char *entry,
                                    const char *host, const char *name, void *arg);
/* A function of the actor's copy, while it is alive; NULL: its program has none of that name. */
void *sim_program_symbol(const struct sim_actor *actor, const char *name);
/* What programs with a main() are given. */
struct sim_args {
    int argc;
    char **argv; /* world memory */
};

#endif
