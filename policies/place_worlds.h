/* SPDX-License-Identifier: Apache-2.0 */
/* Worlds that explain what was measured with some numbers of remote and local workers, drawn as
 * often as they are probable: what workers give (scale_explain.h), and what local ones do to the
 * trainer's step (place_host.h). Numbers of workers are right with the probability of the worlds in
 * which they cost no more than a little above the cheapest that are fast enough. The functions are
 * pure: equal measurements give equal worlds. */
#ifndef CW_POLICIES_PLACE_WORLDS_H
#define CW_POLICIES_PLACE_WORLDS_H

#include "policies/scale.h"

#define CW_PLACE_WORLDS 96
#define CW_PLACE_CHOICES_MOST 48

struct cw_place_numbers {
    double remote, local;
};
struct cw_place_limits {
    double remote, local;              /* the largest numbers that are possible */
    double slack;                      /* the slowdown that is allowed */
    double client_price, worker_price; /* for an hour */
};
struct cw_place_world {
    double rate, contention, congestion, ceiling; /* scale_fit.h */
    double speed;                                 /* of a local worker, as a part of a remote one */
    bool shared;                                  /* all local ones together have that speed */
    double demand, room, slow;                    /* of the trainer, and its host */
    double best, least; /* largest rate of any numbers; cost of a batch with the cheapest */
};
struct cw_place_choice {
    struct cw_place_numbers n;
    unsigned votes; /* of worlds in which it is right, or nearly */
    double right;   /* probability */
};
struct cw_place_view {
    struct cw_place_limits limits;
    struct cw_place_world v[CW_PLACE_WORLDS];
    bool known; /* false: too little was measured, there are no worlds */
    double misfit, noise;
    struct cw_place_choice choices[CW_PLACE_CHOICES_MOST]; /* the most probable one first */
    size_t choices_n;
};
void cw_place_imagine(struct cw_place_view *ret_view, const struct cw_scale_state *state,
                      const struct cw_place_limits *limits);
/* Returns the probability that these numbers are right. */
double cw_place_is_right(const struct cw_place_view *view, struct cw_place_numbers n);
/* Returns the numbers whose trial is the best next step, if one more can follow. measured: the
 * present ones tell nothing more. */
struct cw_place_numbers cw_place_most_telling(const struct cw_place_view *view,
                                              struct cw_place_numbers here, bool measured);
/* Returns what all worlds expect on the average: batches per second, and by which part the step is
 * longer. */
double cw_place_gives(const struct cw_place_view *view, struct cw_place_numbers n);
double cw_place_slower(const struct cw_place_view *view, struct cw_place_numbers n);

#endif
