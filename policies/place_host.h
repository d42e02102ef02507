/* SPDX-License-Identifier: Apache-2.0 */
/* What local workers do to the trainer's step, as far as the levels of a policy say it. Each
 * explanation says how many local workers the host has room for; each further one makes the step
 * longer by the same part. The functions are pure. */
#ifndef CW_POLICIES_PLACE_HOST_H
#define CW_POLICIES_PLACE_HOST_H

#include "policies/scale.h"

#define CW_PLACE_HOSTS_MOST 24

struct cw_place_host {
    double room;        /* number of local workers that do no harm */
    double slow, error; /* logarithm of the part, and its standard deviation */
    double probability;
};
struct cw_place_hosts {
    struct cw_place_host v[CW_PLACE_HOSTS_MOST];
    size_t n;
};
/* noise: relative, of one window. local: the most local workers that are possible. */
void cw_place_hosts_explain(struct cw_place_hosts *ret_hosts, const struct cw_scale_level *levels,
                            size_t n, double noise, double local);
/* Returns by which part so many local workers make the step longer. */
double cw_place_host_slower(const struct cw_place_host *host, double local);
/* Sets the level's demand to what it would be without local workers, and `slower`. */
void cw_place_hosts_correct(const struct cw_place_hosts *hosts, double noise,
                            struct cw_scale_level *level);

#endif
