/* SPDX-License-Identifier: Apache-2.0 */
#include "policies/replan.h"

#include <math.h>
#include <string.h>

#include "policies/standing.h"

#define LITTLE 0.02 /* a node that takes less of the time than this part does not refute a plan */

/* ---- what is measured against what the plan was made of ---- */

static bool is_off(double now, double basis)
{
    return cw_standing_side(&cw_standing_cost, now, basis) != 0;
}

/* The trainer's step counts where it was known already. */
static bool is_trainer_odd(const struct cw_replan *state, const struct cw_replan_view *view)
{
    return cw_standing_is_off(&cw_standing_cost, view->means.step_ns, state->means.step_ns);
}

static bool is_odd(const struct cw_replan *state, const struct cw_replan_view *view)
{
    if (is_trainer_odd(state, view))
        return true;
    for (size_t i = 0; i < CW_MIN(state->n, view->n); i++) {
        const struct cw_replan_node *now = &view->nodes[i], *basis = &state->basis[i];
        if (is_off(now->keep, basis->keep) ||
            (basis->bytes > 0 && is_off(now->bytes, basis->bytes)))
            return true;
        if (fmax(now->call_ns, basis->call_ns) > LITTLE * view->element_ns &&
            is_off(now->call_ns, basis->call_ns))
            return true;
    }
    return false;
}

/* ---- plans that are left alone ---- */

static struct cw_replan_barred *find(struct cw_replan *state, uint64_t order)
{
    for (size_t i = 0; i < state->barred_n; i++)
        if (state->barred[i].order == order)
            return &state->barred[i];
    return NULL;
}

/* Room for one more; the one that is free again first makes way. */
static struct cw_replan_barred *make_room(struct cw_replan *state)
{
    struct cw_replan_barred *first = &state->barred[0];
    if (state->barred_n < CW_REPLAN_BARRED_MAX)
        return &state->barred[state->barred_n++];
    for (size_t i = 1; i < state->barred_n; i++)
        if (state->barred[i].until < first->until)
            first = &state->barred[i];
    return first;
}

void cw_replan_bar(struct cw_replan *state, uint64_t order)
{
    struct cw_replan_barred *barred = find(state, order);
    if (!barred) {
        barred = make_room(state);
        *barred = (struct cw_replan_barred){.order = order};
    }
    barred->times++;
    barred->until =
        state->windows_n + (barred->times == 1 ? CW_REPLAN_BARRED_WINDOWS : CW_REPLAN_BARRED_AGAIN);
}

static bool is_barred(const struct cw_replan *state, uint64_t order)
{
    for (size_t i = 0; i < state->barred_n; i++)
        if (state->barred[i].order == order)
            return state->windows_n < state->barred[i].until;
    return false;
}

/* ---- windows ---- */

/* A change that has saved less than a refuted plan asks for has brought nothing. */
static void judge(struct cw_replan *state, const struct cw_replan_view *view)
{
    if (state->before_ns <= 0 || state->windows_n < state->judged_at)
        return;
    if (!cw_standing_yields(&cw_standing_cost, true, state->before_ns, view->element_ns)) {
        cw_replan_bar(state, state->order);
        state->is_refuted = true;
    }
    state->before_ns = 0;
}

static void learn_bytes(struct cw_replan *state, const struct cw_replan_view *view)
{
    for (size_t i = 0; i < CW_MIN(state->n, view->n); i++)
        if (state->basis[i].bytes <= 0)
            state->basis[i].bytes = view->nodes[i].bytes;
}

static void end_window(struct cw_replan *state, const struct cw_replan_view *view)
{
    state->window_s = view->now_s;
    state->windows_n++;
    if (!view->is_enough || !state->has_looked)
        return;
    learn_bytes(state, view);
    if (cw_standing_count(&cw_standing_cost, is_odd(state, view), &state->odd_n))
        state->is_refuted = true;
    judge(state, view);
}

static bool is_equal(double a, double b)
{
    return !(a < b) && !(b < a);
}

static bool have_means_changed(const struct cw_replan_means *now,
                               const struct cw_replan_means *then)
{
    return !is_equal(now->workers, then->workers) ||
           !is_equal(now->worker_price, then->worker_price) ||
           (now->room < 0) != (then->room < 0) || (now->room >= 0 && is_off(now->room, then->room));
}

static enum cw_replan_why why_now(const struct cw_replan *state, const struct cw_replan_view *view)
{
    bool is_long = view->now_s - state->began_s >= CW_REPLAN_FIRST_S;
    if (!view->is_enough)
        return CW_REPLAN_NOT;
    if (view->has_cache_moved)
        return CW_REPLAN_CACHE;
    if (!state->has_looked)
        return is_long || view->elements >= CW_REPLAN_FIRST_ELEMENTS ? CW_REPLAN_FIRST
                                                                     : CW_REPLAN_NOT;
    if (view->now_s - state->looked_s < CW_REPLAN_PAUSE_S)
        return CW_REPLAN_NOT;
    if (state->is_refuted)
        return CW_REPLAN_REFUTED;
    if (view->epoch != state->epoch)
        return CW_REPLAN_EPOCH;
    return have_means_changed(&view->means, &state->means) ? CW_REPLAN_MEANS : CW_REPLAN_NOT;
}

enum cw_replan_why cw_replan_look(struct cw_replan *state, const struct cw_replan_view *view)
{
    if (!state->has_begun) {
        if (view->elements <= 0)
            return CW_REPLAN_NOT;
        state->has_begun = true;
        state->began_s = state->window_s = view->now_s;
        state->epoch = view->epoch;
    }
    if (view->now_s - state->window_s >= view->window_s)
        end_window(state, view);
    enum cw_replan_why why = why_now(state, view);
    if (why != CW_REPLAN_NOT) {
        state->has_looked = true;
        state->looked_s = view->now_s;
        state->epoch = view->epoch;
        state->means = view->means;
    }
    return why;
}

/* ---- plans ---- */

bool cw_replan_takes(const struct cw_replan *state, uint64_t order, double now_ns, double then_ns)
{
    return !is_barred(state, order) &&
           cw_standing_yields(&cw_standing_cost, state->is_refuted, now_ns, then_ns);
}

static void set_basis(struct cw_replan *state, const struct cw_replan_node *basis, size_t n)
{
    state->n = n;
    memcpy(state->basis, basis, n * sizeof(*basis));
    for (size_t i = 0; i < n; i++)
        state->basis[i].bytes = 0;
    state->odd_n = 0;
    state->is_refuted = false;
}

void cw_replan_stays(struct cw_replan *state, const struct cw_replan_node *basis, size_t n)
{
    set_basis(state, basis, n);
}

void cw_replan_changed(struct cw_replan *state, const struct cw_replan_view *view, uint64_t order,
                       double before_ns, const struct cw_replan_node *basis, size_t n)
{
    set_basis(state, basis, n);
    state->has_looked = true;
    state->looked_s = state->window_s = view->now_s;
    state->means = view->means;
    state->order = order;
    state->before_ns = before_ns;
    state->judged_at = state->windows_n + cw_standing_cost.in_a_row;
}
