/* SPDX-License-Identifier: Apache-2.0 */
/* The autocache policy `auto`. Every node that can be cached is a candidate, and so is caching
 * nothing. The cost of each is predicted over all epochs that are left, including those that fill
 * the cache (autocache_model.c), and the cheapest is chosen. The cost is time, plus a little for
 * CPU time, so that of equally fast plans the one that leaves more CPU to others is chosen. A
 * decision that was made before is kept, unless another plan is clearly cheaper, or measurement has
 * contradicted its prediction. */
#include <math.h>
#include "base/mem.h"
#include "policies/autocache_model.h"
#include "policies/standing.h"
#include "policies/text.h"

/* a second of CPU time of every thread counts as so many seconds of waiting */
#define CPU_WEIGHT 0.05
/* part of the score that caching must save, otherwise nothing is cached: not less than epochs that
 * were equal would differ by ... */
#define GAIN_MIN CW_STANDING_EPOCH_NOISE
#define CPU_GAIN_MIN 0.2  /* ... unless it saves this part of the CPU time */
#define SAVED_SHOWN 0.005 /* a smaller part that is saved is not worth a number */
#define EQUAL 0.002       /* smaller differences count as none */
#define OUTPUTS_MIN 2.0   /* number of outputs that must be measured before the first decision */
#define ELEMENTS_MIN 32.0

struct plan {
    size_t node;
    struct cw_plan_cost cost;
    double score;
};

static double score(const struct cw_autocache_snapshot *s, const struct cw_plan_cost *cost)
{
    return cost->total_ns + CPU_WEIGHT * cost->cpu_ns / fmax(s->threads, 1);
}

/* Returns the time that an epoch takes in addition to what the nodes account for: leases, sending,
 * starting. It is known once an epoch was computed. */
static double overhead(const struct cw_autocache_snapshot *s)
{
    struct cw_plan_cost cost;
    if (s->compute_ns <= 0)
        return 0;
    struct cw_autocache_snapshot bare = *s;
    bare.compute_ns = 0;
    cw_autocache_cost(&bare, CW_POLICY_NONE, 0, &cost);
    return cost.by_trainer || !cost.known ? 0 : fmax(0, s->compute_ns - cost.epoch_ns);
}

/* Returns the time that epochs which read from `measured` took in addition to what is known of
 * nodes and store; 0 if nothing is known of it. The trainer, who may have been the limit, is left
 * out of the model. */
static double reading_overhead(const struct cw_autocache_snapshot *s, size_t measured)
{
    struct cw_plan_cost cost;
    double took = s->nodes[measured].epoch_ns;
    if (took <= 0 || took <= (1 + CW_STANDING_EPOCH_NOISE) * cw_autocache_trainer_time(s))
        return 0;
    struct cw_autocache_snapshot bare = *s;
    struct cw_autocache_node *nodes = cw_mem_dup(s->nodes, s->n * sizeof(*nodes));
    nodes[measured].epoch_ns = 0;
    nodes[measured].cached = cw_autocache_records(&nodes[measured]);
    bare.nodes = nodes;
    bare.trainer_ns = 0;
    cw_autocache_cost(&bare, measured, 0, &cost);
    cw_mem_free(nodes);
    return cost.known ? fmax(0, took - cost.epoch_ns) : 0;
}

static double cached_bytes(const struct cw_autocache_node *node)
{
    return cw_autocache_records(node) * node->bytes;
}

/* Returns what epochs that read from `node` take in addition, by the epochs that read from other
 * nodes of the same store: as much as these, or less if it has fewer bytes. So a node is not
 * preferred because its epochs are only computed, and those of another were measured. */
static double likely_overhead(const struct cw_autocache_snapshot *s, size_t node, double computing)
{
    double most = computing;
    for (size_t i = 0; s->nodes[node].epoch_ns <= 0 && i < s->n; i++) {
        double more = i != node && s->nodes[i].epoch_ns > 0 ? reading_overhead(s, i) : 0;
        if (more > 0)
            most = fmax(most, more * fmin(1, cached_bytes(&s->nodes[node]) /
                                                 fmax(cached_bytes(&s->nodes[i]), 1)));
    }
    return most;
}

/* ---- one line of text for each candidate ---- */

static void add_cost(struct cw_str *out, const struct cw_autocache_snapshot *s,
                     const struct cw_plan_cost *cost)
{
    if (!cost->known) {
        cw_str_add(out, "not measured");
        return;
    }
    cw_str_add(out, "epoch ");
    cw_policy_add_time(out, cost->epoch_ns);
    cw_str_addf(out, ", %.3g epochs left ", s->epochs_left);
    cw_policy_add_time(out, cost->total_ns);
    cw_str_add(out, ", CPU ");
    cw_policy_add_time(out, cost->cpu_ns);
}

static void add_candidate(struct cw_str *out, const struct cw_autocache_snapshot *s,
                          const struct plan *plan)
{
    const struct cw_plan_cost *cost = &plan->cost;
    if (plan->node == CW_POLICY_NONE) {
        cw_str_add(out, "compute: ");
        add_cost(out, s, cost);
    } else {
        cw_str_addf(out, "\n%s: ", s->nodes[plan->node].name);
        add_cost(out, s, cost);
        cw_str_add(out, ", takes ");
        cw_policy_add_bytes(out, cost->bytes);
        if (cost->share < 0.995)
            cw_str_addf(out, " (%.0f %% of it fits)", 100 * cost->share);
        if (cost->cached > 0)
            cw_str_addf(out, ", %.0f %% is there", 100 * cost->cached);
    }
    if (cost->known && (cost->by_store || cost->by_trainer))
        cw_str_addf(out, cost->by_store ? ", as fast as the store" : ", as fast as the trainer");
}

static void add_refused(struct cw_str *out, const struct cw_autocache_node *node)
{
    cw_str_addf(out, "\n%s: %s", node->name,
                node->asked ? "cached because the pipeline asks for it" : node->why_not);
}

/* ---- the choice ---- */

/* Whether caching is worth the store's space: it saves some time, or much CPU time. */
static bool is_worth(const struct plan *plan, const struct plan *compute)
{
    if (compute->cost.known && plan->cost.by_trainer && compute->cost.by_trainer)
        return plan->cost.cpu_ns < (1 - CPU_GAIN_MIN) * compute->cost.cpu_ns;
    return !compute->cost.known || plan->score < (1 - GAIN_MIN) * compute->score ||
           (plan->score < compute->score &&
            plan->cost.cpu_ns < (1 - CPU_GAIN_MIN) * compute->cost.cpu_ns);
}

static struct plan evaluate(const struct cw_autocache_snapshot *s, size_t node, double overhead_ns)
{
    struct plan plan = {.node = node};
    cw_autocache_cost(s, node, overhead_ns, &plan.cost);
    plan.score = score(s, &plan.cost);
    return plan;
}

/* Predicts the cost of all candidates and returns the cheapest; *ret_current receives the plan of
 * the present decision. The lines of the candidates are appended to out. */
static struct plan best_of(const struct cw_autocache_snapshot *s, struct plan *ret_compute,
                           struct plan *ret_current, struct cw_str *out)
{
    double overhead_ns = overhead(s);
    struct plan compute = evaluate(s, CW_POLICY_NONE, overhead_ns), best = compute;
    add_candidate(out, s, &compute);
    *ret_compute = *ret_current = compute;
    for (size_t i = 0; i < s->n; i++) {
        if (s->nodes[i].why_not || s->nodes[i].asked) {
            add_refused(out, &s->nodes[i]);
            continue;
        }
        struct plan plan = evaluate(s, i, likely_overhead(s, i, overhead_ns));
        add_candidate(out, s, &plan);
        if (i == s->current)
            *ret_current = plan;
        /* Of equally cheap plans (a mark or a shuffle behind a node) the first is taken: it is the
         * node that does the work. */
        if (plan.cost.known && is_worth(&plan, &compute) &&
            (!best.cost.known || plan.score < (1 - EQUAL) * best.score))
            best = plan;
    }
    return best;
}

static bool is_enough(const struct cw_autocache_snapshot *s)
{
    double per_output = 1;
    for (size_t i = 0; i < s->n; i++)
        per_output = fmax(per_output, s->nodes[i].per_output);
    double outputs = fmin(OUTPUTS_MIN, fmax(1, s->nodes[s->n - 1].elements_n));
    return s->elements_measured >= outputs &&
           s->elements_measured * per_output >= fmin(ELEMENTS_MIN, outputs * per_output);
}

/* Returns the node with the most cached records, for the time before anything is measured: those
 * records are read. Of equal nodes the last is taken. */
static size_t most_cached(const struct cw_autocache_snapshot *s)
{
    size_t best = CW_POLICY_NONE;
    double best_share = 0.02;
    for (size_t i = 0; i < s->n; i++) {
        const struct cw_autocache_node *node = &s->nodes[i];
        double records = cw_autocache_records(node);
        if (node->why_not || node->asked || records <= 0 || node->cached / records < best_share)
            continue;
        best = i;
        best_share = fmin(1, node->cached / records);
    }
    return best;
}

static bool is_contradicted(const struct cw_autocache_snapshot *s)
{
    return s->standing && cw_standing_is_off(&cw_standing_epoch, s->epoch_ns, s->predicted_ns);
}

/* ---- the sentence that gives the reason ---- */

static void add_name(struct cw_str *out, const struct cw_autocache_snapshot *s, size_t node)
{
    if (node == CW_POLICY_NONE)
        cw_str_add(out, "Caching nothing");
    else
        cw_str_addf(out, "Caching \"%s\"", s->nodes[node].name);
}

static void add_comparison(struct cw_str *out, const struct cw_autocache_snapshot *s,
                           const struct plan *plan, const struct plan *compute)
{
    if (plan->node == CW_POLICY_NONE) {
        cw_str_add(out, " is cheapest: an epoch takes ");
        cw_policy_add_time(out, plan->cost.epoch_ns);
        cw_str_add(out, s->epochs_left <= 1
                            ? ", and there is no further epoch to read it"
                            : ", and no cache would make up for filling and reading it");
        return;
    }
    bool alike =
        compute->cost.known && fabs(plan->cost.epoch_ns / compute->cost.epoch_ns - 1) < SAVED_SHOWN;
    cw_str_add(out, alike ? " leaves an epoch at " : " makes an epoch ");
    cw_policy_add_time(out, plan->cost.epoch_ns);
    if (alike)
        return;
    if (compute->cost.known) {
        cw_str_add(out, " instead of ");
        cw_policy_add_time(out, compute->cost.epoch_ns);
    }
    cw_str_addf(out, ", the %.3g left ", s->epochs_left);
    cw_policy_add_time(out, plan->cost.total_ns);
    if (!compute->cost.known)
        return;
    cw_str_add(out, " instead of ");
    cw_policy_add_time(out, compute->cost.total_ns);
}

static void add_notes(struct cw_str *out, const struct cw_autocache_snapshot *s,
                      const struct plan *plan, const struct plan *compute)
{
    if (plan->node == CW_POLICY_NONE)
        return;
    const struct cw_plan_cost *cost = &plan->cost;
    double saved = 1 - cost->cpu_ns / fmax(compute->cost.cpu_ns, 1);
    if (compute->cost.by_trainer && compute->cost.known && saved < SAVED_SHOWN)
        cw_str_add(out, "; the trainer does not wait, so this saves nothing");
    else if (compute->cost.by_trainer && compute->cost.known)
        cw_str_addf(out, "; the trainer does not wait, so this saves only CPU time (%.0f %%)",
                    100 * saved);
    else if (cost->by_store)
        cw_str_add(out, "; the store sets the pace");
    if (cost->share < 0.995)
        cw_str_addf(out, "; %.0f %% of it fits into the room that is left", 100 * cost->share);
    if (cost->cached > 0.005)
        cw_str_addf(out, "; %.0f %% of it is there already", 100 * cost->cached);
    if (s->store.assumed)
        cw_str_addf(out, "; rates of the store: %s", s->store.assumed);
}

static void add_standing(struct cw_str *out, const struct cw_autocache_snapshot *s,
                         const struct plan *plan, const struct plan *current)
{
    if (!s->standing)
        return;
    if (is_contradicted(s)) {
        cw_str_add(out, "; an epoch took ");
        cw_policy_add_time(out, s->epoch_ns);
        cw_str_add(out, " where ");
        cw_policy_add_time(out, s->predicted_ns);
        cw_str_add(out, " was predicted");
    }
    if (plan->node != current->node) {
        cw_str_add(out, "; until now ");
        if (current->node == CW_POLICY_NONE)
            cw_str_add(out, "nothing was cached");
        else
            cw_str_addf(out, "\"%s\" was cached", s->nodes[current->node].name);
        if (current->cost.known && current->node != CW_POLICY_NONE) {
            cw_str_add(out, ", which would take ");
            cw_policy_add_time(out, current->cost.total_ns);
        }
    }
}

static void explain(const struct cw_autocache_snapshot *s, const struct plan *plan,
                    const struct plan *compute, const struct plan *current,
                    struct cw_policy_decision *d)
{
    d->decided = true;
    d->node = plan->node;
    d->epoch_ns = plan->cost.epoch_ns;
    d->total_ns = plan->cost.total_ns;
    add_name(&d->reason, s, plan->node);
    add_comparison(&d->reason, s, plan, compute);
    add_notes(&d->reason, s, plan, compute);
    add_standing(&d->reason, s, plan, current);
    cw_str_add_char(&d->reason, '.');
}

static void decide_early(const struct cw_autocache_snapshot *s, struct cw_policy_decision *d)
{
    size_t node = s->standing ? s->current : most_cached(s);
    if (s->standing || node != CW_POLICY_NONE) {
        d->decided = true;
        d->node = node;
        d->epoch_ns = s->predicted_ns;
        d->total_ns = s->predicted_ns * s->epochs_left;
        if (s->standing)
            cw_str_add(&d->reason, "Too little is measured to think again.");
        else
            cw_str_addf(
                &d->reason,
                "%.0f %% of \"%s\" is in the cache already: it is read, until more is measured.",
                100 * fmin(1, s->nodes[node].cached / cw_autocache_records(&s->nodes[node])),
                s->nodes[node].name);
    } else {
        cw_str_addf(&d->reason, "Measuring: %.0f outputs so far.", s->elements_measured);
    }
}

static int decide(const struct cw_autocache_snapshot *s, const char *argument,
                  struct cw_policy_decision *ret_decision, struct cw_err *err)
{
    (void)argument;
    (void)err;
    struct cw_policy_decision d = {.node = CW_POLICY_NONE};
    struct plan compute, current;
    if (!is_enough(s)) {
        decide_early(s, &d);
        *ret_decision = d;
        return 0;
    }
    struct plan best = best_of(s, &compute, &current, &d.candidates);
    if (!best.cost.known) {
        decide_early(s, &d);
    } else {
        bool keep =
            s->standing && current.cost.known && best.node != current.node &&
            !cw_standing_yields(&cw_standing_epoch, is_contradicted(s), current.score, best.score);
        explain(s, keep ? &current : &best, &compute, &current, &d);
    }
    *ret_decision = d;
    return 0;
}

const struct cw_autocache_policy cw_policy_autocache_auto = {
    "auto", "the node whose caching makes all epochs left cheapest, by measurement", NULL, decide};
