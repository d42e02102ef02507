/* SPDX-License-Identifier: Apache-2.0 */
/* The workers of the fleet by the load that they have, for one assignment: a heap, so that a job
 * finds the few workers with the most time left without looking at all of them. Of workers with
 * the same load the first of the fleet comes first. */
#ifndef CW_DISPATCHER_SCALING_LEAST_LOADED_H
#define CW_DISPATCHER_SCALING_LEAST_LOADED_H

#include "dispatcher/model/model.h"

struct cw_least_loaded_entry {
    struct cw_worker *worker;
    double load;
    size_t rank; /* place in the fleet */
};
/* It is zero-initialised, and holds the workers that serve any job. */
struct cw_least_loaded {
    struct cw_least_loaded_entry *heap; /* The first n of them; those behind were taken. */
    size_t n, all;
};
void cw_least_loaded_fill(struct cw_least_loaded *fleet, struct cw_dispatcher *d);
void cw_least_loaded_fini(struct cw_least_loaded *fleet);
/* Takes the worker with the most time left; NULL: all were taken. */
struct cw_worker *cw_least_loaded_take(struct cw_least_loaded *fleet);
/* Puts back all that were taken, with the load that they have now. */
void cw_least_loaded_put_back(struct cw_least_loaded *fleet);
/* Must be called when the load of a worker has changed. */
void cw_least_loaded_changed(struct cw_least_loaded *fleet, const struct cw_worker *worker);

/* Returns how much of the worker's time the jobs need that it is assigned to. */
double cw_worker_load(const struct cw_worker *w);

#endif
