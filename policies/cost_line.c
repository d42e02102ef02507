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

/* Whole images are made too seldom to fit a line: the line of parts is taken as many times as they cost. */
static void fit_whole(const struct cw_cost_sums *sums, struct cw_cost_line *line)
{
    if (sums->whole_timed <= 0)
        return;
    double in_bytes = sums->whole_in_bytes / sums->whole_timed;
    double cpu_ns = sums->whole_cpu_ns / sums->whole_timed;
    double ns = fmax(sums->whole_wall_ns / sums->whole_timed, cpu_ns);
    double part_ns = line->ns + line->ns_byte * in_bytes;
    double part_cpu_ns = line->cpu_ns + line->cpu_ns_byte * in_bytes;
    double more = part_ns > 0 ? ns / part_ns : 1,
           more_cpu = part_cpu_ns > 0 ? cpu_ns / part_cpu_ns : 1;
    line->whole =
        (struct cw_cost_whole){.ns = part_ns > 0 ? line->ns * more : ns,
                               .ns_byte = line->ns_byte * more,
                               .cpu_ns = part_cpu_ns > 0 ? line->cpu_ns * more_cpu : cpu_ns,
                               .cpu_ns_byte = line->cpu_ns_byte * more_cpu,
                               .out_bytes = sums->whole_out_bytes / sums->whole_timed};
}

/* What is measured of calls for single elements; of those for many if there were no others. */
static void split_calls(const struct cw_cost_measured *measured,
                        struct cw_cost_measured *ret_single)
{
    const struct cw_cost_sums *sums = &measured->sums;

    *ret_single = *measured;
    if (sums->batch_calls <= 0)
        return;
    if (sums->calls > 0) {
        ret_single->cpu_ns = fmax(measured->cpu_ns - sums->batch_cpu_ns, 0);
        ret_single->wall_ns = fmax(measured->wall_ns - sums->batch_wall_ns, 0);
        return;
    }
    ret_single->sums.calls = sums->batch_calls;
    ret_single->sums.in_bytes = sums->batch_in_bytes;
    ret_single->sums.out_bytes = sums->batch_out_bytes;
    ret_single->sums.timed = 0; /* they are all of one size */
}

double cw_cost_made(const struct cw_cost_measured *measured)
{
    const double calls = measured->sums.calls + measured->sums.batch_calls;

    return calls > 0 ? fmax(measured->elements - measured->sums.folded, 0) / calls : 0;
}

double cw_cost_out_bytes(const struct cw_cost_measured *measured)
{
    const double calls = measured->sums.calls + measured->sums.batch_calls;

    return calls > 0 ? (measured->sums.out_bytes + measured->sums.batch_out_bytes) / calls : 0;
}

double cw_cost_call_ns(const struct cw_cost_measured *measured)
{
    struct cw_cost_measured single;

    split_calls(measured, &single);
    return single.sums.calls > 0 ? fmax(single.wall_ns, single.cpu_ns) / single.sums.calls : 0;
}

/* Elements that are worked on many at once are all of one size. */
static void fit_batch(const struct cw_cost_sums *sums, bool proportional, struct cw_cost_line *line)
{
    const double calls = sums->batch_calls;

    if (calls <= 0)
        return;
    const struct sizes sizes = {.mean = sums->batch_in_bytes / calls};
    assume(&sizes, sums->batch_cpu_ns / calls, proportional, &line->batch.cpu_ns,
           &line->batch.cpu_ns_byte);
    assume(&sizes, fmax(sums->batch_wall_ns, sums->batch_cpu_ns) / calls, proportional,
           &line->batch.ns, &line->batch.ns_byte);
}

static void fit(const struct cw_cost_measured *measured, bool proportional,
                struct cw_cost_line *line)
{
    const struct cw_cost_sums *sums = &measured->sums;
    /* A worker of an earlier version sends no sums. */
    double calls = sums->calls > 0 ? sums->calls : measured->elements;
    double wall_ns = fmax(measured->wall_ns, measured->cpu_ns);
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

void cw_cost_line_fit(const struct cw_cost_measured *measured, bool proportional,
                      struct cw_cost_line *ret_line)
{
    const struct cw_cost_sums *sums = &measured->sums;
    struct cw_cost_measured single;

    split_calls(measured, &single);
    *ret_line = (struct cw_cost_line){.keep = 1, .assumed = true};
    if (measured->elements > 0)
        ret_line->keep = fmin(fmax(1 - sums->dropped / measured->elements, 0), 1);
    if (single.sums.calls > 0 || measured->elements > 0)
        fit(&single, proportional, ret_line);
    fit_whole(sums, ret_line);
    fit_batch(sums, proportional, ret_line);
}
