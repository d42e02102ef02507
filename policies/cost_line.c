/* SPDX-License-Identifier: Apache-2.0 */
#include "policies/cost_line.h"

#include <math.h>

/* Below this many calls, and below this standard deviation of the sizes as a part of their mean, noise
 * of the times would make a line of its own. */
#define TIMED_MIN 16
#define SPREAD_MIN 0.1

void cw_cost_sums_add(struct cw_cost_sums *sums, const struct cw_cost_sums *other)
{
#define ADD(name) sums->name += other->name;
    CW_COST_SUMS(ADD)
#undef ADD
}

/* Of the sizes of calls. */
struct sizes {
    double mean, variance;
};

/* Splits the mean cost of a call into a part for each call and one for each byte. `product` is the
 * mean of cost times bytes. */
static void split(const struct sizes *sizes, double mean, double product, double *ret_ns,
                  double *ret_ns_byte)
{
    double slope = (product - mean * sizes->mean) / sizes->variance;

    slope = fmin(fmax(slope, 0), mean / sizes->mean);
    *ret_ns_byte = slope;
    *ret_ns = fmax(mean - slope * sizes->mean, 0);
}

static void assume(const struct sizes *sizes, double mean, bool proportional, double *ret_ns,
                   double *ret_ns_byte)
{
    bool by_bytes = proportional && sizes->mean > 0;

    *ret_ns_byte = by_bytes ? mean / sizes->mean : 0;
    *ret_ns = by_bytes ? 0 : mean;
}

static bool tells(const struct cw_cost_sums *sums, const struct sizes *sizes)
{
    return sums->timed >= TIMED_MIN && sizes->mean > 0 &&
           sqrt(fmax(sizes->variance, 0)) >= SPREAD_MIN * sizes->mean;
}

void cw_cost_line_fit(const struct cw_cost_measured *measured, bool proportional,
                      struct cw_cost_line *ret_line)
{
    const struct cw_cost_sums *sums = &measured->sums;
    /* A worker of an earlier version sends no sums. */
    double calls = sums->calls > 0 ? sums->calls : measured->elements;
    double wall_ns = fmax(measured->wall_ns, measured->cpu_ns);
    struct cw_cost_line *line = ret_line;

    *line = (struct cw_cost_line){.keep = 1, .assumed = true};
    if (measured->elements > 0)
        line->keep = fmin(fmax(1 - sums->dropped / measured->elements, 0), 1);
    if (calls <= 0)
        return;
    struct sizes sizes = {.mean = sums->in_bytes / calls};
    sizes.variance = sums->in_bytes_squared / calls - sizes.mean * sizes.mean;
    line->in_bytes = sizes.mean;
    line->out_bytes = sums->out_bytes / calls;
    line->assumed = !tells(sums, &sizes);
    if (line->assumed) {
        assume(&sizes, measured->cpu_ns / calls, proportional, &line->cpu_ns, &line->cpu_ns_byte);
        assume(&sizes, wall_ns / calls, proportional, &line->ns, &line->ns_byte);
        return;
    }
    split(&sizes, measured->cpu_ns / calls, sums->cpu_ns_bytes / calls, &line->cpu_ns,
          &line->cpu_ns_byte);
    split(&sizes, wall_ns / calls, fmax(sums->wall_ns_bytes, sums->cpu_ns_bytes) / calls, &line->ns,
          &line->ns_byte);
}
