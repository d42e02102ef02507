/* SPDX-License-Identifier: Apache-2.0 */
/* Worlds in which dispatchers have a lease, or caches are CacheBackends (controlled.h): an API server for
 * all of them, which is away, cut off from one of them, or wrong at times, and whose clock jumps. */
#ifndef SIM_API_WORLD_H
#define SIM_API_WORLD_H

#include "cluster.h"

#define SIM_KUBECONFIG "/kubeconfig"

/* Whether this world is one of these. */
bool sim_is_leased(void);
void sim_leases_always(void); /* every world is, but for those of references */
/* From now on leases have the usual periods, not the short ones of worlds in which much happens. */
void sim_leases_usual(void);
bool sim_are_leases_usual(void);
/* Begins the server, in a world. fails: at times, as long as anything
 * may fail (cluster->whole_ns). */
void sim_api_begin(const struct sim_cluster *cluster, bool fails);
/* What an administrator asks, who always reaches it: the HTTP status. body NULL: none. */
int sim_api_ask(const char *method, const char *path, const char *body);
/* Whether what it is answered has the text in it. */
bool sim_api_says(const char *path, const char *text);

/* What programs have asked. */
struct sim_api_counts {
    uint64_t leases;        /* requests about them */
    uint64_t writes, reads; /* the others; watches are not counted */
    char last[256];         /* of writes and reads */
};
struct sim_api_counts sim_api_counts(void);
void sim_api_forget_counts(void);
void sim_api_end(void); /* after the world's end */
/* A dispatcher was started in the seat: when it has led no longer, and has ended because of that, it
 * is started again. */
void sim_api_start_again(struct sim_cluster *cluster, struct sim_seat *seat);
/* No two dispatchers may hold the lease at once, each by its own clock. */
void sim_check_leaders(const struct sim_cluster *cluster);

#endif
