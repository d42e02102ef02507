/* SPDX-License-Identifier: Apache-2.0 */
/* The simulation of simulate.h: a heap of next events, and formulas for the time between two
 * events. */
#include "policies/simulate.h"

#include <math.h>

#include "base/hash.h"
#include "base/mem.h"
#include "policies/simulate_job.h"

#define NEVER ((double)INFINITY)
#define NEARLY 1e-6 /* a difference of batches or seconds that rounding may cause */
#define TRACE_MAX 4096
#define STALL_SHOWN 0.02

struct run { /* a job that is running */
    const struct cw_sim_job_spec *spec;
    struct cw_sim_job *out;
    struct cw_scale_state state;
    bool arrived, done;
    double now_s;                       /* the time for which its numbers are valid */
    double remote, local;               /* workers that serve it now */
    double target_remote, target_local; /* the numbers that the policy wants */
    double most;                        /* how many of them it may have now; 0: all */
    double granted;                     /* how many of target_remote it gets by the fair share */
    double ready_s; /* when the granted workers begin to serve; NEVER: they serve already */
    double epoch_left, epochs_left, epoch_begin_s;
    /* The fields below are those of the present window. */
    double begin_s; /* when its workers began to serve, or the window before was full */
    double discard_left;
    struct cw_sim_sums sums;
    double next_s;
    size_t heap; /* its place in the heap */
};
struct sim {
    const struct cw_sim_scenario *scenario;
    struct cw_sim_result *result;
    struct run *runs, **heap;
    size_t heap_n;
    double now_s;
    struct cw_share_job *share_jobs;
    double *shares;
};

/* ---- the heap of next events ---- */

static void place(struct sim *sim, size_t at, struct run *run)
{
    sim->heap[at] = run;
    run->heap = at;
}

static void sift(struct sim *sim, size_t at)
{
    struct run *run = sim->heap[at];
    for (; at > 0 && sim->heap[(at - 1) / 2]->next_s > run->next_s; at = (at - 1) / 2)
        place(sim, at, sim->heap[(at - 1) / 2]);
    for (size_t child; (child = 2 * at + 1) < sim->heap_n; at = child) {
        if (child + 1 < sim->heap_n && sim->heap[child + 1]->next_s < sim->heap[child]->next_s)
            child++;
        if (sim->heap[child]->next_s >= run->next_s)
            break;
        place(sim, at, sim->heap[child]);
    }
    place(sim, at, run);
}

/* ---- a job between two events ---- */

static struct cw_sim_now now_of(const struct run *r)
{
    return (struct cw_sim_now){r->spec, r->now_s - r->spec->arrive_s, r->remote, r->local};
}

static double rate_of(const struct run *r)
{
    const struct cw_sim_now now = now_of(r);
    return cw_sim_rate(&now);
}

static double step_of(const struct run *r)
{
    const struct cw_sim_now now = now_of(r);
    return cw_sim_step(&now);
}

static void advance(struct run *r, double to_s)
{
    double dt = to_s - r->now_s, rate = rate_of(r), did = rate * dt,
           wait_share = 1 - rate * step_of(r), wait = wait_share * dt;
    r->now_s = to_s;
    if (dt <= 0)
        return;
    r->epoch_left -= did;
    r->out->batches += did;
    r->out->busy_s += dt;
    r->out->wait_s += wait;
    r->out->remote_s += r->remote * dt;
    r->out->local_s += r->local * dt;
    if (wait_share > STALL_SHOWN)
        r->out->best_wait_at_s = to_s;
    double discarded = fmin(did, r->discard_left);
    r->discard_left -= discarded;
    if (did <= 0)
        return;
    double counted = (did - discarded) / did;
    r->sums.batches += did - discarded;
    r->sums.seconds += dt * counted;
    r->sums.wait_s += wait * counted;
}

static void trace(struct run *r)
{
    struct cw_sim_job *out = r->out;
    if (out->trace_n >= TRACE_MAX)
        return;
    CW_GROW(out->trace, out->trace_n, out->trace_cap);
    out->trace[out->trace_n++] =
        (struct cw_sim_point){r->now_s, r->remote, r->local, 1 - rate_of(r) * step_of(r)};
}

static void begin_window(const struct sim *sim, struct run *r)
{
    r->begin_s = r->now_s;
    r->discard_left = sim->scenario->discard_batches;
    r->sums = (struct cw_sim_sums){0};
}

/* Returns the length with which a window is full however few batches it has. */
static double starved_after(const struct sim *sim, const struct run *r)
{
    double before = cw_scale_given_before(&r->state, r->remote, r->local) / CW_SCALE_STARVED,
           more = before - rate_of(r);
    return more > 0 ? fmax(0.5 / more, sim->scenario->window_least_s) : NEVER;
}

static bool is_starved(const struct sim *sim, const struct run *r)
{
    return r->now_s - r->begin_s >= starved_after(sim, r) - NEARLY;
}

static bool window_is_full(const struct sim *sim, const struct run *r)
{
    return is_starved(sim, r) || (r->discard_left <= NEARLY &&
                                  r->sums.batches >= sim->scenario->window_batches - NEARLY &&
                                  r->sums.seconds >= sim->scenario->window_least_s - NEARLY);
}

static void schedule(struct sim *sim, struct run *r)
{
    const struct cw_sim_scenario *sc = sim->scenario;
    double next = r->ready_s, rate = rate_of(r);
    if (!r->arrived) {
        next = r->spec->arrive_s;
    } else if (!r->done) {
        next = fmin(next,
                    r->spec->arrive_s + cw_sim_next_change(r->spec, r->now_s - r->spec->arrive_s));
        if (rate > 0) {
            double window = fmax((r->discard_left + sc->window_batches - r->sums.batches) / rate,
                                 r->discard_left / rate + sc->window_least_s - r->sums.seconds);
            window = fmin(window, r->begin_s + starved_after(sim, r) - r->now_s);
            if (r->ready_s == NEVER) /* otherwise the workers are about to change */
                next = fmin(next, r->now_s + fmax(window, 0));
            next = fmin(next, r->now_s + fmax(r->epoch_left, 0) / rate);
        }
    }
    r->next_s = r->done ? NEVER : next;
    sift(sim, r->heap);
}

/* ---- the fleet ---- */

/* Grants a number of workers: if it is smaller, that is so at once; if it is larger, the new ones
 * serve after start_s. */
static void grant(struct sim *sim, struct run *r, double remote)
{
    if (remote == r->granted && r->local == r->target_local)
        return;
    advance(r, sim->now_s);
    r->granted = remote;
    if (remote <= r->remote && r->target_local <= r->local) {
        r->ready_s = sim->now_s;
    } else {
        r->remote = fmin(r->remote, remote);
        r->local = fmin(r->local, r->target_local);
        r->ready_s = sim->now_s + sim->scenario->start_s;
    }
    schedule(sim, r);
}

static double wish_of(const struct run *r)
{
    return r->most > 0 ? fmin(r->target_remote, r->most) : r->target_remote;
}

static void share(struct sim *sim)
{
    double wanted = 0;
    size_t n = sim->scenario->jobs_n;
    for (size_t j = 0; j < n; j++) {
        const struct run *r = &sim->runs[j];
        double wish = r->arrived && !r->done ? wish_of(r) : 0;
        sim->share_jobs[j] =
            (struct cw_share_job){.tenant = r->spec->tenant,
                                  .weight = r->spec->weight,
                                  .priority = r->spec->priority,
                                  .least = wish > 0 ? fmin(r->spec->least, wish) : 0,
                                  .want = wish};
        wanted += wish;
    }
    bool limited = wanted > sim->scenario->workers;
    for (size_t t = 0; t < sim->scenario->tenants_n; t++)
        limited = limited || sim->scenario->tenants[t].most > 0;
    if (limited)
        cw_share_out(sim->scenario->workers, sim->scenario->tenants, sim->scenario->tenants_n,
                     sim->share_jobs, n, sim->shares);
    for (size_t j = 0; j < n; j++)
        if (sim->runs[j].arrived && !sim->runs[j].done)
            grant(sim, &sim->runs[j], limited ? sim->shares[j] : sim->share_jobs[j].want);
}

/* ---- events of a job ---- */

/* Returns the number for the noise of the job's next window. */
static uint64_t draw_of(const struct sim *sim, const struct run *r)
{
    uint64_t job = cw_mix64(sim->scenario->seed + (uint64_t)(r - sim->runs) + 1);
    return cw_mix64(job + (uint64_t)r->out->windows);
}

static struct cw_scale_available available_to(const struct sim *sim, const struct run *r)
{
    const struct cw_sim_scenario *sc = sim->scenario;
    return (struct cw_scale_available){
        .remote = r->most > 0 ? fmin(r->most, sc->workers) : sc->workers,
        .local = sc->local,
        .granted = r->granted >= 0 && r->granted < wish_of(r) - NEARLY ? r->granted : 0};
}

static int ask(struct sim *sim, struct run *r, const struct cw_scale_window *window, bool *changed,
               struct cw_err *err)
{
    const struct cw_sim_scenario *sc = sim->scenario;
    const struct cw_scale_available available = available_to(sim, r);
    struct cw_scale_options options = sc->options;
    struct cw_policy_decision decision = {0};
    options.max_local = sc->local;
    int rc =
        sc->policy->decide(window, &available, &options, sc->argument, &r->state, &decision, err);
    *changed =
        rc == 0 && (decision.remote != r->target_remote || decision.local != r->target_local);
    if (*changed) {
        r->target_remote = decision.remote;
        r->target_local = fmin(decision.local, sc->local);
    }
    cw_policy_decision_fini(&decision);
    return rc;
}

static int decide(struct sim *sim, struct run *r, struct cw_err *err)
{
    const struct cw_sim_now now = now_of(r);
    bool changed, starved = is_starved(sim, r);
    if (starved) { /* it counts from its beginning, with the batches of before */
        double seconds = r->now_s - r->begin_s,
               batches = fmax(rate_of(r) * seconds, CW_SCALE_WAITED_FOR);
        r->sums = (struct cw_sim_sums){batches, seconds, seconds - batches * step_of(r)};
    }
    struct cw_scale_window window =
        cw_sim_window(&now, &r->sums, sim->scenario->noise, draw_of(sim, r));
    window.at_s = sim->now_s;
    if (starved) /* as dispatcher/scaling/scaling.c says */
        window.rate = window.batches / window.seconds / (window.remote + window.local);
    sim->result->windows++;
    r->out->windows++;
    int rc = ask(sim, r, &window, &changed, err);
    if (rc < 0)
        return rc;
    begin_window(sim, r);
    if (!changed)
        return 0;
    r->discard_left = 0; /* the change itself begins a new window */
    r->out->settled_window = r->out->windows;
    r->out->decisions++;
    share(sim);
    return 0;
}

/* Adopts the number of workers that it may have now. */
static bool follow_most(struct run *r)
{
    double most = cw_sim_series_at(&r->spec->mosts, r->now_s - r->spec->arrive_s, r->spec->most);
    bool changed = most != r->most;
    r->most = most;
    return changed;
}

/* Handles the arrival of a job, as the dispatcher does: a policy that needs no measurement decides
 * at once; and if there are only local workers, one of them begins. */
static int arrive(struct sim *sim, struct run *r, struct cw_err *err)
{
    const struct cw_scale_window none = {0};
    bool changed;
    r->arrived = true;
    r->now_s = r->epoch_begin_s = r->out->begin_s = sim->now_s;
    (void)follow_most(r);
    r->target_remote = fmax(r->spec->remote, 0);
    r->target_local = r->local = fmin(r->spec->local, sim->scenario->local);
    if (sim->scenario->workers < 1 && sim->scenario->policy->places)
        r->target_remote = 0, r->target_local = r->local = fmin(1, sim->scenario->local);
    int rc = sim->scenario->policy->at_once ? ask(sim, r, &none, &changed, err) : 0;
    begin_window(sim, r);
    share(sim);
    return rc;
}

static void end_epoch(struct sim *sim, struct run *r)
{
    r->out->last_epoch_s = sim->now_s - r->epoch_begin_s;
    r->epoch_begin_s = sim->now_s;
    r->epoch_left = r->spec->batches;
    if (r->spec->epochs > 0 && --r->epochs_left < 0.5) {
        r->done = true;
        r->out->end_s = sim->now_s;
        trace(r);
        share(sim);
    }
}

static int event(struct sim *sim, struct run *r, struct cw_err *err)
{
    if (!r->arrived)
        return arrive(sim, r, err);
    advance(r, sim->now_s);
    if (follow_most(r))
        share(sim);
    if (r->ready_s <= sim->now_s) {
        r->ready_s = NEVER;
        r->remote = r->granted;
        r->local = r->target_local;
        begin_window(sim, r);
        trace(r);
    }
    if (r->epoch_left <= NEARLY)
        end_epoch(sim, r);
    return !r->done && r->ready_s == NEVER && window_is_full(sim, r) ? decide(sim, r, err) : 0;
}

static void begin(struct sim *sim)
{
    const struct cw_sim_scenario *sc = sim->scenario;
    for (size_t j = 0; j < sc->jobs_n; j++) {
        struct run *r = &sim->runs[j];
        r->spec = &sc->jobs[j];
        r->out = &sim->result->jobs[j];
        r->out->end_s = -1;
        r->epoch_left = r->spec->batches;
        r->epochs_left = r->spec->epochs;
        r->ready_s = NEVER;
        r->granted = -1;
        r->next_s = r->spec->arrive_s;
        place(sim, sim->heap_n++, r);
        sift(sim, r->heap);
    }
}

/* Refuses a job that has no worker when nothing will ever happen any more: it has none by its policy,
 * or the fleet has none for it. */
static int check_stuck(const struct sim *sim, struct cw_err *err)
{
    bool over = sim->scenario->jobs_n > 0 && sim->heap[0]->next_s == NEVER;
    for (size_t j = 0; j < sim->scenario->jobs_n; j++) {
        const struct run *r = &sim->runs[j];
        bool none =
            wish_of(r) + r->target_local < NEARLY || (over && r->remote + r->local < NEARLY);
        if (r->arrived && !r->done && r->next_s == NEVER && none)
            return cw_err_set(err, CW_E_INVALID, "job %zu (%s) has no worker and would get none", j,
                              r->spec->name);
    }
    return 0;
}

/* Notes what jobs are at mark_s, when the next event is after it. */
static void mark(const struct sim *sim)
{
    for (size_t j = 0; j < sim->scenario->jobs_n; j++) {
        struct cw_sim_job *out = sim->runs[j].out;
        out->mark = (struct cw_sim_mark){.windows = out->windows,
                                         .settled_window = out->settled_window,
                                         .remote = sim->runs[j].remote,
                                         .local = sim->runs[j].local,
                                         .decisions = out->decisions};
    }
}

static void end(struct sim *sim)
{
    for (size_t j = 0; j < sim->scenario->jobs_n; j++) {
        struct run *r = &sim->runs[j];
        if (r->arrived && !r->done)
            advance(r, sim->now_s);
        r->out->remote = r->remote;
        r->out->local = r->local;
    }
    sim->result->end_s = sim->now_s;
}

int cw_simulate(const struct cw_sim_scenario *scenario, struct cw_sim_result *ret_result,
                struct cw_err *err)
{
    struct sim sim = {.scenario = scenario, .result = ret_result};
    size_t n = scenario->jobs_n;
    sim.runs = CW_NEW_ARRAY(struct run, n + 1);
    sim.heap = CW_NEW_ARRAY(struct run *, n + 1);
    sim.share_jobs = CW_NEW_ARRAY(struct cw_share_job, n + 1);
    sim.shares = CW_NEW_ARRAY(double, n + 1);
    *ret_result =
        (struct cw_sim_result){.jobs = CW_NEW_ARRAY(struct cw_sim_job, n + 1), .jobs_n = n};
    begin(&sim);
    int rc = 0;
    while (rc == 0 && n > 0 && sim.heap[0]->next_s < NEVER &&
           (scenario->until_s <= 0 || sim.heap[0]->next_s <= scenario->until_s)) {
        struct run *r = sim.heap[0];
        if (sim.now_s <= scenario->mark_s && r->next_s > scenario->mark_s)
            mark(&sim);
        sim.now_s = fmax(r->next_s, sim.now_s);
        rc = event(&sim, r, err);
        schedule(&sim, r);
        if (scenario->progress)
            scenario->progress(scenario->progress_arg, sim.now_s, ret_result);
    }
    rc = rc == 0 ? check_stuck(&sim, err) : rc;
    if (scenario->until_s > 0)
        sim.now_s = scenario->until_s;
    end(&sim);
    cw_mem_free(sim.runs);
    cw_mem_free(sim.heap);
    cw_mem_free(sim.share_jobs);
    cw_mem_free(sim.shares);
    return rc < 0 ? rc : 0;
}

void cw_sim_result_fini(struct cw_sim_result *result)
{
    for (size_t j = 0; j < result->jobs_n; j++)
        cw_mem_free(result->jobs[j].trace);
    cw_mem_free(result->jobs);
    *result = (struct cw_sim_result){0};
}
