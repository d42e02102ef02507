/* SPDX-License-Identifier: Apache-2.0 */
/* Figures of dispatchers and controllers on Kubernetes, on virtual time: what protocols and periods
 * take, without what a machine takes. Prints how long nobody serves when a leader with the usual periods
 * of a lease is told to end, and when it is killed; and what two controllers ask the API server in an
 * hour in which nothing changes. Fails where that is more than what is promised. */
#include <inttypes.h>
#include <libgen.h>
#include <signal.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "api_world.h"
#include "controlled.h"
#include "faults.h"
#include "left.h"
#include "tokens.h"

#define TIMES 10 /* of each way to end */
#define TERM_NS (3 * SIM_S)
#define KILL_NS (20 * SIM_S)
#define LONG_NS (120 * SIM_S) /* nothing of all this takes so long */
#define HOUR_NS (3600 * SIM_S)
#define SETTLE_NS (60 * SIM_S)

static struct sim_cluster cluster;

/* ---- who leads ---- */
static const struct sim_seat *former; /* it does not count as serving */

static bool is_served(void *arg)
{
    const struct sim_seat *seat = sim_serving(&cluster);

    (void)arg;
    sim_check_leaders(&cluster);
    return seat && seat != former;
}

static struct sim_seat *wait_for_leader(void)
{
    if (sim_world_run(is_served, NULL, sim_now_ns() + LONG_NS) != SIM_END_DONE)
        sim_fail("nobody leads");
    return (struct sim_seat *)(uintptr_t)sim_serving(&cluster);
}

static void pass(int64_t ns)
{
    (void)sim_world_run(NULL, NULL, sim_now_ns() + ns);
}

/* The time from the leader's end, by that signal, until the other one serves. The leader's seat stands
 * by again then. */
static int64_t take_over(int signum)
{
    struct sim_seat *leader = wait_for_leader();

    pass(sim_between(5 * SIM_S,
                     8 * SIM_S)); /* at any moment of its period, and the other one stands by */
    int64_t began_ns = sim_now_ns();
    former = leader;
    if (signum == SIGKILL)
        sim_kill(leader->actor);
    else
        sim_signal(leader->actor, signum);
    (void)wait_for_leader();
    int64_t took_ns = sim_now_ns() - began_ns;
    former = NULL;
    pass(SIM_S);
    sim_seat_restart(&cluster, leader);
    return took_ns;
}

static int64_t longest(int signum)
{
    int64_t most_ns = 0;

    for (int i = 0; i < TIMES; i++) {
        int64_t took_ns = take_over(signum);
        most_ns = took_ns > most_ns ? took_ns : most_ns;
    }
    return most_ns;
}

static void expect(const char *what, int64_t took_ns, int64_t most_ns)
{
    printf("%s: nobody served for %.1f s, the longest of %d\n", what,
           (double)took_ns / (double)SIM_S, TIMES);
    if (took_ns >= most_ns)
        sim_fail("%s: nobody served for %" PRId64 " ms", what, took_ns / SIM_MS);
}

static void leaders(uint64_t seed)
{
    struct sim_config config = {.seed = seed};

    cluster = (struct sim_cluster){.whole_ns = SIM_NEVER, .is_calm = true};
    sim_leases_always();
    sim_leases_usual();
    sim_world_begin(&config);
    sim_tokens_begin(false);
    sim_api_begin(&cluster, false);
    for (int i = 0; i < 2; i++)
        sim_seat_start(&cluster, sim_cluster_add(&cluster, SIM_DISPATCHER, i));
    expect("SIGTERM of the leader", longest(SIGTERM), TERM_NS);
    expect("kill -9 of the leader", longest(SIGKILL), KILL_NS);
    sim_world_end();
    sim_api_end();
}

/* ---- an hour in which nothing changes ---- */
static bool are_ready(void *arg)
{
    (void)arg;
    return sim_controlled_are_ready();
}

static void quiet_hour(uint64_t seed)
{
    struct sim_config config;

    sim_controlled_always();
    while (!sim_is_controlled(seed))
        seed++;
    config = (struct sim_config){.seed = seed};
    cluster = (struct sim_cluster){.is_calm = true}; /* nothing fails, from the first moment on */
    sim_world_begin(&config);
    sim_tokens_begin(false);
    sim_api_begin(&cluster, false);
    sim_controlled_begin_still(seed, &cluster);
    sim_seat_start(&cluster, sim_cluster_add(&cluster, SIM_DISPATCHER, 0));
    sim_seat_start(&cluster, sim_cluster_add(&cluster, SIM_WORKER, 0));
    if (sim_world_run(are_ready, NULL, sim_now_ns() + LONG_NS) != SIM_END_DONE)
        sim_fail("CacheBackends do not become ready");
    pass(SETTLE_NS);
    if (sim_api_counts().writes == 0)
        sim_fail("writes are not counted: CacheBackends have become ready without any");
    sim_api_forget_counts();
    pass(HOUR_NS);
    struct sim_api_counts counts = sim_api_counts();
    printf("an hour in which nothing changes: %" PRIu64 " writes but for the lease, %" PRIu64
           " reads, %" PRIu64 " of the lease\n",
           counts.writes, counts.reads, counts.leases);
    if (counts.writes || counts.reads)
        sim_fail("the last was %s", counts.last);
    if (!counts.leases || !sim_controlled_are_ready())
        sim_fail("nobody leads, or CacheBackends are ready no longer");
    sim_world_end();
    sim_api_end();
}

int main(void)
{
    static char self[4096];

    tzset();
    if (readlink("/proc/self/exe", self, sizeof(self) - 1) < 0)
        return 2;
    sim_programs_open(dirname(self));
    quiet_hour(1);
    leaders(1);
    return 0;
}
