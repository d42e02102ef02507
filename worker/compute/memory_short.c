/* SPDX-License-Identifier: Apache-2.0 */
/* What happens if the system gives less memory than the budget promises, because a container is too
 * small or other processes use the memory. An item that finds no memory has not failed while other
 * items have some: the worker frees what it can (kept batches, indices and decoded pages of sources,
 * scratch memory of threads, idle slots, the last quarter of each job's outputs), lowers the budget
 * that it uses, and begins the item again. The budget in use grows again with each output. An item has
 * failed only if it finds no memory while there is nothing to free. */
#include "worker/compute/memory_short.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "ops/source/held.h"
#include "ops/source/loaded.h"
#include "worker/compute/outputs.h"
#include "worker/compute/read_ahead.h"
#include "worker/message/to_dispatcher.h"
#include "worker/model/budget.h"

/* How long to retry if nothing can be freed but bytes in streams, or slots that clients may give
 * back. */
#define ALONE_MS 20000

static int compare_last_first(const void *pa, const void *pb)
{
    const struct cw_output *a = *(struct cw_output *const *)pa, *b = *(struct cw_output *const *)pb;
    if (a == b)
        return 0;
    return cw_item_before(a->epoch, a->item, b->epoch, b->item) ? 1 : -1;
}

struct cut {
    struct cw_wjob *job;
    uint64_t epoch, item;
};

static bool drop_from(void *arg, struct cw_output *output)
{
    const struct cut *cut = arg;
    if (cw_item_before(output->epoch, output->item, cut->epoch, cut->item))
        return false;
    cw_output_release(cut->job, output);
    return true;
}

static void hand_back(const struct cw_wjob *job, struct cw_output *const *v, size_t n)
{
    struct cw_set items = {0};
    for (size_t i = 0; i < n; i++) {
        cw_set_add(&items, v[i]->item, v[i]->item + 1);
        if (i + 1 < n && v[i + 1]->epoch == v[i]->epoch)
            continue;
        cw_report_hand_back(job->worker, job->id, v[i]->epoch, &items);
        cw_set_clear(&items);
    }
    cw_set_fini(&items);
}

/* Hands back the outputs that the job's client needs last, of items after `first`, until so many
 * bytes are freed. Returns the bytes that were freed. Outputs that go to all consumers are kept,
 * since some consumers may have them already. */
static size_t drop_last(struct cw_wjob *job, size_t bytes, const struct cw_exec_item *first)
{
    if (job->to_all || job->queued_n == 0)
        return 0;
    cw_autofree struct cw_output **v = cw_mem_try(job->queued_n * sizeof(struct cw_output *));
    size_t n = 0, freed = 0, taken = 0;
    for (uint32_t c = 0; v && c < job->consumers; c++)
        for (size_t i = 0; i < job->queues[c].n; i++) {
            struct cw_output *o = job->queues[c].v[i];
            if (!first || cw_item_before(first->epoch, first->item, o->epoch, o->item))
                v[n++] = o;
        }
    if (n == 0)
        return 0;
    qsort(v, n, sizeof(struct cw_output *), compare_last_first);
    while (taken < n && freed < bytes)
        freed += v[taken++]->held;
    struct cut cut = {job, v[taken - 1]->epoch, v[taken - 1]->item};
    hand_back(job, v, taken);
    for (uint32_t c = 0; c < job->consumers; c++)
        cw_outq_filter(&job->queues[c], drop_from, &cut);
    return freed;
}

/* Frees what can be freed. task: the task that found no memory, or NULL. Returns the bytes of the
 * outputs that were freed. */
static size_t shed(struct cw_worker_state *w, const struct cw_wtask *task)
{
    size_t freed = 0, before = w->memory.bytes + cw_budget_stream_bytes(w);
    w->memory.allowed = CW_MAX(before / 4 * 3, (size_t)1);
    cw_dedup_trim(&w->dedup, 0);
    cw_loaded_trim(0);
    cw_held_drop_all();
    cw_exec_shed(w->exec);
    for (size_t i = 0; i < w->jobs.n && !w->drain.active; i++) {
        struct cw_wjob *job = w->jobs.list[i];
        freed += drop_last(job, CW_MAX(job->bytes / 4, (size_t)1),
                           task && task->job == job ? &task->exec : NULL);
    }
    cw_wahead_shed(w);
    cw_shm_pool_trim(w->pool, 0);
    cw_mem_give_back();
    cw_log_warn(
        "worker",
        "memory is short with %zu bytes in use of a budget of %zu: limited to %zu now; give "
        "the worker a smaller --budget or more memory",
        before, w->budget, w->memory.allowed);
    return freed;
}

bool cw_memory_retry(struct cw_wjob *job, struct cw_wtask *task)
{
    struct cw_worker_state *w = job->worker;
    bool others = w->memory.bytes > 0 || w->tasks_n > 0, kept = w->dedup.bytes > 0;
    if (!others && !kept && cw_held_bytes() == 0 && cw_budget_stream_bytes(w) == 0)
        return false;
    int64_t now = cw_clock_ms();
    if (w->memory.alone_ms == 0 || others || kept)
        w->memory.alone_ms = now;
    if (now - w->memory.alone_ms > ALONE_MS)
        return false;
    size_t freed = shed(w, task);
    w->memory.waits = freed == 0 && !kept;
    if (w->drain.active) {
        cw_wjob_release_item(job, task->exec.epoch, task->exec.item);
        cw_report_hand_back_item(w, job->id, task->exec.epoch, task->exec.item);
    } else {
        cw_wlease_put_back(job, task);
    }
    return true;
}

void cw_memory_made(struct cw_worker_state *w, size_t bytes)
{
    w->memory.alone_ms = 0;
    if (w->memory.allowed == 0)
        return;
    w->memory.allowed += bytes / 8 + 1;
    if (w->memory.allowed >= w->budget)
        w->memory.allowed = 0;
}

bool cw_memory_beat(struct cw_worker_state *w)
{
    if (cw_mem_is_short())
        (void)shed(w, NULL);
    bool may_begin = w->memory.waits || w->memory.allowed > 0;
    w->memory.waits = false;
    return may_begin;
}
