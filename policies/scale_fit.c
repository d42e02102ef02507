/* SPDX-License-Identifier: Apache-2.0 */
#include "policies/scale_fit.h"

#include <math.h>

#define STEPS 5 /* of Gauss and Newton */
#define STEPS_LINEAR 2
#define HALVINGS 4    /* of a step that leads too far */
#define STEP_MOST 0.7 /* longest step of a logarithm */
#define PEAKS 12      /* number of peaks with which the search may begin */
#define LOOSELY 3.0   /* standard deviation of what is known of a logarithm before */
#define CHANGE_USUAL 0.5
#define SPEED_MIDDLE (-0.7) /* a local worker, if it is not like a remote one */
#define SPEED_USUAL 0.7
#define CROWDED_MIDDLE (-2.5) /* the same on a host that has next to nothing to spare */
#define CROWDED_USUAL 1.2
#define SIZE_FACTOR 1.2 /* a limit may be met at so many times the workers that are possible */
#define LOG_SQRT_2PI 0.9189
#define CONTENTION_SPREAD 0.6
#define CONTENTION_LEAST 1e-6
#define CHANGED_BY 1e-4 /* a small change of a parameter, for a derivative */

struct equations { /* H x = g; only parameters that the fit has */
    double h[CW_SCALE_PARAMETERS][CW_SCALE_PARAMETERS], g[CW_SCALE_PARAMETERS];
};

static bool has(const struct cw_scale_fit *f, enum cw_scale_parameter p)
{
    return f->has & (1u << p);
}

static double congestion_of(const struct cw_scale_fit *f)
{
    return has(f, CW_SCALE_PEAK) ? exp(-2 * f->v[CW_SCALE_PEAK]) : 0;
}

static double divisor(const struct cw_scale_fit *f, double n)
{
    double a = has(f, CW_SCALE_CONTENTION) ? f->v[CW_SCALE_CONTENTION] : 0;
    return 1 + (a + congestion_of(f) * n) * fmax(n - 1, 0);
}

double cw_scale_fit_count(const struct cw_scale_fit *f, double workers, double local)
{
    double speed = has(f, CW_SCALE_SPEED) ? exp(f->v[CW_SCALE_SPEED]) : 1;
    return workers + speed * (f->shared ? fmin(local, 1) : local);
}

static double count(const struct cw_scale_fit *f, const struct cw_scale_seen *o)
{
    return cw_scale_fit_count(f, o->workers, o->local);
}

static double curve(const struct cw_scale_fit *f, double n)
{
    return f->v[CW_SCALE_RATE] + log(n / divisor(f, n));
}

static bool is_limited(const struct cw_scale_fit *f, const struct cw_scale_seen *o)
{
    double last = o->before ? cw_scale_fit_count(f, f->last_before, f->last_before_local)
                            : cw_scale_fit_count(f, f->last, f->last_local);
    return o->sight != CW_SCALE_SEES_CURVE && count(f, o) > last;
}

/* Returns observed less expected. */
static double error_of(const struct cw_scale_fit *f, const struct cw_scale_seen *o)
{
    if (o->sight == CW_SCALE_SEES_DEMAND)
        return o->value - f->v[CW_SCALE_DEMAND];
    if (o->sight == CW_SCALE_SEES_USED)
        return o->value - f->v[CW_SCALE_DEMAND] + curve(f, count(f, o));
    double change = has(f, CW_SCALE_CHANGE) && o->before ? -f->v[CW_SCALE_CHANGE] : 0;
    double could = curve(f, count(f, o)) + (f->ceiling_changed ? 0 : change), expected = could;
    if (has(f, CW_SCALE_CEILING) && o->sight != CW_SCALE_SEES_CURVE &&
        !(o->before && isinf(f->last_before)))
        expected = fmin(expected, f->v[CW_SCALE_CEILING] + (f->ceiling_changed ? change : 0));
    if (o->sight == CW_SCALE_SEES_SHARE)
        expected -= f->v[CW_SCALE_DEMAND];
    if (o->sight == CW_SCALE_SEES_FREE)
        expected -= could;
    double off = o->value - expected;
    return o->at_least ? fmax(off, 0) : o->at_most ? fmin(off, 0) : off;
}

/* Adds the slopes of the curve, times a sign. */
static void add_curve(const struct cw_scale_fit *f, const struct cw_scale_seen *o, double sign,
                      double d[CW_SCALE_PARAMETERS])
{
    double n = count(f, o), part = fmax(n - 1, 0) / divisor(f, n);
    d[CW_SCALE_RATE] += sign;
    d[CW_SCALE_CONTENTION] -= sign * part;
    d[CW_SCALE_PEAK] += sign * 2 * congestion_of(f) * n * part;
    d[CW_SCALE_SPEED] += sign * (1 - o->workers / n);
    d[CW_SCALE_CHANGE] -= o->before && !f->ceiling_changed ? sign : 0;
}

static void slopes(const struct cw_scale_fit *f, const struct cw_scale_seen *o,
                   double d[CW_SCALE_PARAMETERS])
{
    bool limited = is_limited(f, o);
    for (int p = 0; p < CW_SCALE_PARAMETERS; p++)
        d[p] = 0;
    d[CW_SCALE_DEMAND] = o->sight == CW_SCALE_SEES_DEMAND  ? 1
                         : o->sight == CW_SCALE_SEES_SHARE ? -1
                                                           : 0;
    if (o->sight == CW_SCALE_SEES_DEMAND)
        return;
    if (o->sight == CW_SCALE_SEES_USED) {
        d[CW_SCALE_DEMAND] = 1;
        add_curve(f, o, -1, d);
        return;
    }
    if (limited) {
        d[CW_SCALE_CEILING] = 1;
        d[CW_SCALE_CHANGE] = o->before && f->ceiling_changed ? -1 : 0;
    }
    if (!limited)
        add_curve(f, o, 1, d);
    if (o->sight == CW_SCALE_SEES_FREE)
        add_curve(f, o, -1, d);
}

static double speed_middle(const struct cw_scale_fit *f)
{
    return f->crowded ? CROWDED_MIDDLE : SPEED_MIDDLE;
}

/* Returns the weight of what was known before anything was seen. */
static double prior_weight(const struct cw_scale_fit *f, int p)
{
    double usual = p == CW_SCALE_CONTENTION ? f->usual * CONTENTION_SPREAD
                   : p == CW_SCALE_CHANGE   ? CHANGE_USUAL
                   : p == CW_SCALE_SPEED    ? (f->crowded ? CROWDED_USUAL : SPEED_USUAL)
                                            : LOOSELY;
    return p == CW_SCALE_RATE && f->guessed             ? 1
           : p == CW_SCALE_RATE || p == CW_SCALE_DEMAND ? 1e-6
                                                        : 1 / (usual * usual);
}

static double prior_middle(const struct cw_scale_fit *f, const struct cw_scale_sights *sights,
                           int p)
{
    return p == CW_SCALE_PEAK         ? log(fmax(sights->most, 2)) / 2
           : p == CW_SCALE_CONTENTION ? f->usual
           : p == CW_SCALE_SPEED      ? speed_middle(f)
                                      : 0;
}

static void set_equations(struct equations *e, const struct cw_scale_fit *f,
                          const struct cw_scale_sights *sights)
{
    double d[CW_SCALE_PARAMETERS], precise = 1 / (sights->noise * sights->noise);
    *e = (struct equations){0};
    for (int p = 0; p < CW_SCALE_PARAMETERS; p++) {
        bool loose = p == CW_SCALE_CEILING || p == CW_SCALE_RATE || p == CW_SCALE_DEMAND;
        e->h[p][p] = !has(f, (enum cw_scale_parameter)p) ? 1
                     : loose && !f->guessed              ? 1e-6
                                                         : prior_weight(f, p);
        if (has(f, (enum cw_scale_parameter)p) && !loose)
            e->g[p] = prior_weight(f, p) * (prior_middle(f, sights, p) - f->v[p]);
    }
    for (size_t i = 0; i < sights->n; i++) {
        const struct cw_scale_seen *o = &sights->seen[i];
        double off = error_of(f, o), weight = o->weight * precise;
        if ((o->at_least && off <= 0) || (o->at_most && off >= 0))
            continue;
        slopes(f, o, d);
        for (int p = 0; p < CW_SCALE_PARAMETERS; p++) {
            if (d[p] == 0 || !has(f, (enum cw_scale_parameter)p))
                continue;
            e->g[p] += weight * d[p] * off;
            for (int q = 0; q < CW_SCALE_PARAMETERS; q++)
                if (has(f, (enum cw_scale_parameter)q))
                    e->h[p][q] += weight * d[p] * d[q];
        }
    }
}

/* Replaces h by its Cholesky factor. */
static void factor(struct equations *e)
{
    for (int i = 0; i < CW_SCALE_PARAMETERS; i++)
        for (int j = 0; j <= i; j++) {
            double sum = e->h[i][j];
            for (int k = 0; k < j; k++)
                sum -= e->h[i][k] * e->h[j][k];
            e->h[i][j] = i == j ? sqrt(fmax(sum, 1e-9)) : sum / e->h[j][j];
        }
}

/* Solves L y = g, of the factor L. */
static void solve_down(const struct equations *e, double y[CW_SCALE_PARAMETERS])
{
    for (int i = 0; i < CW_SCALE_PARAMETERS; i++) {
        for (int k = 0; k < i; k++)
            y[i] -= e->h[i][k] * y[k];
        y[i] /= e->h[i][i];
    }
}

static void solve_up(const struct equations *e, double y[CW_SCALE_PARAMETERS])
{
    for (int i = CW_SCALE_PARAMETERS; i-- > 0;) {
        for (int k = i + 1; k < CW_SCALE_PARAMETERS; k++)
            y[i] -= e->h[k][i] * y[k];
        y[i] /= e->h[i][i];
    }
}

static double misfit_of(const struct cw_scale_fit *f, const struct cw_scale_sights *sights)
{
    double misfit = 0;
    for (size_t i = 0; i < sights->n; i++) {
        double off = error_of(f, &sights->seen[i]);
        misfit += sights->seen[i].weight * off * off;
    }
    return misfit / (sights->noise * sights->noise);
}

/* What a step makes smaller: misfit, and distance from what was known before. */
static double distance(const struct cw_scale_fit *f, const struct cw_scale_sights *sights)
{
    double sum = misfit_of(f, sights);
    for (int p = CW_SCALE_CONTENTION; p < CW_SCALE_PARAMETERS; p++) {
        double off = f->v[p] - prior_middle(f, sights, p);
        sum += has(f, (enum cw_scale_parameter)p) ? prior_weight(f, p) * off * off : 0;
    }
    return sum;
}

static void move_by(struct cw_scale_fit *f, const double by[CW_SCALE_PARAMETERS])
{
    for (int p = 0; p < CW_SCALE_PARAMETERS; p++) {
        if (!has(f, (enum cw_scale_parameter)p))
            continue;
        bool bounded = p == CW_SCALE_PEAK || p == CW_SCALE_SPEED;
        f->v[p] += bounded ? fmax(fmin(by[p], STEP_MOST), -STEP_MOST) : by[p];
    }
    if (has(f, CW_SCALE_CONTENTION))
        f->v[CW_SCALE_CONTENTION] = fmax(f->v[CW_SCALE_CONTENTION], CONTENTION_LEAST);
}

/* What was seen as the most that there was pulls on one side only: a whole step may lead from one side
 * to the other and back, for ever. */
static void step(struct cw_scale_fit *f, const struct cw_scale_sights *sights)
{
    struct equations e;
    const struct cw_scale_fit from = *f;
    set_equations(&e, f, sights);
    factor(&e);
    solve_down(&e, e.g);
    solve_up(&e, e.g);
    move_by(f, e.g);
    for (int i = 0;
         i < HALVINGS && sights->one_sided && distance(f, sights) > distance(&from, sights); i++) {
        *f = from;
        for (int p = 0; p < CW_SCALE_PARAMETERS; p++)
            e.g[p] /= 2;
        move_by(f, e.g);
    }
}

static bool is_part(const struct cw_scale_seen *o)
{
    return o->sight == CW_SCALE_SEES_SHARE || o->sight == CW_SCALE_SEES_FREE ||
           o->sight == CW_SCALE_SEES_USED;
}

/* Determines whether something was seen of the rate, and of the ceiling; begins with their
 * means. */
static bool begin(struct cw_scale_fit *f, const struct cw_scale_sights *sights)
{
    double sum[CW_SCALE_PARAMETERS] = {0}, weight[CW_SCALE_PARAMETERS] = {0};
    for (size_t i = 0; i < sights->n; i++) {
        const struct cw_scale_seen *o = &sights->seen[i];
        if (o->at_least || is_part(o))
            continue;
        int p = o->sight == CW_SCALE_SEES_DEMAND ? CW_SCALE_DEMAND
                : is_limited(f, o)               ? CW_SCALE_CEILING
                                                 : CW_SCALE_RATE;
        double value =
            o->value - (p == CW_SCALE_RATE ? log(count(f, o) / divisor(f, count(f, o))) : 0);
        sum[p] += o->weight * value;
        weight[p] += o->weight;
    }
    if (weight[CW_SCALE_RATE] <= 0 && has(f, CW_SCALE_CEILING)) {
        double least = sights->most;
        for (size_t i = 0; i < sights->n; i++)
            if (is_limited(f, &sights->seen[i]) && !sights->seen[i].before)
                least = fmin(least, count(f, &sights->seen[i]));
        weight[CW_SCALE_RATE] = 1;
        sum[CW_SCALE_RATE] = sum[CW_SCALE_CEILING] / weight[CW_SCALE_CEILING] - log(least) / 2;
        f->guessed = true;
        f->least = least;
    }
    for (int p = 0; p <= CW_SCALE_DEMAND; p++) {
        if (has(f, (enum cw_scale_parameter)p) && weight[p] <= 0)
            return false;
        f->v[p] = weight[p] > 0 ? sum[p] / weight[p] : (double)INFINITY;
    }
    f->v[CW_SCALE_CHANGE] = 0;
    return true;
}

/* Sets the values with which the search begins. Returns false if something that the explanation has
 * was not seen. */
static bool begin_at(struct cw_scale_fit *f, const struct cw_scale_sights *sights, double peak)
{
    f->v[CW_SCALE_CONTENTION] = has(f, CW_SCALE_CONTENTION) ? CONTENTION_LEAST : 0;
    f->v[CW_SCALE_PEAK] = peak;
    f->v[CW_SCALE_SPEED] = has(f, CW_SCALE_SPEED) ? speed_middle(f) : 0;
    return begin(f, sights);
}

/* Begins with the best of a few peaks. */
static bool begin_best(struct cw_scale_fit *f, const struct cw_scale_sights *sights)
{
    double least = (double)INFINITY, best = 0;
    for (int i = 0; has(f, CW_SCALE_PEAK) && i < PEAKS; i++) {
        double peak = log(2 * sights->most) * (i + 0.5) / PEAKS;
        double misfit = begin_at(f, sights, peak) ? misfit_of(f, sights) : least;
        if (misfit < least)
            least = misfit, best = peak;
    }
    return begin_at(f, sights, best);
}

/* How probable it is, before anything was seen, that a ceiling is met or a peak reached at so many
 * workers, per logarithm: half of it says that any size, half that any number is. */
static double density(double n, double most)
{
    return 0.5 / log(2 * SIZE_FACTOR * most) + 0.5 * fmin(n / (SIZE_FACTOR * most), 1);
}

/* How likely all of this is: that of the best values, times how exactly they had to be met. */
static double likelihood_of(const struct cw_scale_fit *f, const struct cw_scale_sights *sights)
{
    struct equations e;
    double sum = -f->misfit / 2;
    set_equations(&e, f, sights);
    factor(&e);
    for (int p = 0; p < CW_SCALE_PARAMETERS; p++) {
        if (!has(f, (enum cw_scale_parameter)p))
            continue;
        sum -= log(e.h[p][p]);
        if ((p == CW_SCALE_RATE && !f->guessed) || p == CW_SCALE_DEMAND)
            continue;
        if (p == CW_SCALE_CEILING || p == CW_SCALE_PEAK) {
            double at = f->v[p] - (p == CW_SCALE_CEILING ? f->v[CW_SCALE_RATE] : 0);
            sum += log(density(exp(at), sights->most)) + LOG_SQRT_2PI;
            continue;
        }
        double weight = prior_weight(f, p),
               off = p == CW_SCALE_RATE ? 0 : f->v[p] - prior_middle(f, sights, p);
        sum += log(weight) / 2 - weight * off * off / 2;
    }
    return sum;
}

/* Whether a ceiling that the explanation has is one that some number of workers met. */
static bool is_met(const struct cw_scale_fit *f, const struct cw_scale_sights *sights)
{
    bool met = !has(f, CW_SCALE_CEILING);
    for (size_t i = 0; i < sights->n && !met; i++) {
        const struct cw_scale_seen *o = &sights->seen[i];
        met = !o->at_least && o->sight == CW_SCALE_SEES_GIVEN && is_limited(f, o);
    }
    return met;
}

bool cw_scale_fit(struct cw_scale_fit *f, const struct cw_scale_sights *sights)
{
    bool linear = !has(f, CW_SCALE_CONTENTION) && !has(f, CW_SCALE_PEAK) && !has(f, CW_SCALE_SPEED);
    if (!begin_best(f, sights))
        return false;
    for (int i = 0; i < (linear ? STEPS_LINEAR : STEPS); i++)
        step(f, sights);
    f->misfit = misfit_of(f, sights);
    f->likelihood = likelihood_of(f, sights);
    return isfinite(f->likelihood) && is_met(f, sights);
}

void cw_scale_fit_vary(struct cw_scale_fit *f, const double sigmas[CW_SCALE_PARAMETERS])
{
    struct equations e;
    double d[CW_SCALE_PARAMETERS];
    set_equations(&e, f, f->sights);
    factor(&e);
    for (int p = 0; p < CW_SCALE_PARAMETERS; p++)
        d[p] = has(f, (enum cw_scale_parameter)p) ? sigmas[p] : 0;
    solve_up(&e, d);
    for (int p = 0; p < CW_SCALE_PARAMETERS; p++)
        f->v[p] += has(f, (enum cw_scale_parameter)p) ? d[p] : 0;
    if (has(f, CW_SCALE_CONTENTION))
        f->v[CW_SCALE_CONTENTION] = fmax(f->v[CW_SCALE_CONTENTION], CONTENTION_LEAST);
}

double cw_scale_fit_gives(const struct cw_scale_fit *f, double n)
{
    double gives = exp(f->v[CW_SCALE_RATE]) * n / divisor(f, n);
    if (has(f, CW_SCALE_CEILING))
        gives = fmin(gives, exp(f->v[CW_SCALE_CEILING]));
    return has(f, CW_SCALE_DEMAND) ? fmin(gives, exp(f->v[CW_SCALE_DEMAND])) : gives;
}

/* Returns the number of workers up to which more workers give more. */
static double peak_of(const struct cw_scale_fit *f, double most)
{
    double a = has(f, CW_SCALE_CONTENTION) ? f->v[CW_SCALE_CONTENTION] : 0;
    return has(f, CW_SCALE_PEAK) ? fmin(sqrt(fmax(1 - a, 0) / congestion_of(f)), most) : most;
}

static double knee_of(const struct cw_scale_fit *f, double most, double slack)
{
    double low = 0, peak = fmax(floor(peak_of(f, most)), 1), next = fmin(peak + 1, most);
    double high = cw_scale_fit_gives(f, next) > cw_scale_fit_gives(f, peak) ? next : peak;
    double best = cw_scale_fit_gives(f, high);
    for (int i = 0; i < 40; i++) {
        double middle = (low + high) / 2;
        *(cw_scale_fit_gives(f, middle) * (1 + slack) < best ? &low : &high) = middle;
    }
    return high;
}

void cw_scale_fit_find_knee(struct cw_scale_fit *f, const struct cw_scale_sights *sights,
                            double slack)
{
    struct equations e;
    double d[CW_SCALE_PARAMETERS] = {0}, variance = 0;
    set_equations(&e, f, sights);
    factor(&e);
    f->knee = knee_of(f, sights->most, slack);
    for (int p = 0; p <= CW_SCALE_PEAK; p++) {
        if (!has(f, (enum cw_scale_parameter)p))
            continue;
        struct cw_scale_fit other = *f;
        other.v[p] += CHANGED_BY;
        d[p] = log(knee_of(&other, sights->most, slack) / f->knee) / CHANGED_BY;
    }
    solve_down(&e, d);
    for (int p = 0; p < CW_SCALE_PARAMETERS; p++)
        variance += d[p] * d[p];
    f->error = sqrt(variance);
}
