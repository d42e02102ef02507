/* SPDX-License-Identifier: Apache-2.0 */
/* A model of an epoch (docs/autocaching.md). Beginning with the output, each node is asked for a
 * part of its elements; a cached node gives the elements that it has by reading, and asks its
 * inputs only for the others. An epoch takes as long as the slowest of threads, store and trainer.
 * Epochs are computed one by one while the cache fills; the remaining ones are multiplied. */
#include "policies/autocache_model.h"

#include <math.h>
#include "base/mem.h"
#include "policies/standing.h"

#define TRAINER_MORE 1.5 /* of its steps: more than this it did not do between them */
#define FILLING_MAX 200  /* the most epochs that are computed one by one */

struct work {
    double thread_ns, cpu_ns, read_bytes;
    double computed; /* part of the candidate's elements that is computed */
    bool known;
};

double cw_autocache_records(const struct cw_autocache_node *node)
{
    return node->records > 0 ? fmin(node->records, node->elements_n) : node->elements_n;
}

double cw_autocache_interpolate(const struct cw_autocache_point *points, size_t points_n,
                                double bytes)
{
    if (points_n == 1)
        return points[0].bytes > 0 ? points[0].ns * bytes / points[0].bytes : points[0].ns;
    size_t i = 1;
    while (i + 1 < points_n && bytes > points[i].bytes)
        i++;
    const struct cw_autocache_point *a = &points[i - 1], *b = &points[i];
    return fmax(0, a->ns + (b->ns - a->ns) * (bytes - a->bytes) / (b->bytes - a->bytes));
}

/* Returns the work of one whole epoch, with share[i] of node i's records in the cache. */
static struct work walk(const struct cw_autocache_snapshot *s, size_t candidate,
                        const double *share, double *demand)
{
    struct work work = {.known = true};
    for (size_t i = 0; i < s->n; i++)
        demand[i] = i + 1 == s->n ? 1 : 0;
    for (size_t i = s->n; i-- > 0;) {
        const struct cw_autocache_node *node = &s->nodes[i];
        double read = demand[i] * share[i], computed = demand[i] - read;
        double read_ns =
            read * node->elements_n * (s->store.read_ns + node->bytes * s->store.read_byte_ns);
        work.thread_ns += read_ns + computed * node->elements_n * node->wall_ns;
        work.cpu_ns += read_ns + computed * node->elements_n * node->cpu_ns;
        work.read_bytes += read * node->elements_n * node->bytes;
        work.known = work.known && (computed <= 0.02 || node->samples > 0);
        if (i == candidate)
            work.computed = computed;
        for (size_t k = 0; k < node->inputs_n; k++)
            demand[node->inputs[k]] = fmax(demand[node->inputs[k]], computed);
    }
    return work;
}

/* Returns the part of the candidate's records for which the store has space: what is free, and what
 * other candidates of the pipeline occupy, which would be evicted. */
static double room_share(const struct cw_autocache_snapshot *s, size_t candidate)
{
    const struct cw_autocache_node *node = &s->nodes[candidate];
    double bytes = cw_autocache_records(node) * node->bytes;
    if (s->store.free_bytes < 0 || bytes <= 0)
        return 1;
    double room = s->store.free_bytes;
    for (size_t i = 0; i < s->n; i++)
        room += i == candidate || !s->nodes[i].asked ? s->nodes[i].cached * s->nodes[i].bytes : 0;
    return fmin(1, room / bytes);
}

struct fill {
    const struct cw_autocache_snapshot *s;
    size_t candidate;
    double room, overhead_ns;
    double *share, *demand;
    struct cw_plan_cost *cost;
};

double cw_autocache_trainer_time(const struct cw_autocache_snapshot *s)
{
    double busy = s->trainer_ns > 0 && s->wait_share >= 0 ? (1 - s->wait_share) * s->epoch_ns : 0;
    return fmax(s->trainer_ns, fmin(busy, TRAINER_MORE * s->trainer_ns));
}

/* Returns the length of a measured epoch. One that is only a little longer than the trainer's own
 * time is as long as any other that the trainer limits. */
static double measured_length(const struct cw_autocache_snapshot *s, double ns)
{
    double trainer = cw_autocache_trainer_time(s);
    return ns <= trainer * (1 + CW_STANDING_EPOCH_NOISE) ? trainer : ns;
}

/* Returns the length of a whole epoch with the present share, without writing. */
static double epoch_length(const struct fill *f, const struct work *work, double extra_ns)
{
    const struct cw_autocache_snapshot *s = f->s;
    double threads = (work->thread_ns + extra_ns) / fmax(s->threads, 1) + f->overhead_ns;
    double store = s->store.read_bytes_s > 0 ? work->read_bytes / s->store.read_bytes_s * 1e9 : 0;
    double trainer = cw_autocache_trainer_time(s), ns = fmax(fmax(threads, store), trainer);
    f->cost->by_store = store > threads && store >= trainer;
    f->cost->by_trainer = !f->cost->by_store && trainer > threads;
    return ns;
}

/* Adds the cost of one epoch, or of `part` of one, and what it adds to the cache. Returns whether
 * the next epoch is like this one. */
static bool one_epoch(struct fill *f, double part)
{
    const struct cw_autocache_snapshot *s = f->s;
    struct work work = walk(s, f->candidate, f->share, f->demand);
    double length = epoch_length(f, &work, 0), put_ns = 0, put = 0;
    if (f->candidate != CW_POLICY_NONE) {
        const struct cw_autocache_node *node = &s->nodes[f->candidate];
        double each_ns = s->store.write_ns + node->bytes * s->store.write_byte_ns,
               records = cw_autocache_records(node);
        double *share = &f->share[f->candidate];
        put = fmax(0, fmin(f->room - *share, work.computed)) * records;
        /* records that the store does not accept in time are lost */
        if (s->store.write_bytes_s > 0 && node->bytes > 0)
            put = fmin(put, s->store.write_bytes_s * length / 1e9 / node->bytes);
        put_ns = put * each_ns;
        length = epoch_length(f, &work, put_ns);
        /* The measured epoch with a full cache replaces the model. */
        if (node->epoch_ns > 0 && *share >= 0.95)
            length = measured_length(s, node->epoch_ns);
        *share = records > 0 ? fmin(1, *share + part * put / records) : *share;
        if (f->room - *share < 1e-9)
            *share = fmax(*share, f->room);
    } else if (s->compute_ns > 0) {
        length = measured_length(s, s->compute_ns);
    }
    bool same = put * part < 1e-3;
    /* caches that the pipeline asks for fill within the epoch */
    for (size_t i = 0; i < s->n; i++) {
        if (s->nodes[i].asked && i != f->candidate && f->share[i] < 1 && part >= 1) {
            f->share[i] = 1;
            same = false;
        }
    }
    if (f->cost->first_ns <= 0)
        f->cost->first_ns = length;
    f->cost->epoch_ns = length;
    f->cost->total_ns += part * length;
    f->cost->cpu_ns += part * (work.cpu_ns + put_ns);
    f->cost->known = f->cost->known && work.known;
    return same;
}

static void multiply(struct fill *f, double epochs)
{
    double cpu_before = f->cost->cpu_ns, total_before = f->cost->total_ns;
    (void)one_epoch(f, 1);
    double cpu = f->cost->cpu_ns - cpu_before, total = f->cost->total_ns - total_before;
    f->cost->cpu_ns = cpu_before + cpu * epochs;
    f->cost->total_ns = total_before + total * epochs;
}

static double cached_share(const struct cw_autocache_node *node)
{
    double records = cw_autocache_records(node);
    return records > 0 ? fmin(1, fmax(0, node->cached) / records) : 0;
}

void cw_autocache_cost(const struct cw_autocache_snapshot *s, size_t node, double overhead_ns,
                       struct cw_plan_cost *ret_cost)
{
    *ret_cost = (struct cw_plan_cost){.known = true};
    double *share = CW_NEW_ARRAY(double, s->n), *demand = CW_NEW_ARRAY(double, s->n);
    for (size_t i = 0; i < s->n; i++)
        share[i] = s->nodes[i].asked || i == node ? cached_share(&s->nodes[i]) : 0;
    struct fill f = {.s = s,
                     .candidate = node,
                     .room = 1,
                     .overhead_ns = overhead_ns,
                     .share = share,
                     .demand = demand,
                     .cost = ret_cost};
    if (node != CW_POLICY_NONE) {
        ret_cost->cached = share[node];
        f.room = fmax(room_share(s, node), share[node]);
        ret_cost->share = f.room;
        ret_cost->bytes = f.room * cw_autocache_records(&s->nodes[node]) * s->nodes[node].bytes;
    }
    double left = fmax(s->epochs_left, 0);
    for (int e = 0; e < FILLING_MAX && left > 0; e++) {
        /* The present epoch may be partly over: this part comes first, then the whole ones. */
        double part = e == 0 && left > floor(left) ? left - floor(left) : 1;
        bool same = one_epoch(&f, part);
        left -= part;
        if (same && left > 0) {
            multiply(&f, left);
            left = 0;
        }
    }
    /* The length of an epoch in the end, even if no epoch is left that would be so. */
    struct cw_plan_cost total = *ret_cost;
    (void)one_epoch(&f, 1);
    total.epoch_ns = f.cost->epoch_ns;
    total.known = f.cost->known;
    total.by_store = f.cost->by_store;
    total.by_trainer = f.cost->by_trainer;
    *ret_cost = total;
    cw_mem_free(share);
    cw_mem_free(demand);
}
