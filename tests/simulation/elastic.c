/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs that go on with another number of consumers: the item in a token is one of the whole epoch, so
 * the same sequence is divided anew. */
#include "cluster.h"

#include <stdio.h>
#include <string.h>

#include "cachew/client.h"

struct group { /* the trainers of a job, and their seats */
    struct sim_seat *seats[SIM_TRAINERS_MAX];
    size_t n, seats_n; /* with a trainer that others have not followed; all of the job */
};

static struct group group_of(struct sim_cluster *cluster, int job)
{
    struct group group = {.n = 0};

    for (size_t i = 0; i < cluster->seats_n; i++) {
        struct sim_seat *seat = &cluster->seats[i];
        if (seat->kind != SIM_TRAINER || seat->number / 10 != job)
            continue;
        group.seats[group.seats_n++] = seat;
        group.n += !seat->trainer->is_former;
    }
    return group;
}

/* In a sparse job an item is not a batch. */
static struct sim_place place_of(const struct sim_trainer *t)
{
    const struct sim_checkpoint *saved = sim_checkpoint_last(t);

    return (struct sim_place){saved->epoch, t->is_sparse ? saved->batches : saved->item};
}

static bool is_before(const struct sim_place *a, uint64_t epoch, uint64_t batch)
{
    return a->epoch < epoch || (a->epoch == epoch && a->batch < batch);
}

/* The one that stands first; NULL: this job cannot go on so. */
static const struct sim_trainer *find_first(const struct group *group)
{
    const struct sim_trainer *first = NULL;

    for (size_t i = 0; i < group->n; i++) {
        const struct sim_trainer *t = group->seats[i]->trainer;
        if (t->unordered || t->at_most_once || t->mode == CACHEW_SHARED || t->error ||
            !sim_checkpoint_last(t))
            return NULL;
        struct sim_place a = place_of(t);
        if (!first || is_before(&a, place_of(first).epoch, place_of(first).batch))
            first = t;
    }
    return first;
}

/* Its part ends there. */
static void end_part(struct sim_cluster *cluster, struct sim_trainer *t, const struct sim_place *to)
{
    size_t n = 0;

    while (n < t->given.n) {
        struct sim_place at = {t->given.at[n].epoch, t->given.at[n].batch};
        if (!is_before(&at, to->epoch, to->batch))
            break;
        n++;
    }
    t->given.n = n;
    t->to = *to;
    t->is_former = t->has_ended = true;
    t->next_former = cluster->former;
    cluster->former = t;
}

static struct sim_trainer *follow(const struct sim_trainer *before, int job, int consumers,
                                  int consumer, int *left)
{
    const struct sim_checkpoint *last = sim_checkpoint_last(before);
    struct sim_trainer *t = sim_world_alloc(sizeof(*t));

    t->pipeline = before->pipeline;
    t->seed = before->seed;
    t->epochs = before->epochs;
    t->cache = before->cache;
    t->window = before->window;
    t->is_sparse = before->is_sparse;
    t->mode = consumers > 1 ? CACHEW_COORDINATED : CACHEW_SINGLE;
    t->consumers = consumers;
    t->consumer = consumer;
    t->step_ns = before->step_ns;
    t->save_every = before->save_every;
    t->visits = before->visits;
    t->with_last = before->with_last;
    t->left = left;
    t->job = job;
    t->sizes = before->sizes + 1;
    snprintf(t->name, sizeof(t->name), "job%d.%d", job, t->sizes);
    t->from = place_of(before);
    t->to = (struct sim_place){UINT64_MAX, 0};
    t->last_epoch = t->from.epoch;
    t->last_batch = t->from.batch;
    struct sim_checkpoint *saved = sim_checkpoint_add(t, 0);
    memcpy(saved->token, last->token, last->token_bytes);
    saved->token_bytes = last->token_bytes;
    saved->epoch = last->epoch;
    saved->item = last->item;
    saved->batches = last->batches;
    return t;
}

bool sim_job_resize(struct sim_cluster *cluster, int job, int consumers)
{
    struct group group = group_of(cluster, job);
    const struct sim_trainer *first = find_first(&group);
    size_t n = (size_t)consumers, more = n > group.seats_n ? n - group.seats_n : 0;

    if (!first || n == group.n || cluster->seats_n + more > SIM_SEATS_MAX)
        return false;
    struct sim_trainer *next[SIM_TRAINERS_MAX];
    struct sim_place at = place_of(first);
    int *left = sim_world_alloc(sizeof(*left));
    *left = consumers;
    for (size_t i = 0; i < n; i++)
        next[i] = follow(first, job, consumers, (int)i, left);
    for (size_t i = 0; i < group.n; i++)
        end_part(cluster, group.seats[i]->trainer, &at);
    for (; group.seats_n < n; group.seats_n++) {
        group.seats[group.seats_n] =
            sim_cluster_add(cluster, SIM_TRAINER, 10 * job + (int)group.seats_n);
        group.seats[group.seats_n]->is_safe = cluster->is_quiet;
    }
    for (size_t i = 0; i < group.seats_n; i++) {
        group.seats[i]->wanted = i < n;
        if (i < n)
            group.seats[i]->trainer = next[i];
    }
    sim_log("job %d goes on with %d consumers behind batch %llu of epoch %llu", job, consumers,
            (unsigned long long)at.batch, (unsigned long long)at.epoch);
    return true;
}
