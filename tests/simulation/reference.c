/* SPDX-License-Identifier: Apache-2.0 */
/* What jobs must give: by a world of one worker in which nothing fails. */
#include "cluster.h"

#include <stdlib.h>
#include <string.h>

#include "cachew/client.h"
#include "tokens.h"

#define LIMIT_NS (3600 * SIM_S)

struct known {
    struct known *next;
    const char *pipeline;
    uint64_t seed, epochs;
    struct sim_list list; /* of the process */
};
static struct known *known;

static bool is_done(void *arg)
{
    return sim_cluster_is_done(arg);
}

static void compute(const struct sim_job *job, struct sim_list *ret)
{
    struct sim_config config = {.seed = 0};
    struct sim_cluster cluster = {.seats_n = 0};
    struct sim_job plain = *job;

    plain.unordered = plain.at_most_once = false;
    plain.mode = 0;
    plain.consumers = 1;
    plain.name[0] = '\0';
    plain.cache = NULL;
    sim_world_begin(&config);
    sim_tokens_begin(true);
    struct sim_seat *dispatcher = sim_cluster_add(&cluster, SIM_DISPATCHER, 1);
    struct sim_seat *worker = sim_cluster_add(&cluster, SIM_WORKER, 1);
    struct sim_seat *trainer = sim_cluster_add(&cluster, SIM_TRAINER, 1);
    trainer->trainer = sim_job_trainer(&plain, 0);
    trainer->trainer->left = sim_world_alloc(sizeof(int));
    *trainer->trainer->left = 1;
    sim_seat_start(&cluster, dispatcher);
    sim_seat_start(&cluster, worker);
    sim_seat_start(&cluster, trainer);
    if (sim_world_run(is_done, &cluster, LIMIT_NS) != SIM_END_DONE || trainer->trainer->error)
        sim_fail("no reference: %s", trainer->trainer->message);
    const struct sim_list *given = &trainer->trainer->given;
    ret->n = ret->cap = given->n;
    ret->at = malloc((given->n + 1) * sizeof(*ret->at));
    if (!ret->at)
        abort();
    memcpy(ret->at, given->at, given->n * sizeof(*ret->at));
    sim_world_end();
}

const struct sim_list *sim_reference(const struct sim_job *job)
{
    struct known *at = known;

    while (at && (at->seed != job->seed || at->epochs != job->epochs ||
                  strcmp(at->pipeline, job->pipeline) != 0))
        at = at->next;
    if (at)
        return &at->list;
    at = calloc(1, sizeof(*at));
    if (!at)
        abort();
    at->pipeline = job->pipeline;
    at->seed = job->seed;
    at->epochs = job->epochs;
    compute(job, &at->list);
    at->next = known;
    known = at;
    return &at->list;
}

/* ---- comparing ---- */
static int by_content(const void *a, const void *b)
{
    const struct sim_element *x = a, *y = b;

    if (x->epoch != y->epoch)
        return x->epoch < y->epoch ? -1 : 1;
    return x->hash < y->hash ? -1 : x->hash > y->hash;
}

static struct sim_element *sorted(const struct sim_element *from, size_t n)
{
    struct sim_element *at = malloc((n + 1) * sizeof(*at));

    if (!at)
        abort();
    if (n > 0)
        memcpy(at, from, n * sizeof(*at));
    qsort(at, n, sizeof(*at), by_content);
    return at;
}

static bool is_equal(const struct sim_element *a, const struct sim_element *b)
{
    return a->epoch == b->epoch && a->batch == b->batch && a->hash == b->hash;
}

/* As multisets: what is missing is lost, what is too many is repeated, or wrong if it is nothing
 * that the reference has at all. */
static void compare_sets(const struct sim_element *want, size_t want_n,
                         const struct sim_element *got, size_t got_n, struct sim_verdict *verdict)
{
    struct sim_element *w = sorted(want, want_n), *g = sorted(got, got_n);
    size_t i = 0, j = 0;

    while (i < want_n || j < got_n) {
        int order = i == want_n ? 1 : j == got_n ? -1 : by_content(&w[i], &g[j]);
        if (order == 0) {
            i++;
            j++;
        } else if (order < 0) {
            verdict->lost++;
            i++;
        } else {
            if (bsearch(&g[j], w, want_n, sizeof(*w), by_content))
                verdict->repeated++;
            else
                verdict->wrong++;
            j++;
        }
    }
    free(w);
    free(g);
}

static void compare_lists(const struct sim_element *want, size_t want_n,
                          const struct sim_element *got, size_t got_n, struct sim_verdict *verdict)
{
    size_t i = 0;

    while (i < want_n && i < got_n && is_equal(&want[i], &got[i]))
        i++;
    if (i == want_n && i == got_n)
        return;
    struct sim_verdict before = *verdict;
    compare_sets(want, want_n, got, got_n, verdict);
    if (before.lost == verdict->lost && before.repeated == verdict->repeated &&
        before.wrong == verdict->wrong)
        verdict->wrong++; /* out of order, or cut differently */
}

static int by_number(const void *a, const void *b)
{
    const struct sim_element *x = a, *y = b;

    if (x->epoch != y->epoch)
        return x->epoch < y->epoch ? -1 : 1;
    return x->batch < y->batch ? -1 : x->batch > y->batch;
}

/* A job that delivers at most once lacks whole batches, and each that is behind the place where the
 * trainer's last process began was counted by it. `want` is in order. */
static bool are_counted(const struct sim_trainer *t, const struct sim_element *want, size_t want_n,
                        uint64_t lost)
{
    struct sim_element *got = sorted(t->given.at, t->given.n);
    uint64_t elements = 0, behind = 0;

    qsort(got, t->given.n, sizeof(*got), by_number);
    for (size_t i = 0; i < want_n; i++) {
        const struct sim_element *e = &want[i];
        if (bsearch(e, got, t->given.n, sizeof(*got), by_number))
            continue;
        elements++;
        bool is_first = i == 0 || by_number(&want[i - 1], e) != 0;
        behind += is_first && (e->epoch > t->begin_epoch ||
                               (e->epoch == t->begin_epoch && e->batch >= t->begin_item));
    }
    free(got);
    if (elements == lost && behind == t->lost_items)
        return true;
    sim_log("consumer %d: elements=%llu in lost batches, lost=%llu behind=%llu told=%llu",
            t->consumer, (unsigned long long)elements, (unsigned long long)lost,
            (unsigned long long)behind, (unsigned long long)t->lost_items);
    return false;
}

static bool is_before_place(const struct sim_element *e, const struct sim_place *place)
{
    return e->epoch < place->epoch || (e->epoch == place->epoch && e->batch < place->batch);
}

/* Of one consumer: all, or every n-th batch when they advance in step, of its part of the job. */
static void judge_one(const struct sim_job *job, const struct sim_trainer *t,
                      const struct sim_list *reference, struct sim_verdict *verdict)
{
    uint64_t n = (uint64_t)t->consumers, before = verdict->lost;
    struct sim_element *want = malloc((reference->n + 1) * sizeof(*want));
    size_t want_n = 0;

    if (!want)
        abort();
    for (size_t k = 0; k < reference->n; k++)
        if (reference->at[k].batch % n == (uint64_t)t->consumer &&
            !is_before_place(&reference->at[k], &t->from) &&
            is_before_place(&reference->at[k], &t->to))
            want[want_n++] = reference->at[k];
    if (job->unordered || job->at_most_once)
        compare_sets(want, want_n, t->given.at, t->given.n, verdict);
    else
        compare_lists(want, want_n, t->given.at, t->given.n, verdict);
    uint64_t lost = verdict->lost - before;
    if (job->at_most_once && are_counted(t, want, want_n, lost)) {
        verdict->left_out += lost;
        verdict->lost = before;
    } else if (job->at_most_once && lost == 0) {
        verdict->wrong++; /* more was counted than is missing */
    }
    free(want);
}

static size_t count_equal(const struct sim_element *at, size_t n, const struct sim_element *e)
{
    size_t count = 0;

    for (size_t i = 0; i < n; i++)
        count += by_content(&at[i], e) == 0;
    return count;
}

/* What a consumer of a shared job was given before it was killed may be given once more. Returns how
 * many elements came again for that reason. */
static uint64_t repeats_of_killed(struct sim_trainer *const *trainers, size_t n,
                                  const struct sim_element *got, size_t got_n)
{
    uint64_t repeats = 0;
    struct sim_element *g = sorted(got, got_n);

    for (size_t i = 0, end; i < got_n; i = end) {
        size_t killed = 0;
        for (end = i + 1; end < got_n && by_content(&g[i], &g[end]) == 0;)
            end++;
        for (size_t t = 0; end - i > 1 && t < n; t++)
            killed += count_equal(trainers[t]->given.at, trainers[t]->given_before, &g[i]);
        repeats += end - i - 1 < killed ? end - i - 1 : killed;
    }
    free(g);
    return repeats;
}

static struct sim_list all_given(struct sim_trainer *const *trainers, size_t n)
{
    struct sim_list all = {.n = 0};

    for (size_t i = 0; i < n; i++)
        all.cap += trainers[i]->given.n;
    all.at = malloc((all.cap + 1) * sizeof(*all.at));
    if (!all.at)
        abort();
    for (size_t i = 0; i < n; i++) {
        const struct sim_list *given = &trainers[i]->given;
        if (given->n > 0)
            memcpy(all.at + all.n, given->at, given->n * sizeof(*all.at));
        all.n += given->n;
    }
    return all;
}

/* What all consumers got together. */
static void judge_union(struct sim_trainer *const *trainers, size_t n,
                        const struct sim_list *reference, struct sim_verdict *verdict)
{
    struct sim_list got = all_given(trainers, n);
    uint64_t repeated = verdict->repeated;

    compare_sets(reference->at, reference->n, got.at, got.n, verdict);
    if (verdict->repeated > repeated)
        verdict->repeated -= repeats_of_killed(trainers, n, got.at, got.n);
    free(got.at);
}

/* Rows of an item, which is 256 KiB: of 8 KiB or more, and of those that are cached. */
#define ITEM_ROWS 32
#define CACHED_ITEM_ROWS 820
#define FIRST_ROWS 8 /* operators `skip` and `batch` see other rows as the first ones */

/* Sparse, at most once: rows are missing only if items were counted as left out. Which batches the
 * others are in is another matter. */
static bool are_rows_counted(const struct sim_job *job, struct sim_trainer *const *trainers,
                             size_t n, uint64_t lost)
{
    uint64_t told = 0, rows = job->is_cached ? CACHED_ITEM_ROWS : ITEM_ROWS;

    for (size_t i = 0; i < n; i++)
        told += trainers[i]->lost_items + trainers[i]->lost_before;
    return lost == 0 || (told > 0 && lost <= told * rows + job->epochs * FIRST_ROWS);
}

/* Shared, at most once: every consumer that was there from the beginning to the end counted what
 * none was given. */
static bool are_shared_counted(const struct sim_trainer *t, uint64_t batches)
{
    return t->leaves > 0 || t->came_late || t->lost_items >= batches;
}

static uint64_t batches_missing(const struct sim_list *reference, const struct sim_element *got,
                                size_t got_n)
{
    struct sim_element *g = sorted(got, got_n);
    uint64_t n = 0;

    qsort(g, got_n, sizeof(*g), by_number);
    for (size_t i = 0; i < reference->n; i++) {
        const struct sim_element *e = &reference->at[i];
        n += (i == 0 || by_number(e - 1, e) != 0) && !bsearch(e, g, got_n, sizeof(*g), by_number);
    }
    free(g);
    return n;
}

/* What all consumers of a job that delivers at most once got together. */
static void judge_lossy(const struct sim_job *job, struct sim_trainer *const *trainers, size_t n,
                        const struct sim_list *reference, struct sim_verdict *verdict)
{
    struct sim_list got = all_given(trainers, n);
    struct sim_verdict one = {.lost = 0};
    uint64_t batches = batches_missing(reference, got.at, got.n);

    compare_sets(reference->at, reference->n, got.at, got.n, &one);
    bool counted = !job->is_sparse || are_rows_counted(job, trainers, n, one.lost);
    if (one.repeated > 0)
        one.repeated -= repeats_of_killed(trainers, n, got.at, got.n);
    for (size_t i = 0; i < n && job->is_counted; i++)
        counted = counted && are_shared_counted(trainers[i], batches);
    *(job->is_sparse ? &verdict->left_out_sparse : &verdict->left_out_shared) +=
        counted ? one.lost : 0;
    verdict->lost += counted ? 0 : one.lost;
    verdict->repeated += one.repeated;
    verdict->wrong += one.wrong;
    free(got.at);
}

void sim_judge(const struct sim_job *job, struct sim_trainer *const *trainers, size_t n,
               struct sim_verdict *verdict)
{
    const struct sim_list *reference = sim_reference(job);

    for (size_t i = 0; i < n; i++) {
        verdict->batches += trainers[i]->batches;
        verdict->leaves += trainers[i]->leaves;
        verdict->reconnects += trainers[i]->reconnects;
    }
    verdict->epochs += job->epochs;
    verdict->sparse_epochs += job->is_sparse ? job->epochs : 0;
    if (job->at_most_once && (job->is_sparse || job->mode == CACHEW_SHARED))
        judge_lossy(job, trainers, n, reference, verdict);
    else if (job->mode == CACHEW_SHARED)
        judge_union(trainers, n, reference, verdict);
    else
        for (size_t i = 0; i < n; i++)
            judge_one(job, trainers[i], reference, verdict);
}

void sim_judge_former(const struct sim_job *job, const struct sim_trainer *t,
                      struct sim_verdict *verdict)
{
    judge_one(job, t, sim_reference(job), verdict);
}
