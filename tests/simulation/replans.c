/* SPDX-License-Identifier: Apache-2.0 */
#include "replans.h"

#include "base/hash.h"

#define PAUSE_MS 300 /* at most, between two */

struct replans {
    struct sim_cluster *cluster;
    struct sim_admin *last; /* NULL: the first is to come */
    int64_t until_ns;
    uint64_t chance, *taken;
};

static void go_on(struct replans *replans);

/* One after the other: an answer may take long. */
static void on_time(void *arg)
{
    struct replans *replans = arg;

    if (replans->last && replans->last->has_ended) {
        *replans->taken += replans->last->total;
        replans->last = NULL;
    }
    if (sim_now_ns() >= replans->until_ns)
        return;
    replans->chance = cw_mix64(replans->chance + 1);
    if (!replans->last)
        replans->last = sim_admin_start(replans->cluster, SIM_COMMAND_REPLAN, replans->chance);
    go_on(replans);
}

static void go_on(struct replans *replans)
{
    int64_t pause_ns = (int64_t)(1 + replans->chance % PAUSE_MS) * SIM_MS;

    sim_at(NULL, sim_now_ns() + pause_ns, on_time, replans);
}

void sim_replans_begin(uint64_t seed, struct sim_cluster *cluster, int64_t until_ns,
                       uint64_t *taken)
{
    struct replans *replans = sim_world_alloc(sizeof(*replans));

    *replans = (struct replans){
        .cluster = cluster, .until_ns = until_ns, .chance = cw_mix64(seed), .taken = taken};
    go_on(replans);
}
