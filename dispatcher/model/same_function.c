/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs of the same function want the same bytes, and a worker that still has an item for one of
 * them does not compute it again for another. So an item is leased to the worker that got it for
 * another such job, if that worker can take it. Only speed depends on this: any worker computes the
 * same. */
#include "dispatcher/model/model.h"

/* The number of jobs of one function that are asked who has an item. There may be more, but these
 * are enough to find it. */
#define SIBLINGS_ASKED 8
#define RUNS_MAX 256 /* The largest number of runs of items that a share remembers of an epoch. */

static bool is_same_function(const struct cw_job *a, const struct cw_job *b)
{
    return a->info && b->info && cw_hash_eq(a->fingerprint, b->fingerprint) && a->seed == b->seed &&
           a->items == b->items && a->info->chunk == b->info->chunk &&
           a->options->skip_bad == b->options->skip_bad;
}

void cw_same_function_leave(struct cw_job *job)
{
    struct cw_job *before = job;
    while (before->next_same_function != job)
        before = before->next_same_function;
    before->next_same_function = job->next_same_function;
    job->next_same_function = job;
}

void cw_same_function_join(struct cw_job *job)
{
    cw_same_function_leave(job);
    for (struct cw_job *other = job->d->jobs; other; other = other->next) {
        if (other == job || !is_same_function(job, other))
            continue;
        job->next_same_function = other->next_same_function;
        other->next_same_function = job;
        return;
    }
}

void cw_same_function_note(struct cw_share *share, uint64_t epoch, const struct cw_set *items)
{
    struct cw_lease_history *history = &share->history[0];
    for (size_t i = 0; i < CW_HISTORY_EPOCHS; i++) {
        struct cw_lease_history *g = &share->history[i];
        if (g->epoch == epoch && g->items.n > 0) {
            history = g;
            break;
        }
        if (history->items.n > 0 && (g->items.n == 0 || g->epoch < history->epoch))
            history = g;
    }
    if (history->epoch != epoch || history->items.n == 0) {
        cw_set_clear(&history->items);
        history->epoch = epoch;
    }
    cw_set_add_all(&history->items, items);
    while (history->items.n > RUNS_MAX)
        cw_set_remove(&history->items, history->items.v[0].lo, history->items.v[0].hi);
}

void cw_same_function_forget(struct cw_share *share)
{
    for (size_t i = 0; i < CW_HISTORY_EPOCHS; i++)
        cw_set_fini(&share->history[i].items);
}

static const struct cw_set *history_of(const struct cw_share *share, uint64_t epoch)
{
    for (size_t i = 0; i < CW_HISTORY_EPOCHS; i++)
        if (share->history[i].epoch == epoch && share->history[i].items.n > 0)
            return &share->history[i].items;
    return NULL;
}

/* Returns whether the worker will take the item soon. One that some client cannot reach may not, if
 * the item is for that client. If the asking worker is idle, one that has enough to do already does
 * not count. */
static bool can_take(const struct cw_worker *worker, const struct cw_share *asking, bool idle,
                     int64_t now)
{
    if (!cw_worker_serves(worker, asking->job))
        return false;
    const struct cw_share *share = cw_share_find(asking->job, worker);
    if (!share)
        return true;
    return !cw_unreachable_any(share, now) && (!idle || cw_share_allowance(share, false) > 0);
}

bool cw_same_function_allows(const struct cw_share *share, uint64_t epoch, struct cw_interval *run,
                             bool idle, int64_t now)
{
    const struct cw_job *job = share->job;
    if (job->next_same_function == job || job->faults_n > 0 || job->layout.mode == CW_MODE_SHARED)
        return true;
    struct cw_interval mine = *run, theirs = *run;
    bool is_mine = false, is_theirs = false;
    size_t asked = 0;
    for (const struct cw_job *other = job->next_same_function;
         other != job && asked < SIBLINGS_ASKED; other = other->next_same_function, asked++) {
        for (const struct cw_share *s = other->status == CW_JOB_RUNNING ? other->shares : NULL; s;
             s = s->next_of_job) {
            const struct cw_set *history = history_of(s, epoch);
            uint64_t next;
            if (!history)
                continue;
            struct cw_interval *cut = s->worker == share->worker ? &mine : &theirs;
            if (cw_set_has(history, run->lo)) {
                cut->hi = CW_MIN(cut->hi, cw_set_first_absent(history, run->lo));
                if (s->worker == share->worker)
                    is_mine = true;
                else
                    is_theirs = is_theirs || can_take(s->worker, share, idle, now);
            } else if (cw_set_first_present(history, run->lo, &next)) {
                cut->hi = CW_MIN(cut->hi, next);
            }
        }
    }
    *run = is_mine ? mine : theirs;
    return is_mine || !is_theirs;
}
