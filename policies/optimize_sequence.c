/* SPDX-License-Identifier: Apache-2.0 */
#include "policies/optimize_sequence.h"

#include <math.h>
#include <stdlib.h>

#include "base/mem.h"

#define OF_CALLS SIZE_MAX /* the part that belongs to no field */

/* An operator in one part: what it costs of it, for each element (and byte) that comes to it, and what it makes of that. */
struct op {
    double cost, factor, rank;
    size_t walls;
    uint8_t op;
};
struct part {
    size_t field;
    double bytes;  /* what the field has where it begins: at the source, or behind who adds it */
    double times;  /* of that at least: images that are made whole may be smaller */
    uint64_t adds; /* who adds the field, as bits */
    struct op ops[CW_OPTIMIZE_NODES_MAX]; /* in the order in which they cost the least */
};
struct cw_optimize_sequence {
    size_t n, parts_n;
    struct part parts[]; /* those that cost something */
};
struct making {
    const struct cw_optimize_problem *problem;
    const struct cw_optimize_fixed *fixed;
    bool of_cpu;
};

/* ---- an operator ---- */

static double part_of(const struct making *m, const struct part *part, double ns, double ns_byte,
                      double cpu_ns, double cpu_ns_byte)
{
    if (part->field == OF_CALLS)
        return m->of_cpu ? cpu_ns : ns;
    return m->of_cpu ? cpu_ns_byte : ns_byte;
}

/* For one element or for one of many, of a part of an image or of the whole. */
static double least_call(const struct making *m, const struct part *part, size_t op)
{
    const struct cw_optimize_node *it = &m->problem->nodes[op];
    const struct cw_optimize_batch *batch = &it->batch;
    const struct cw_optimize_whole *whole = &it->whole;
    double least = part_of(m, part, it->ns, it->ns_byte, it->cpu_ns, it->cpu_ns_byte);

    if (batch->is_known)
        least = fmin(
            least, part_of(m, part, batch->ns, batch->ns_byte, batch->cpu_ns, batch->cpu_ns_byte));
    if (it->crops)
        least = fmin(
            least, part_of(m, part, whole->ns, whole->ns_byte, whole->cpu_ns, whole->cpu_ns_byte));
    return least;
}

static bool may_be_left(const struct making *m, size_t op)
{
    for (size_t i = 0; i < m->problem->n; i++)
        if (cw_optimize_folds(m->problem, op, i))
            return true;
    return false;
}

/* What an operator makes of a field's bytes, at least, for those behind it. What it makes them larger by is lost if the
 * field is added behind it. Where images are always made whole, they are so until they are cropped. */
static double least_ratio(const struct making *m, const struct part *part, size_t op)
{
    const struct cw_optimize_problem *problem = m->problem;
    const struct cw_optimize_node *it = &problem->nodes[op];
    double ratio = it->adds >> part->field & 1 ? 1 : it->ratio[part->field];

    for (size_t i = 0; problem->apart && i < problem->n; i++) {
        const struct cw_optimize_node *maker = &problem->nodes[i];
        if (!maker->crops || !(maker->whole_fields >> part->field & 1))
            continue;
        if (i == op)
            ratio *= maker->whole.grows;
        else if (maker->crops >> op & 1)
            ratio *= fmin(1 / maker->whole.grows, 1);
    }
    return cw_optimize_is_idle(problem, op) || (part->adds & ~m->fixed->before[op]) ? fmin(ratio, 1)
                                                                                    : ratio;
}

static double least_factor(const struct making *m, const struct part *part, size_t op)
{
    const double keep = fmin(cw_optimize_least_keep(m->problem, op), 1);

    return part->field == OF_CALLS ? keep : keep * least_ratio(m, part, op);
}

/* Who does the work of another one gets what comes to that one: the factor by which that may be less. */
static double most_less(const struct making *m, const struct part *part, size_t op)
{
    double most = 1;

    for (size_t i = 0; i < m->problem->n; i++)
        if (i != op && cw_optimize_folds(m->problem, i, op))
            most = fmax(most, least_factor(m, part, i));
    return most;
}

/* A field that may be added behind an operator has no bytes where that one reads it. */
static bool reads(const struct making *m, const struct part *part, size_t op)
{
    return part->field == OF_CALLS || ((m->problem->nodes[op].reads >> part->field & 1) &&
                                       (!part->adds || (part->adds & m->fixed->before[op])));
}

static double least_cost(const struct making *m, const struct part *part, size_t op)
{
    return reads(m, part, op) && !may_be_left(m, op)
               ? least_call(m, part, op) / most_less(m, part, op)
               : 0;
}

static double rank_of(double cost, double factor)
{
    if (cost > 0)
        return (factor - 1) / cost;
    return factor < 1 ? -HUGE_VAL : factor > 1 ? HUGE_VAL : 0;
}

/* ---- parts ---- */

static int compare(const void *a, const void *b)
{
    const struct op *x = a, *y = b;

    if (x->walls != y->walls)
        return x->walls < y->walls ? -1 : 1;
    return x->rank < y->rank ? -1 : x->rank > y->rank;
}

/* Returns whether it costs something. */
static bool set_part(const struct making *m, size_t field, struct part *part)
{
    const struct cw_optimize_problem *problem = m->problem;
    bool is_some = false;

    *part = (struct part){.field = field, .bytes = 1, .times = 1};
    for (size_t i = 0; field != OF_CALLS && i < problem->n; i++) {
        part->bytes = problem->bytes[field];
        part->adds |= (uint64_t)(problem->nodes[i].adds >> field & 1) << i;
        if (!problem->apart && problem->nodes[i].crops &&
            (problem->nodes[i].whole_fields >> field & 1))
            part->times *= fmin(problem->nodes[i].whole.grows, 1);
    }
    for (size_t i = 0; i < problem->n; i++) {
        const double cost = least_cost(m, part, i), factor = least_factor(m, part, i);
        part->ops[i] =
            (struct op){cost, factor, rank_of(cost, factor), m->fixed->walls[i], (uint8_t)i};
        is_some = is_some || cost > 0;
    }
    qsort(part->ops, problem->n, sizeof(part->ops[0]), compare);
    return is_some;
}

struct cw_optimize_sequence *cw_optimize_sequence_new(const struct cw_optimize_problem *problem,
                                                      const struct cw_optimize_fixed *fixed,
                                                      bool of_cpu)
{
    const struct making m = {problem, fixed, of_cpu};
    struct cw_optimize_sequence *sequence =
        cw_mem_new(sizeof(*sequence) + (problem->fields_n + 1) * sizeof(sequence->parts[0]));

    sequence->n = problem->n;
    sequence->parts_n = set_part(&m, OF_CALLS, &sequence->parts[0]);
    for (size_t f = 0; f < problem->fields_n; f++)
        sequence->parts_n += set_part(&m, f, &sequence->parts[sequence->parts_n]);
    return sequence;
}

void cw_optimize_sequence_free(struct cw_optimize_sequence *sequence)
{
    cw_mem_free(sequence);
}

/* ---- what is left ---- */

/* What comes out of a set, or is added behind it. */
static double comes(const struct part *part, uint64_t set, const struct cw_optimize_flow *flow)
{
    if (part->field == OF_CALLS)
        return 1;
    if (!(part->adds & ~set))
        return flow->bytes[part->field] * part->times;
    return (part->adds & set ? fmin(flow->bytes[part->field], part->bytes) : part->bytes) *
           part->times;
}

double cw_optimize_sequence_rest(const struct cw_optimize_sequence *sequence, uint64_t set,
                                 const struct cw_optimize_flow *flow)
{
    double sum = 0;

    for (size_t k = 0; k < sequence->parts_n; k++) {
        const struct part *part = &sequence->parts[k];
        double left = flow->share * comes(part, set, flow);
        for (size_t i = 0; i < sequence->n; i++) {
            const struct op *op = &part->ops[i];
            if (set >> op->op & 1)
                continue;
            sum += left * op->cost;
            left *= op->factor;
        }
    }
    return sum;
}
