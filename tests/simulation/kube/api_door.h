/* SPDX-License-Identifier: Apache-2.0 */
/* The way from fake_http.c to the fake API server: in the same program with it (api_here.c), or from
 * an actor's program to the world (api_world.c). Called by actors. */
#ifndef CW_TESTS_API_DOOR_H
#define CW_TESTS_API_DOOR_H

#include "kubernetes/fk.h"

#if defined(__GNUC__)
#pragma GCC visibility push(default) /* actors' programs find these in the executable */
#endif

int64_t api_door_late_ms(void); /* the longest time that a request or a piece takes */
bool api_door_is_shut(void);    /* whether the server is not reached now */
void api_door_ask(const struct fk_request *request, struct fk_answer *ret_answer);
void api_door_answer_fini(struct fk_answer *answer);
/* As fk_watch_start and fk_watch_free; fn is called in the actor's events. */
void api_door_watch(struct fk_watch *watch, fk_watch_fn *fn, void *arg);
void api_door_watch_free(struct fk_watch *watch); /* accepts NULL */

#if defined(__GNUC__)
#pragma GCC visibility pop
#endif
#endif
