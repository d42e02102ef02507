/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster.h"

#include "api_world.h"
#include "tokens.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rpc/net.h"

#define ARGS_MAX 32
#define BUDGETS 4 /* in one of so many worlds, and in no reference (seed 0) */

bool sim_is_short_of_memory(void)
{
    return sim_seed() % BUDGETS == 2;
}

static struct sim_program *programs[SIM_KINDS_N + 1];

void sim_programs_open(const char *directory)
{
    static const char *const names[] = {"dispatcher", "worker", "trainer", "controller"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        size_t n = strlen(directory) + 64;
        char *path = malloc(n);
        if (!path)
            abort();
        snprintf(path, n, "%s/libsim_%s.so", directory, names[i]);
        programs[i] = sim_program_open(path);
    }
}

__attribute__((format(printf, 2, 3))) static void add_arg(struct sim_args *args, const char *fmt,
                                                          ...)
{
    char text[256];
    va_list list;

    va_start(list, fmt);
    int n = vsnprintf(text, sizeof(text), fmt, list);
    va_end(list);
    if (n < 0 || (size_t)n >= sizeof(text) || args->argc + 1 >= ARGS_MAX)
        sim_fail("an argument is too long, or there are too many");
    args->argv[args->argc] = sim_world_alloc((size_t)n + 1);
    memcpy(args->argv[args->argc++], text, (size_t)n);
}

static struct sim_args *new_args(const char *program)
{
    struct sim_args *args = sim_world_alloc(sizeof(*args));

    args->argv = sim_world_alloc(ARGS_MAX * sizeof(char *));
    add_arg(args, "%s", program);
    return args;
}

static struct sim_args *dispatcher_args(const struct sim_cluster *cluster)
{
    struct sim_args *args = new_args("cachew-dispatcher");

    add_arg(args, "--listen=%s", SIM_DISPATCHER_ADDRESS);
    add_arg(args, "--state-dir=/state");
    if (cluster->is_open)
        add_arg(args, "--insecure");
    else
        add_arg(args, "--token-file=" SIM_TOKENS);
    if (sim_is_leased()) {
        add_arg(args, "--lease=lead");
        add_arg(args, "--kubeconfig=" SIM_KUBECONFIG);
        if (!sim_are_leases_usual()) {
            add_arg(args, "--lease-duration=1500ms");
            add_arg(args, "--lease-give-up=1s");
            add_arg(args, "--lease-renew=200ms");
        }
    } else {
        add_arg(args, "--standby");
    }
    add_arg(args, "--poison-deaths=1000000"); /* no item is to blame for what happens here */
    add_arg(args, "--provisioner=none");
    if (cluster->cache_store)
        add_arg(args, "--cache-store=%s", cluster->cache_store);
    if (cluster->has_store) {
        add_arg(args, "--cache-chunk-bytes=%u", cluster->chunk_bytes);
        add_arg(args, "--autocache=%s", cluster->autocache);
        add_arg(args, "--cache-evict=%s", cluster->evict);
        if (cluster->cache_quota > 0)
            add_arg(args, "--cache-quota=%llu", (unsigned long long)cluster->cache_quota);
    }
    return args;
}

struct sim_args *sim_worker_args(const struct sim_cluster *cluster, const char *dispatcher,
                                 const char *listen)
{
    struct sim_args *args = new_args("cachew-worker");

    add_arg(args, "--dispatcher=%s", dispatcher);
    add_arg(args, "--listen=%s", listen);
    add_arg(args, "--threads=2");
    add_arg(args, "--budget=%s", sim_is_short_of_memory() ? "2M" : "16M");
    add_arg(args, "--no-shm");
    add_arg(args, "--store-root=mem:");
    add_arg(args, "--token-file=" SIM_TOKEN_OF_WORKERS);
    if (cluster->is_open && !sim_one_in(4))
        add_arg(args, "--insecure");
    if (sim_one_in(4))
        add_arg(args, "--drain-limit=1s");
    return args;
}

struct sim_actor *sim_cluster_spawn(enum sim_kind program, const char *entry, const char *host,
                                    void *arg)
{
    return sim_program_spawn(programs[program], entry, host, host, arg);
}

struct sim_seat *sim_cluster_add(struct sim_cluster *cluster, enum sim_kind kind, int number)
{
    struct sim_seat *seat = &cluster->seats[cluster->seats_n++];

    *seat = (struct sim_seat){.kind = kind, .number = number, .wanted = true};
    return seat;
}

void sim_cluster_part(const struct sim_cluster *cluster)
{
    if (cluster->apart[0][0] == '\0')
        return;
    sim_log("%s and %s do not meet", cluster->apart[0], cluster->apart[1]);
    net_partition(cluster->apart[0], cluster->apart[1]);
    net_partition(cluster->apart[1], cluster->apart[0]);
}

void sim_seat_start(struct sim_cluster *cluster, struct sim_seat *seat)
{
    static const char *const names[] = {"dispatcher", "worker", "trainer"};
    char host[64], name[64];

    seat->incarnation++;
    seat->is_leaving = false;
    snprintf(name, sizeof(name), "%s%d.%d", names[seat->kind], seat->number, seat->incarnation);
    /* All dispatchers have one address. */
    if (seat->kind == SIM_DISPATCHER)
        snprintf(host, sizeof(host), SIM_DISPATCHER_HOST);
    else
        snprintf(host, sizeof(host), "%s%d", names[seat->kind], seat->number);
    switch (seat->kind) {
    case SIM_DISPATCHER:
        seat->actor = sim_program_spawn(programs[SIM_DISPATCHER], "sim_program_entry", host, name,
                                        dispatcher_args(cluster));
        if (sim_is_leased()) {
            *(void **)&seat->leads = sim_program_symbol(seat->actor, "sim_dispatcher_leads");
            sim_api_start_again(cluster, seat);
        }
        break;
    case SIM_WORKER:
        snprintf(seat->address, sizeof(seat->address), "worker%d:%d", seat->number,
                 8000 + seat->incarnation);
        seat->actor =
            sim_program_spawn(programs[SIM_WORKER], "sim_program_entry", host, name,
                              sim_worker_args(cluster, SIM_DISPATCHER_ADDRESS, seat->address));
        *(void **)&seat->ask = sim_program_symbol(seat->actor, "sim_worker_held");
        if (!seat->ask)
            sim_fail("a worker does not tell what it holds");
        break;
    case SIM_TRAINER:
    case SIM_KINDS_N:
    default:
        snprintf(seat->trainer->dispatcher, sizeof(seat->trainer->dispatcher), "%s",
                 SIM_DISPATCHER_ADDRESS);
        sim_checkpoint_return(seat->trainer);
        seat->actor =
            sim_program_spawn(programs[SIM_TRAINER], "sim_trainer_main", host, name, seat->trainer);
        break;
    }
    /* A request to a store that hangs is given up with what it holds. */
    if (!cluster->has_store || seat->kind == SIM_TRAINER)
        sim_forbid_leaks(seat->actor);
}

struct sim_admin *sim_admin_new(enum sim_command command)
{
    struct sim_admin *admin = sim_world_alloc(sizeof(*admin));

    admin->command = command;
    return admin;
}

void sim_admin_run(struct sim_cluster *cluster, struct sim_admin *admin)
{
    char name[32];

    snprintf(name, sizeof(name), "admin%d", ++cluster->commands);
    snprintf(admin->dispatcher, sizeof(admin->dispatcher), "%s", SIM_DISPATCHER_ADDRESS);
    sim_program_spawn(programs[SIM_TRAINER], "sim_admin_main", "admin", name, admin);
}

struct sim_admin *sim_admin_start(struct sim_cluster *cluster, enum sim_command command,
                                  uint64_t bytes)
{
    struct sim_admin *admin = sim_admin_new(command);

    admin->bytes = bytes;
    sim_admin_run(cluster, admin);
    return admin;
}

bool sim_seat_is_alive(const struct sim_seat *seat)
{
    return seat->actor && sim_is_alive(seat->actor);
}

bool sim_seat_is_done(const struct sim_seat *seat)
{
    return seat->trainer->has_ended || seat->trainer->error != 0;
}

bool sim_cluster_is_done(const struct sim_cluster *cluster)
{
    for (size_t i = 0; i < cluster->seats_n; i++)
        if (cluster->seats[i].kind == SIM_TRAINER && cluster->seats[i].trainer->error != 0)
            return true;
    for (size_t i = 0; i < cluster->seats_n; i++)
        if (cluster->seats[i].kind == SIM_TRAINER &&
            (!sim_seat_is_done(&cluster->seats[i]) || sim_seat_is_alive(&cluster->seats[i])))
            return false;
    return true;
}
