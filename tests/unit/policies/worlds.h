/* SPDX-License-Identifier: Apache-2.0 */
/* Random worlds for policies about workers: what holds a job up, how many workers there are, how
 * fast the trainer is, what changes in the middle. The right answer follows from the world's own
 * formulas (policies/simulate.h), never from a policy's. */
#ifndef CW_TESTS_UNIT_POLICIES_WORLDS_H
#define CW_TESTS_UNIT_POLICIES_WORLDS_H

#include "policies/simulate_job.h"

#define WORLD_CHANGE_S 130.0 /* about 60 windows */
#define WORLD_END_S 260.0

enum world_cause { /* the first five are those of enum cw_sim_cause */
                   WORLD_SOURCE,
                   WORLD_CPU,
                   WORLD_STORE,
                   WORLD_QUOTA,
                   WORLD_NETWORK,
                   WORLD_TRAINER,
                   WORLD_SLOWER,
                   WORLD_CAUSES
};
enum world_change {
    WORLD_SAME,
    WORLD_OTHER_TRAINER,
    WORLD_OTHER_WORKERS,
    WORLD_LOWER,
    WORLD_OTHER_ROOM,  /* of the trainer's host; with placement only */
    WORLD_OTHER_FLEET, /* another number of workers may be used; with placement only */
    WORLD_CHANGES
};

struct world {
    enum world_cause cause;
    enum world_change change;
    struct cw_sim_job_spec job;
    double workers, local; /* of the fleet, and of the trainer's host */
    uint64_t seed;
    double at_s[2], step_s[2], worker_s[2], ceiling[2], now[2];
};
struct world_result {                         /* of one of the two halves */
    double knee, workers, decisions, settled; /* settled: windows until the last decision */
    double slower;                            /* time of an epoch over the best */
    bool right;
};
/* The world must stay where it is: its job points into it. */
void world_draw(struct world *world, uint64_t number);
/* Fewest workers within 5 % of the best at that time. */
double world_knee(const struct world *world, double t_s, double *ret_best);
/* Gives the trainer's host 0 to 10 local workers, of which it bears some; the prices are Pecan's.
 * Other things may change in the middle then. */
void world_add_host(struct world *world);
/* With placement. knee: cost of a batch over that of the cheapest numbers which are within 5 % of the
 * best. right: within 5 % of that, and no slower than 5 %. */
void world_place(const struct world *world, const char *policy, struct world_result ret_result[2]);
/* If nothing changes in the middle, both results are those of the first half. */
void world_run(const struct world *world, const char *policy, struct world_result ret_result[2]);

#endif
