/* SPDX-License-Identifier: Apache-2.0 */
/* The controller as a whole: begins and ends it, and has the CacheBackends looked at that are due. */
#ifndef CW_CONTROLLER_RUN_H
#define CW_CONTROLLER_RUN_H

#include "controller/controller.h"

struct cw_controller_events {
    /* The first lists are in. */
    void (*listed)(void *arg);
    /* Another one leads, or the lease could not be renewed: this process is to end. */
    void (*lost)(void *arg, const struct cw_err *why);
    /* With the option release_all: there is none any more. May be told again. */
    void (*emptied)(void *arg);
    void *arg;
};
/* Begins. The options stay with the caller, as long as the controller. */
int cw_controller_new(struct cw_loop *loop, const struct cw_controller_options *options,
                      const struct cw_controller_events *events, struct cw_controller **ret,
                      struct cw_err *err);
/* Hands the lease over, if there is one, and calls done. Nothing is begun any more. */
void cw_controller_stop(struct cw_controller *c, cw_loop_fn *done, void *arg);
/* Returns whether all of it is freed; if not, an engine still hangs in a call, and the process ends
 * without freeing the loop. Accepts NULL. */
bool cw_controller_free(struct cw_controller *c);
const char *cw_controller_server(const struct cw_controller *c); /* the API server's URL */

#endif
