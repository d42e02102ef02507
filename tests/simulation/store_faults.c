/* SPDX-License-Identifier: Apache-2.0 */
#include "store_faults.h"

#include "admin.h"
#include "disk.h"
#include "named.h"

#define LATER_NS (2 * SIM_S) /* between two fills of the disk at most */

static uint64_t below(struct sim_store_faults *faults, uint64_t n)
{
    uint64_t x = faults->state += 0x9e3779b97f4a7c15u;

    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return (x ^ (x >> 31)) % n;
}

void sim_store_faults_init(struct sim_store_faults *faults, const struct sim_cluster *cluster)
{
    static const int64_t most[] = {100 * SIM_MS, 400 * SIM_MS, 2 * SIM_S};

    *faults = (struct sim_store_faults){.cluster = cluster, .state = ~sim_seed()};
    faults->most_ns =
        cluster->has_store ? most[below(faults, sizeof(most) / sizeof(most[0]))] : LATER_NS;
    faults->next_ns = sim_now_ns() + (int64_t)below(faults, (uint64_t)faults->most_ns);
    if (!cluster->has_store && !cluster->disk_fills)
        faults->next_ns = SIM_NEVER;
}

static int64_t pause_ns(struct sim_store_faults *faults)
{
    static const int64_t most[] = {20 * SIM_MS, 200 * SIM_MS, SIM_S, 5 * SIM_S};

    return (int64_t)below(faults, (uint64_t)most[below(faults, sizeof(most) / sizeof(most[0]))]);
}

static enum sim_fault_kind kind_of(struct sim_store_faults *faults)
{
    static const enum sim_fault_kind kinds[] = {
        SIM_FAULT_STORE_AWAY,   SIM_FAULT_STORE_HANGS, SIM_FAULT_STORE_SLOW,
        SIM_FAULT_STORE_FULL,   SIM_FAULT_STORE_READS, SIM_FAULT_STORE_DAMAGE,
        SIM_FAULT_STORE_DAMAGE, SIM_FAULT_STORE_LOSES, SIM_FAULT_STORE_LOSES,
        SIM_FAULT_EVICT,        SIM_FAULT_EVICT,       SIM_FAULT_SCAN};

    if (faults->cluster->disk_fills && (!faults->cluster->has_store || below(faults, 4) == 0))
        return SIM_FAULT_DISK_FULL;
    return kinds[below(faults, sizeof(kinds) / sizeof(kinds[0]))];
}

bool sim_store_faults_due(struct sim_store_faults *faults, struct sim_fault *ret)
{
    if (sim_now_ns() < faults->next_ns)
        return false;
    faults->next_ns = sim_now_ns() + (int64_t)below(faults, (uint64_t)faults->most_ns);
    *ret = (struct sim_fault){.kind = kind_of(faults),
                              .seat = (int)below(faults, faults->cluster->seats_n),
                              .other = (int)below(faults, 1 << 20),
                              .pause_ns = pause_ns(faults)};
    return true;
}

/* ---- doing ---- */
bool sim_is_store_fault(enum sim_fault_kind kind)
{
    return kind >= SIM_FAULT_STORE_AWAY && kind <= SIM_FAULT_DISK_FULL;
}

/* Every other time for the host of the seat only. */
static void trouble(const struct sim_cluster *cluster, const struct sim_fault *fault)
{
    const struct sim_actor *actor = cluster->seats[fault->seat].actor;

    sim_store_trouble((enum sim_trouble)(fault->kind - SIM_FAULT_STORE_AWAY),
                      actor && fault->other % 2 ? sim_host(actor) : NULL,
                      sim_now_ns() + fault->pause_ns);
}

/* There is room again: who could not start without is started, as a supervisor would do. */
static void start_dispatchers(void *arg)
{
    struct sim_cluster *cluster = arg;

    for (size_t i = 0; i < cluster->seats_n; i++)
        if (cluster->seats[i].kind == SIM_DISPATCHER)
            sim_seat_restart(cluster, &cluster->seats[i]);
}

static void ask(struct sim_cluster *cluster, const struct sim_fault *fault,
                enum sim_command command, uint64_t bytes)
{
    struct sim_admin *admin = sim_admin_new(command);

    admin->bytes = bytes;
    sim_named_choose(admin, (uint64_t)fault->other);
    sim_admin_run(cluster, admin);
}

bool sim_store_fault_do(struct sim_cluster *cluster, const struct sim_fault *fault)
{
    switch (fault->kind) {
    case SIM_FAULT_STORE_DAMAGE:
        return sim_store_damage((uint64_t)fault->other);
    case SIM_FAULT_STORE_LOSES:
        return sim_store_lose((uint64_t)fault->other);
    case SIM_FAULT_EVICT: /* all, or what is worth least */
        ask(cluster, fault, SIM_COMMAND_EVICT, fault->other % 2 ? (uint64_t)fault->other : 0);
        return true;
    case SIM_FAULT_SCAN:
        ask(cluster, fault, SIM_COMMAND_SCAN, 0);
        return true;
    case SIM_FAULT_DISK_FULL:
        sim_log("the disk is full for a while");
        sim_disk_fill(sim_now_ns() + fault->pause_ns);
        sim_at(NULL, sim_now_ns() + fault->pause_ns, start_dispatchers, cluster);
        return true;
    default:
        trouble(cluster, fault);
        return true;
    }
}
