/* SPDX-License-Identifier: Apache-2.0 */
#include "policies/simulate_job.h"

#include <math.h>

#include "base/hash.h"
#include "base/mem.h"

#define NEARLY 1e-6 /* seconds of difference that rounding may cause */
#define READY 8     /* batches that are ready if the workers could do more */

double cw_sim_series_at(const struct cw_sim_series *series, double t_s, double otherwise)
{
    size_t i = series->n;
    while (i > 0 && series->at_s[i - 1] > t_s + NEARLY)
        i--;
    return i > 0 ? series->v[i - 1] : otherwise;
}

static double next_of(const struct cw_sim_series *series, double t_s)
{
    size_t i = 0;
    while (i < series->n && series->at_s[i] <= t_s + NEARLY)
        i++;
    return i < series->n ? series->at_s[i] : (double)INFINITY;
}

double cw_sim_next_change(const struct cw_sim_job_spec *spec, double t_s)
{
    return fmin(fmin(fmin(next_of(&spec->step_s, t_s), next_of(&spec->worker_s, t_s)),
                     next_of(&spec->ceiling, t_s)),
                fmin(next_of(&spec->rooms, t_s), next_of(&spec->mosts, t_s)));
}

double cw_sim_step(const struct cw_sim_now *now)
{
    const struct cw_sim_job_spec *s = now->spec;
    return cw_sim_series_at(&s->step_s, now->t_s, 1) *
           (1 + s->slow * fmax(now->local - cw_sim_series_at(&s->rooms, now->t_s, s->room), 0));
}

/* Returns the number of remote workers that would compute as much. */
static double workers_of(const struct cw_sim_now *now)
{
    double speed = now->spec->local_speed;
    return now->remote + now->local * (speed > 0 ? speed : 1);
}

/* Returns the rate in the table of measured epochs; a fraction of a worker does that fraction of
 * the work. */
static double measured(const struct cw_sim_now *now)
{
    const struct cw_sim_job_spec *s = now->spec;
    double n = now->remote + now->local, part = n < 1 ? n : 1;
    size_t at = CW_MIN((size_t)fmax(n, 1), s->epoch_s_n) - 1;
    if (s->columns > 0) {
        size_t r = CW_MIN((size_t)ceil(now->remote), s->epoch_s_n / s->columns - 1),
               l = CW_MIN((size_t)ceil(now->local), s->columns - 1);
        at = r * s->columns + l;
    }
    return part * s->batches / s->epoch_s[at];
}

/* Returns the rate without the ceiling. */
static double unhindered(const struct cw_sim_now *now)
{
    const struct cw_sim_job_spec *s = now->spec;
    double n = workers_of(now), more = fmax(n - 1, 0);
    return n / (cw_sim_series_at(&s->worker_s, now->t_s, 1) *
                (1 + s->loss * more + s->slower * n * more));
}

double cw_sim_capacity(const struct cw_sim_now *now)
{
    if (now->remote + now->local <= 0)
        return 0;
    if (now->spec->epoch_s_n > 0)
        return measured(now);
    double ceiling = cw_sim_series_at(&now->spec->ceiling, now->t_s, 0), can = unhindered(now);
    return ceiling > 0 ? fmin(can, ceiling) : can;
}

double cw_sim_rate(const struct cw_sim_now *now)
{
    return fmin(cw_sim_capacity(now), 1 / cw_sim_step(now));
}

/* ---- what is measured ---- */

static double drawn(uint64_t *draw) /* Returns a pseudo-random number, 0 to 1. */
{
    *draw = cw_mix64(*draw + 0x9e3779b97f4a7c15u);
    return (double)(*draw >> 11) * 0x1p-53;
}

static double noisy(double value, double noise, uint64_t *draw)
{
    return value * (1 + noise * (2 * drawn(draw) - 1));
}

/* Returns the rate that a worker reports of itself, from its time inside of elements. If the
 * trainer takes less than the workers can give, they wait for credit, which is outside of elements
 * and independent of each other. */
static double told_rate(const struct cw_sim_now *now)
{
    const struct cw_sim_job_spec *s = now->spec;
    double n = now->remote + now->local, capacity = cw_sim_capacity(now);
    if (n <= 0)
        return 0;
    bool hidden = s->cause == CW_SIM_NETWORK || capacity > cw_sim_rate(now) * (1 + NEARLY);
    return (s->epoch_s_n == 0 && hidden ? unhindered(now) : capacity) / n;
}

/* Returns what the threads of the workers did, as shares of their time: they compute; and what lacks
 * to the rate that they could have, they wait for the ceiling's cause or for the trainer. */
static struct cw_thread_use used(const struct cw_sim_now *now, double noise, uint64_t *draw)
{
    const struct cw_sim_job_spec *s = now->spec;
    struct cw_thread_use use = {0};
    double could = s->epoch_s_n > 0 ? cw_sim_capacity(now) : unhindered(now),
           capacity = cw_sim_capacity(now), rate = cw_sim_rate(now);
    if (could <= 0)
        return use;
    double *const causes[] = {[CW_SIM_SOURCE] = &use.source,
                              [CW_SIM_CPU] = &use.cpu,
                              [CW_SIM_STORE] = &use.store,
                              [CW_SIM_QUOTA] = &use.cpu,
                              [CW_SIM_NETWORK] = &use.network};
    double computed = noisy(rate / could, noise, draw),
           waited = noisy(1 - rate / could, noise, draw), all = computed + waited;
    use.computing = computed / all;
    *(rate < capacity * (1 - NEARLY) ? &use.trainer : causes[s->cause]) += waited / all;
    return use;
}

struct cw_scale_window cw_sim_window(const struct cw_sim_now *now, const struct cw_sim_sums *sums,
                                     double noise, uint64_t draw)
{
    const struct cw_sim_job_spec *s = now->spec;
    double capacity = cw_sim_capacity(now), rate = cw_sim_rate(now), n = now->remote + now->local;
    bool odd = s->odd_every > 0 && drawn(&draw) * s->odd_every < 1;
    double stood = odd ? s->odd_s : 0, seconds = noisy(sums->seconds, noise, &draw) + stood;
    double waited = noisy(sums->wait_s, noise, &draw) + (s->odd_waits ? stood : 0);
    struct cw_scale_window w = {.seconds = seconds,
                                .batches = sums->batches,
                                .wait_share = fmin(waited / (sums->seconds + stood), 1),
                                .queue = rate < capacity ? READY : 0,
                                .step_s = noisy(cw_sim_step(now), noise, &draw),
                                .rate = noisy(told_rate(now), noise, &draw),
                                .cpu = s->cpu_s > 0 ? (n > 0 ? rate * s->cpu_s / n : 0)
                                                    : (capacity > 0 ? rate / capacity : 0),
                                .remote = now->remote,
                                .local = now->local};
    w.threads = used(now, noise, &draw);
    return w;
}
