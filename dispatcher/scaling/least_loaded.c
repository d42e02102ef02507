/* SPDX-License-Identifier: Apache-2.0 */
/* A binary heap: entry i is not behind entries 2i + 1 and 2i + 2. Each worker knows where it is. */
#include "dispatcher/scaling/least_loaded.h"

double cw_worker_load(const struct cw_worker *w)
{
    double load = 0;
    for (const struct cw_share *share = w->shares; share; share = share->next_of_worker)
        load += share->assigned ? share->job->worker_time : 0;
    return load;
}

static bool is_before(const struct cw_least_loaded_entry *a, const struct cw_least_loaded_entry *b)
{
    if (a->load < b->load || a->load > b->load)
        return a->load < b->load;
    return a->rank < b->rank;
}

static void put(struct cw_least_loaded *fleet, size_t i, struct cw_least_loaded_entry entry)
{
    fleet->heap[i] = entry;
    entry.worker->load_place = i;
}

/* Puts the entry at i, or above it. */
static void rise(struct cw_least_loaded *fleet, size_t i, struct cw_least_loaded_entry entry)
{
    for (; i > 0 && is_before(&entry, &fleet->heap[(i - 1) / 2]); i = (i - 1) / 2)
        put(fleet, i, fleet->heap[(i - 1) / 2]);
    put(fleet, i, entry);
}

/* Puts the entry at i, or below it. */
static void sink(struct cw_least_loaded *fleet, size_t i, struct cw_least_loaded_entry entry)
{
    for (size_t child = 2 * i + 1; child < fleet->n; child = 2 * i + 1) {
        if (child + 1 < fleet->n && is_before(&fleet->heap[child + 1], &fleet->heap[child]))
            child++;
        if (!is_before(&fleet->heap[child], &entry))
            break;
        put(fleet, i, fleet->heap[child]);
        i = child;
    }
    put(fleet, i, entry);
}

void cw_least_loaded_fill(struct cw_least_loaded *fleet, struct cw_dispatcher *d)
{
    fleet->heap = CW_NEW_ARRAY(struct cw_least_loaded_entry, d->workers_n + 1);
    fleet->n = 0;
    for (struct cw_worker *w = d->workers; w; w = w->next) {
        w->load_place = SIZE_MAX;
        if (!cw_worker_serves_any_job(w))
            continue;
        put(fleet, fleet->n, (struct cw_least_loaded_entry){w, cw_worker_load(w), fleet->n});
        fleet->n++;
    }
    fleet->all = fleet->n;
    for (size_t i = fleet->n / 2; i-- > 0;)
        sink(fleet, i, fleet->heap[i]);
}

void cw_least_loaded_fini(struct cw_least_loaded *fleet)
{
    cw_mem_free(fleet->heap);
}

struct cw_worker *cw_least_loaded_take(struct cw_least_loaded *fleet)
{
    if (fleet->n == 0)
        return NULL;
    struct cw_least_loaded_entry first = fleet->heap[0], last = fleet->heap[--fleet->n];
    if (fleet->n > 0)
        sink(fleet, 0, last);
    put(fleet, fleet->n, first);
    return first.worker;
}

void cw_least_loaded_put_back(struct cw_least_loaded *fleet)
{
    while (fleet->n < fleet->all) {
        struct cw_least_loaded_entry entry = fleet->heap[fleet->n];
        entry.load = cw_worker_load(entry.worker);
        fleet->n++;
        rise(fleet, fleet->n - 1, entry);
    }
}

void cw_least_loaded_changed(struct cw_least_loaded *fleet, const struct cw_worker *worker)
{
    size_t i = worker->load_place;
    if (i >= fleet->n) /* It was taken, or is none of these. */
        return;
    struct cw_least_loaded_entry entry = fleet->heap[i];
    entry.load = cw_worker_load(worker);
    if (i > 0 && is_before(&entry, &fleet->heap[(i - 1) / 2]))
        rise(fleet, i, entry);
    else
        sink(fleet, i, entry);
}
