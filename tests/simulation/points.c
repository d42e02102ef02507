/* SPDX-License-Identifier: Apache-2.0 */
/* Fault points and rare points of the product (src/base/fault.h): in each world some are chosen, and
 * each of these has its own frequency. What is chosen depends on the seed, the point and how often it
 * was passed in this world, so that other faults do not change it. */
#include <stdio.h>
#include <string.h>

#include "sim.h"

#define POINTS_MAX 128
#define CHOSEN 4       /* of so many points one is chosen */
#define DEATHS_MOST 64 /* of so many passes of a chosen fault point at most one is a death */

struct point {
    char name[48];
    bool is_rare; /* else a fault point */
    /* in this world: of so many passes one counts (0: none); passes */
    uint64_t one_in, passed_now;
    /* of the process: passes; of these so many counted; worlds in which one did */
    uint64_t passed, taken, worlds;
    bool taken_now;
};
static struct point points[POINTS_MAX];
static size_t points_n;
static bool is_on;
static void (*on_death)(void *arg);
static void *on_death_arg;

static uint64_t mix(uint64_t x)
{
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

static uint64_t hash_of(const struct point *point, uint64_t n)
{
    uint64_t hash = mix(sim_seed());

    for (const char *c = point->name; *c; c++)
        hash = mix(hash ^ (unsigned char)*c);
    return mix(hash ^ n);
}

static void choose(struct point *point)
{
    static const uint64_t often[] = {2, 5, 20, 100};
    uint64_t hash = hash_of(point, UINT64_MAX);

    point->passed_now = 0;
    point->taken_now = false;
    point->one_in = 0;
    if (hash % CHOSEN != 0)
        return;
    hash /= CHOSEN;
    point->one_in = point->is_rare ? often[hash % 4] : 1 + hash % DEATHS_MOST;
}

static struct point *find(const char *name, bool is_rare)
{
    for (size_t i = 0; i < points_n; i++)
        if (strcmp(points[i].name, name) == 0)
            return &points[i];
    if (points_n == POINTS_MAX || strlen(name) >= sizeof(points[0].name))
        sim_fail("no room for the point %s", name);
    struct point *point = &points[points_n++];
    memcpy(point->name, name, strlen(name));
    point->is_rare = is_rare;
    choose(point);
    return point;
}

static bool is_taken(const char *name, bool is_rare)
{
    if (!is_on)
        return false;
    struct point *point = find(name, is_rare);
    point->passed++;
    point->passed_now++;
    if (point->one_in == 0 || hash_of(point, point->passed_now) % point->one_in != 0)
        return false;
    point->taken++;
    point->worlds += !point->taken_now;
    point->taken_now = true;
    sim_log("%s %s", is_rare ? "takes the rare branch at" : "dies at", name);
    return true;
}

bool sim_point_ask(const char *name)
{
    return is_taken(name, true);
}

/* The step of the world ends here, and with it the actor; or not, if nobody is to die now. */
void sim_point_pass(const char *name)
{
    if (!on_death || !is_taken(name, false))
        return;
    on_death(on_death_arg);
    sim_sleep_ns(1);
}

void sim_points_on(void (*death)(void *arg), void *arg)
{
    is_on = true;
    on_death = death;
    on_death_arg = arg;
    for (size_t i = 0; i < points_n; i++)
        choose(&points[i]);
}

bool sim_points_are_on(void)
{
    return is_on;
}

void sim_points_off(void)
{
    is_on = false;
    on_death = NULL;
}

void sim_points_print(void)
{
    for (int rare = 0; rare < 2; rare++)
        for (size_t i = 0; i < points_n; i++)
            if (points[i].is_rare == rare)
                printf("%s %s: passed %llu times, %llu %s, in %llu worlds\n",
                       rare ? "rare point" : "fault point", points[i].name,
                       (unsigned long long)points[i].passed, (unsigned long long)points[i].taken,
                       rare ? "taken" : "deaths", (unsigned long long)points[i].worlds);
}
