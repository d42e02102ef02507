/* SPDX-License-Identifier: Apache-2.0 */
#include "client/tool/profile_run.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/thread.h"
#include "client/tool/tool.h"
#include "client/tool/tool_graph.h"
#include "exec/exec.h"
#include "plan/plan_nodes.h"

#define WAKE_NS INT64_C(100000000) /* how often an interrupt is looked for */

struct slot {
    struct cw_exec_item item;
    struct run *run;
    bool used;
};
/* One run with a pool. Exec threads and the calling thread use it, with `mutex`. */
struct run {
    struct cw_mutex mutex;
    struct cw_cond cond;
    struct slot *slots;
    size_t slots_n;
    uint64_t next; /* item, counted over epochs */
    struct cw_err err;
    bool failed, ended;
};

static void on_done(struct cw_exec_item *item, struct cw_batch *batch, const struct cw_err *err)
{
    struct slot *slot = item->arg;
    struct run *run = slot->run;

    cw_mutex_lock(&run->mutex);
    slot->used = false;
    if (!batch && !run->ended && !run->failed) {
        run->failed = true;
        run->err = *err;
    }
    cw_cond_signal(&run->cond);
    cw_mutex_unlock(&run->mutex);
    cw_batch_unref(batch);
}

static struct slot *free_slot(struct run *run)
{
    for (size_t i = 0; i < run->slots_n; i++)
        if (!run->slots[i].used)
            return &run->slots[i];
    return NULL;
}

static void submit(struct run *run, struct cw_exec *exec, struct cw_plan *plan, struct slot *slot)
{
    uint64_t items = cw_plan_info(plan)->items;

    slot->used = true;
    slot->run = run;
    slot->item = (struct cw_exec_item){.plan = plan,
                                       .epoch = run->next / items,
                                       .item = run->next % items,
                                       .bad = CW_BAD_FAIL,
                                       .done = on_done,
                                       .arg = slot};
    run->next++;
    cw_mutex_unlock(&run->mutex); /* `done` may be called at once */
    cw_exec_submit(exec, &slot->item);
    cw_mutex_lock(&run->mutex);
}

static void go_on(struct run *run, struct cw_exec *exec, struct cw_plan *plan, int64_t end_ns)
{
    cw_mutex_lock(&run->mutex);
    while (!run->failed && cw_clock_ns() < end_ns && !tool_is_interrupted()) {
        struct slot *slot = free_slot(run);
        if (slot)
            submit(run, exec, plan, slot);
        else
            (void)cw_cond_wait_until(&run->cond, &run->mutex,
                                     CW_MIN(end_ns, cw_clock_ns() + WAKE_NS));
    }
    run->ended = true;
    cw_mutex_unlock(&run->mutex);
}

/* Returns how many elements the first source has read so far. */
static double count_read(const struct cw_plan *plan)
{
    cw_autofree struct cw_exec_count *counts = CW_NEW_ARRAY(struct cw_exec_count, plan->n);

    cw_exec_counts(plan, counts);
    return (double)counts[0].elements;
}

/* Runs for so long, and returns the elements a second; what it measured is with the plan. */
static int run_pool(struct cw_plan *plan, size_t threads, double seconds, double *ret_rate,
                    struct cw_err *err)
{
    struct run run = {.slots_n = 2 * threads + 2};
    struct cw_exec *exec = cw_exec_new(threads);
    double before = count_read(plan);
    int64_t begin_ns = cw_clock_ns();

    cw_mutex_init(&run.mutex);
    cw_cond_init(&run.cond);
    run.slots = CW_NEW_ARRAY(struct slot, run.slots_n);
    go_on(&run, exec, plan, begin_ns + (int64_t)(seconds * 1e9));
    *ret_rate = (count_read(plan) - before) / tool_seconds_since(begin_ns);
    cw_exec_free(exec); /* cancels what is not done, and waits */
    cw_mem_free(run.slots);
    cw_cond_fini(&run.cond);
    cw_mutex_fini(&run.mutex);
    if (run.failed)
        *err = run.err;
    return run.failed ? run.err.code : 0;
}

/* How many elements of an epoch are computed: in a sparse pipeline those that come to the first operator
 * that leaves some out. */
static double elements_of(const struct cw_plan *plan)
{
    bool sparse = plan->info.sparse;

    return (double)CW_MAX(sparse ? plan->nodes[plan->sparse.first].n : plan->info.elements,
                          INT64_C(1));
}

static void take_counts(struct cw_plan *plan, struct cw_cost_profile *ret_profile)
{
    cw_autofree struct cw_exec_count *counts = CW_NEW_ARRAY(struct cw_exec_count, plan->n);
    cw_autofree struct cw_cost_measured *measured = CW_NEW_ARRAY(struct cw_cost_measured, plan->n);

    cw_exec_counts(plan, counts);
    for (size_t i = 0; i < plan->n; i++)
        measured[i] = (struct cw_cost_measured){.elements = (double)counts[i].elements,
                                                .cpu_ns = (double)counts[i].cpu_ns,
                                                .wall_ns = (double)counts[i].wall_ns,
                                                .sums = counts[i].sums};
    cw_cost_profile_of_measured(plan->checked, measured, ret_profile);
    ret_profile->elements = elements_of(plan);
}

static void take_filters(struct cw_plan *plan, struct cw_cost_profile *profile)
{
    struct cw_exec_filters counts;
    const char *names[CW_FILTERS_MAX] = {0};
    double shown[CW_FILTER_SETS], passed[CW_FILTER_SETS];

    cw_exec_filter_counts(plan, &counts);
    for (size_t i = 0; i < CW_FILTERS_MAX && counts.node[i] != SIZE_MAX; i++)
        names[i] = plan->nodes[counts.node[i]].node->name;
    for (size_t set = 0; set < CW_FILTER_SETS; set++) {
        shown[set] = (double)counts.shown[set];
        passed[set] = (double)counts.passed[set];
    }
    cw_cost_profile_add_filters(profile, names, shown, passed);
}

/* What the threads did for an element of the source besides its operators. */
static void take_engine(struct cw_plan *plan, struct cw_cost_profile *profile)
{
    cw_autofree struct cw_exec_count *counts = CW_NEW_ARRAY(struct cw_exec_count, plan->n);
    struct cw_exec_plan_time time;
    double ns = 0, cpu_ns = 0;

    cw_exec_counts(plan, counts);
    cw_exec_plan_time(plan, &time);
    for (size_t i = 0; i < plan->n; i++) {
        const struct cw_cost_measured measured = {.elements = (double)counts[i].elements,
                                                  .sums = counts[i].sums};
        const double scale = cw_cost_made(&measured);
        ns += (double)counts[i].wall_ns * scale;
        cpu_ns += (double)counts[i].cpu_ns * scale;
    }
    double elements = (double)CW_MAX(counts[0].elements, UINT64_C(1));
    profile->engine_ns = CW_MAX((double)time.busy_ns - ns, 0.0) / elements;
    profile->engine_cpu_ns = CW_MAX((double)time.cpu_ns - cpu_ns, 0.0) / elements;
}

static int run_plan(struct cw_plan *plan, double seconds, size_t threads,
                    struct cw_cost_profile *ret_profile, struct cw_err *err)
{
    double one = 0, all = 0;
    bool twice = threads > 1;

    if (cw_plan_info(plan)->items == 0)
        return cw_err_set(err, CW_E_INVALID, "the pipeline gives nothing");
    int rc = run_pool(plan, 1, twice ? seconds / 2 : seconds, &one, err);
    if (rc == 0 && twice)
        rc = run_pool(plan, threads, seconds / 2, &all, err);
    if (rc < 0)
        return rc;
    take_counts(plan, ret_profile);
    take_filters(plan, ret_profile);
    take_engine(plan, ret_profile);
    ret_profile->rates[0].threads = 1;
    ret_profile->rates[0].rate = one;
    ret_profile->rates[1].threads = (double)threads;
    ret_profile->rates[1].rate = all;
    ret_profile->rates_n = twice ? 2 : 1;
    return 0;
}

int tool_profile_checked(struct cw_checked *checked, double seconds, size_t threads,
                         tool_profiled_fn *look, void *arg, struct cw_cost_profile *ret_profile,
                         struct cw_err *err)
{
    struct cw_plan *plan = NULL;
    int rc = cw_plan_new(checked, 0, NULL, &plan, err);

    if (rc == 0)
        rc = run_plan(plan, seconds, threads, ret_profile, err);
    if (rc == 0 && look)
        look(arg, plan);
    cw_plan_unref(plan);
    return rc;
}

int tool_profile_run(const char *path, double seconds, size_t threads,
                     struct cw_cost_profile *ret_profile, struct cw_err *err)
{
    struct cw_graph *graph = NULL;
    struct cw_checked *checked = NULL;
    int rc = cw_graph_load(path, &graph, err);

    if (rc == 0)
        rc = tool_graph_check(graph, NULL, &checked, err);
    if (rc == 0)
        rc = tool_profile_checked(checked, seconds, threads, NULL, NULL, ret_profile, err);
    cw_checked_unref(checked);
    cw_graph_unref(graph);
    return rc;
}
