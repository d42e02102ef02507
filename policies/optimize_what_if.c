/* SPDX-License-Identifier: Apache-2.0 */
/* What another world would bring: the problem is changed in one thing, and planned by the same search. */
#include "policies/optimize_view.h"

#include <math.h>

#include "base/mem.h"

struct asked {
    const struct cw_optimize_problem *problem;
    const struct cw_optimize_plan *plan;
    struct cw_optimize_problem *changed; /* a copy, for each case anew */
    struct cw_what_if *v;
    size_t n;
};

static struct cw_optimize_problem *begin(struct asked *asked)
{
    *asked->changed = *asked->problem;
    /* what is asked is what this plan's workers would do */
    asked->changed->remote_max = asked->plan->remote;
    asked->changed->local_max = asked->plan->local;
    return asked->changed;
}

static struct cw_what_if *add(struct asked *asked, enum cw_what_if_kind kind, size_t op)
{
    struct cw_what_if *it = &asked->v[asked->n++];

    *it = (struct cw_what_if){.kind = kind, .op = op};
    return it;
}

static void end(struct asked *asked, enum cw_what_if_kind kind, size_t op)
{
    struct cw_what_if *it = add(asked, kind, op);

    cw_optimize(asked->changed, &it->plan);
    cw_optimize_epoch(asked->changed, &it->plan, &it->epoch);
}

static void ask_workers(struct asked *asked)
{
    unsigned remote = asked->plan->remote, local = asked->plan->local;

    begin(asked)->remote_max += remote > 0 || local == 0;
    asked->changed->local_max += remote == 0;
    end(asked, CW_WHAT_IF_WORKER_MORE, 0);
    if (remote + local < 2)
        return;
    begin(asked)->remote_max -= remote > 0;
    asked->changed->local_max -= remote == 0;
    end(asked, CW_WHAT_IF_WORKER_LESS, 0);
}

static void ask_room(struct asked *asked)
{
    if (!asked->problem->has_store || asked->problem->store.free_bytes < 0)
        return;
    begin(asked)->store.free_bytes += CW_WHAT_IF_CACHE_BYTES;
    end(asked, CW_WHAT_IF_CACHE, 0);
}

static void ask_trainer(struct asked *asked)
{
    if (asked->problem->trainer_ns <= 0)
        return;
    begin(asked)->trainer_ns /= 2;
    end(asked, CW_WHAT_IF_TRAINER, 0);
}

static void ask_half(struct asked *asked, size_t op)
{
    struct cw_optimize_node *node = &begin(asked)->nodes[op];

    node->ns /= 2;
    node->ns_byte /= 2;
    node->cpu_ns /= 2;
    node->cpu_ns_byte /= 2;
    node->batch.ns /= 2;
    node->batch.ns_byte /= 2;
    node->batch.cpu_ns /= 2;
    node->batch.cpu_ns_byte /= 2;
    node->whole.ns /= 2;
    node->whole.ns_byte /= 2;
    node->whole.cpu_ns /= 2;
    node->whole.cpu_ns_byte /= 2;
    for (size_t k = 0; op == 0 && k < asked->changed->branches_n; k++) {
        struct cw_optimize_branch *branch = &asked->changed->branches[k];
        branch->ns /= 2;
        branch->cpu_ns /= 2;
        branch->whole_ns /= 2;
        branch->whole_cpu_ns /= 2;
    }
    end(asked, CW_WHAT_IF_HALF, op);
}

/* The two operators that cost most in this plan. */
static void ask_dearest(struct asked *asked)
{
    struct cw_optimize_row rows[CW_OPTIMIZE_NODES_MAX];
    size_t last = SIZE_MAX;

    cw_optimize_rows(asked->problem, asked->plan, rows);
    for (int k = 0; k < 2; k++) {
        size_t dearest = SIZE_MAX;
        for (size_t i = 0; i < asked->problem->n; i++)
            if (i != last && rows[i].share > 0 &&
                (dearest == SIZE_MAX || rows[i].share > rows[dearest].share))
                dearest = i;
        if (dearest == SIZE_MAX)
            return;
        ask_half(asked, asked->plan->order[dearest]);
        last = dearest;
    }
}

static void ask_relaxed(struct asked *asked, const struct cw_optimize_problem *relaxed)
{
    if (!relaxed)
        return;
    begin(asked);
    for (size_t i = 0; i < relaxed->n; i++)
        asked->changed->nodes[i].behind = relaxed->nodes[i].behind;
    end(asked, CW_WHAT_IF_RELAXED, 0);
}

/* The place behind which the fewest bytes of an epoch have to travel; the last one: there is no better. */
static size_t find_cut(const struct asked *asked, const struct cw_optimize_row *rows)
{
    size_t cut = asked->problem->n - 1;

    for (size_t i = asked->problem->n; i-- > 0;)
        if (rows[i].rows * rows[i].bytes < rows[cut].rows * rows[cut].bytes * (1 - 1e-9))
            cut = i;
    return cut;
}

/* A filter lets everything pass: it makes no difference to those that are known together with it. */
static void open_filter(struct cw_optimize_filters *filters, size_t place)
{
    for (size_t i = 0; i < filters->n; i++)
        for (unsigned set = 0; filters->place[i] == place && set < 1u << filters->n; set++)
            filters->share[set] = filters->share[set & ~(1u << i)];
}

/* What stands behind the cut costs the workers nothing and changes nothing; so the plan is priced. */
static void ask_cut(struct asked *asked)
{
    struct cw_optimize_row rows[CW_OPTIMIZE_NODES_MAX];
    const struct cw_optimize_plan *plan = asked->plan;

    if (plan->remote == 0)
        return;
    cw_optimize_rows(asked->problem, plan, rows);
    size_t cut = find_cut(asked, rows);
    if (cut + 1 >= asked->problem->n ||
        (plan->cache_after < asked->problem->n && plan->cache_after > cut))
        return;
    struct cw_what_if *it = add(asked, CW_WHAT_IF_CUT, plan->order[cut]);
    begin(asked);
    it->plan = *plan;
    for (size_t i = cut + 1; i < asked->problem->n; i++) {
        struct cw_optimize_node *node = &asked->changed->nodes[plan->order[i]];
        it->beside_cpu_ns += rows[i].rows_in * rows[i].cpu_ns;
        node->ns = node->ns_byte = node->cpu_ns = node->cpu_ns_byte = 0;
        node->batch = (struct cw_optimize_batch){0};
        node->whole = (struct cw_optimize_whole){.grows = 1};
        node->keep = 1;
        open_filter(&asked->changed->filters, plan->order[i]);
        for (size_t f = 0; f < CW_OPTIMIZE_FIELDS_MAX; f++) {
            node->ratio[f] = 1;
            if (node->adds >> f & 1) /* it is added beside the trainer */
                asked->changed->bytes[f] = 0;
        }
    }
    cw_optimize_price(asked->changed, &it->plan);
    cw_optimize_epoch(asked->changed, &it->plan, &it->epoch);
}

size_t cw_optimize_what_if(const struct cw_optimize_problem *problem,
                           const struct cw_optimize_problem *relaxed,
                           const struct cw_optimize_plan *plan, struct cw_what_if *ret_list)
{
    struct asked asked = {.problem = problem,
                          .plan = plan,
                          .changed = CW_NEW(struct cw_optimize_problem),
                          .v = ret_list};

    ask_workers(&asked);
    ask_room(&asked);
    ask_trainer(&asked);
    ask_dearest(&asked);
    ask_relaxed(&asked, relaxed);
    ask_cut(&asked);
    cw_mem_free(asked.changed);
    return asked.n;
}
