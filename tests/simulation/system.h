/* SPDX-License-Identifier: Apache-2.0 */
/* What a program of actors has from base/system.c besides the system's calls. */
#ifndef SIM_SYSTEM_H
#define SIM_SYSTEM_H

#include <stdbool.h>
#include <stdint.h>

/* First thing in an actor. */
void sim_system_init(void);
/* Uses thread-local memory once: the loader calls it, in no actor. */
__attribute__((visibility("default"))) void sim_program_touch(void);

/* worker_held.c: items that the worker was leased, and outputs that nobody has acknowledged. */
__attribute__((visibility("default"))) void sim_worker_held(uint64_t *ret_leased,
                                                            uint64_t *ret_outputs);
/* When all jobs have ended and their trainers are gone: something that is left of them and should
 * not be; NULL if there is nothing. worker_left.c, dispatcher_left.c. Jobs with a name stay in the
 * dispatcher. A worker has nothing of those that are over (is_over asks its dispatcher); of one that
 * is not, since its trainer was killed before it had said that it has all, it may have outputs. */
__attribute__((visibility("default"))) const char *
sim_worker_left(bool (*is_over)(const char *job_id));
__attribute__((visibility("default"))) const char *sim_dispatcher_left(void);
/* Of named caches that no job uses; detached: of those that are not there any more. */
__attribute__((visibility("default"))) const char *sim_worker_left_of_caches(bool detached);
__attribute__((visibility("default"))) const char *sim_dispatcher_left_of_caches(bool detached);
/* Whether the dispatcher has loaded its state: it is no standby. */
__attribute__((visibility("default"))) bool sim_dispatcher_serves(void);
/* Whether it has, and holds its lease by its own clock. */
__attribute__((visibility("default"))) bool sim_dispatcher_leads(void);
/* Whether the consumer, which waits, can be given a batch: it waits for no other consumer, or not for
 * long. dispatcher_takes.c. */
__attribute__((visibility("default"))) bool sim_dispatcher_can_take(const char *job_id,
                                                                    uint32_t consumer);
/* Whether it does not know the job, or the job has ended. */
__attribute__((visibility("default"))) bool sim_dispatcher_is_over(const char *job_id);

#endif
