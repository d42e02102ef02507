/* SPDX-License-Identifier: Apache-2.0 */
/* When a running job's plan is made anew, and what is worth a change, on virtual time. */
#include "support/cm.h"

#include "policies/replan.h"

/* Time goes on in steps of 250 ms, with windows of 2 s, 100 elements a second. */
struct world {
    struct cw_replan state;
    struct cw_replan_view view;
};
static void begin(struct world *w)
{
    *w = (struct world){
        .view = {.window_s = 2,
                 .is_enough = true,
                 .element_ns = 1000,
                 .n = 2,
                 .nodes = {{.call_ns = 400, .keep = 0.5}, {.call_ns = 1200, .keep = 1}}}};
}

static enum cw_replan_why step(struct world *w)
{
    w->view.now_s += 0.25;
    w->view.elements += 25;
    return cw_replan_look(&w->state, &w->view);
}

/* Goes on until there is something to look at; returns how long that took, at most `most_s`. */
static double until(struct world *w, double most_s, enum cw_replan_why *ret_why)
{
    double begin_s = w->view.now_s;
    do
        *ret_why = step(w);
    while (*ret_why == CW_REPLAN_NOT && w->view.now_s - begin_s < most_s);
    return w->view.now_s - begin_s;
}

static void stays(struct world *w)
{
    cw_replan_stays(&w->state, w->view.nodes, w->view.n);
}

static void begin_looked(struct world *w)
{
    enum cw_replan_why why;
    begin(w);
    (void)until(w, 100, &why);
    assert_int_equal(why, CW_REPLAN_FIRST);
    stays(w);
}

static void first_look(void **state)
{
    (void)state;
    struct world w;
    enum cw_replan_why why;
    begin(&w);
    assert_true(until(&w, 100, &why) == 2.25 && why == CW_REPLAN_FIRST); /* 2 s after the first */
    begin(&w);
    (void)step(&w);
    w.view.elements = 1000;
    assert_true(until(&w, 100, &why) == 0.25 && why == CW_REPLAN_FIRST);
    begin(&w);
    w.view.is_enough = false;
    assert_true(until(&w, 60, &why) == 60 && why == CW_REPLAN_NOT);
    w.view.is_enough = true;
    assert_int_equal(step(&w), CW_REPLAN_FIRST);
}

static void nothing_changes(void **state)
{
    (void)state;
    struct world w;
    enum cw_replan_why why;
    begin_looked(&w);
    w.view.nodes[0].call_ns *= 1.15; /* not by so much */
    assert_true(until(&w, 3600, &why) == 3600 && why == CW_REPLAN_NOT);
}

static void an_epoch_ends(void **state)
{
    (void)state;
    struct world w;
    enum cw_replan_why why;
    begin_looked(&w);
    w.view.epoch++;
    assert_true(until(&w, 100, &why) == CW_REPLAN_PAUSE_S && why == CW_REPLAN_EPOCH);
    stays(&w);
    assert_true(until(&w, 100, &why) == 100 && why == CW_REPLAN_NOT);
}

static void costs_change(void **state)
{
    (void)state;
    struct world w;
    enum cw_replan_why why;
    begin_looked(&w);
    (void)until(&w, 20, &why);
    w.view.nodes[1].call_ns *= 1.25;
    double s = until(&w, 100, &why); /* three windows, of which one has begun */
    assert_true(s > 4 && s <= 6 && why == CW_REPLAN_REFUTED);
    assert_true(cw_replan_takes(&w.state, 1, 1000, 970));
    stays(&w);
    assert_true(until(&w, 100, &why) == 100 && why == CW_REPLAN_NOT);
    assert_false(cw_replan_takes(&w.state, 1, 1000, 970));
    w.view.nodes[0].keep = 0.3;
    assert_true(until(&w, 100, &why) <= 6 && why == CW_REPLAN_REFUTED);
}

static void two_odd_windows_are_not_enough(void **state)
{
    (void)state;
    struct world w;
    enum cw_replan_why why;
    begin_looked(&w);
    for (unsigned i = 0; i < 20; i++) {
        w.view.nodes[1].call_ns = 2400;
        (void)until(&w, 4, &why);
        assert_int_equal(why, CW_REPLAN_NOT);
        w.view.nodes[1].call_ns = 1200;
        (void)until(&w, 2, &why);
        assert_int_equal(why, CW_REPLAN_NOT);
    }
}

/* What takes next to nothing refutes no plan. */
static void little_nodes(void **state)
{
    (void)state;
    struct world w;
    enum cw_replan_why why;
    begin_looked(&w);
    w.view.nodes[1].call_ns = 1;
    stays(&w);
    w.view.nodes[1].call_ns = 19;
    (void)until(&w, 100, &why);
    assert_int_equal(why, CW_REPLAN_NOT);
}

/* Bytes are those that were measured first by the plan. */
static void bytes_change(void **state)
{
    (void)state;
    struct world w;
    enum cw_replan_why why;
    begin_looked(&w);
    w.view.nodes[0].bytes = 1000;
    assert_true(until(&w, 100, &why) == 100 && why == CW_REPLAN_NOT);
    w.view.nodes[0].bytes = 1300;
    assert_true(until(&w, 100, &why) <= 6 && why == CW_REPLAN_REFUTED);
    stays(&w);
    assert_true(until(&w, 100, &why) == 100 && why == CW_REPLAN_NOT);
}

static void the_trainer_changes(void **state)
{
    (void)state;
    struct world w;
    enum cw_replan_why why;
    begin_looked(&w);
    w.view.means.step_ns = 1e6; /* it was not known before */
    assert_true(until(&w, 100, &why) == 100 && why == CW_REPLAN_NOT);
    w.state.means.step_ns = 1e6;
    w.view.means.step_ns = 0.7e6;
    assert_true(until(&w, 100, &why) <= 6 && why == CW_REPLAN_REFUTED);
}

static void workers_room_and_prices_change(void **state)
{
    (void)state;
    struct world w;
    enum cw_replan_why why;
    begin_looked(&w);
    w.view.means.workers = 3;
    assert_true(until(&w, 100, &why) == CW_REPLAN_PAUSE_S && why == CW_REPLAN_MEANS);
    stays(&w);
    w.view.means.room = 1e9;
    assert_true(until(&w, 100, &why) == CW_REPLAN_PAUSE_S && why == CW_REPLAN_MEANS);
    stays(&w);
    w.view.means.room = 0.9e9;
    assert_true(until(&w, 100, &why) == 100 && why == CW_REPLAN_NOT);
    w.view.means.room = -1; /* no limit any more */
    assert_true(step(&w) == CW_REPLAN_MEANS);
    stays(&w);
    w.view.means.worker_price = 0.2;
    assert_true(until(&w, 100, &why) == CW_REPLAN_PAUSE_S && why == CW_REPLAN_MEANS);
    stays(&w);
    assert_true(until(&w, 100, &why) == 100 && why == CW_REPLAN_NOT);
}

static void what_is_cached(void **state)
{
    (void)state;
    struct world w;
    begin_looked(&w);
    w.view.has_cache_moved = true;
    assert_int_equal(step(&w), CW_REPLAN_CACHE); /* without a pause */
}

static void gains(void **state)
{
    (void)state;
    struct world w;
    begin_looked(&w);
    assert_true(cw_replan_takes(&w.state, 7, 1000, 899));
    assert_false(cw_replan_takes(&w.state, 7, 1000, 900));
    w.state.is_refuted = true;
    assert_true(cw_replan_takes(&w.state, 7, 1000, 979));
    assert_false(cw_replan_takes(&w.state, 7, 1000, 980));
}

/* A change that is judged by what was measured three windows later. */
static void change(struct world *w, double then_ns, enum cw_replan_why *ret_why)
{
    cw_replan_changed(&w->state, &w->view, 7, w->view.element_ns, w->view.nodes, w->view.n);
    w->view.element_ns = then_ns;
    (void)until(w, 30, ret_why);
}

static void a_change_brings_what_it_should(void **state)
{
    (void)state;
    struct world w;
    enum cw_replan_why why;
    begin_looked(&w);
    change(&w, 500, &why);
    assert_int_equal(why, CW_REPLAN_NOT);
    assert_true(cw_replan_takes(&w.state, 7, 1000, 500));
}

static double barred_s(struct world *w, uint64_t order)
{
    double begin_s = w->view.now_s;
    while (!cw_replan_takes(&w->state, order, 1000, 500) && w->view.now_s - begin_s < 1000) {
        (void)step(w);
    }
    return w->view.now_s - begin_s;
}

static void a_change_brings_nothing(void **state)
{
    (void)state;
    struct world w;
    enum cw_replan_why why;
    begin_looked(&w);
    change(&w, 990, &why);
    assert_int_equal(why, CW_REPLAN_REFUTED); /* after the pause, so 2 % are enough to go back */
    assert_false(cw_replan_takes(&w.state, 7, 1000, 500));
    assert_true(cw_replan_takes(&w.state, 8, 1000, 975));
    stays(&w);
    double once = barred_s(&w, 7);
    assert_true(once > 50 && once <= 60); /* 30 windows since it was judged */
    change(&w, w.view.element_ns, &why);
    assert_int_equal(why, CW_REPLAN_REFUTED);
    stays(&w);
    double twice = barred_s(&w, 7);
    assert_true(twice > 110 && twice <= 120);
}

/* Only so many plans are remembered: the one that is free first makes way. */
static void many_are_barred(void **state)
{
    (void)state;
    struct world w;
    begin_looked(&w);
    for (uint64_t order = 1; order <= CW_REPLAN_BARRED_MAX + 1; order++) {
        cw_replan_bar(&w.state, order);
        for (unsigned i = 0; i < 8; i++)
            (void)step(&w);
    }
    assert_true(cw_replan_takes(&w.state, 1, 1000, 500));
    for (uint64_t order = 2; order <= CW_REPLAN_BARRED_MAX + 1; order++)
        assert_false(cw_replan_takes(&w.state, order, 1000, 500));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(first_look),
        cmocka_unit_test(nothing_changes),
        cmocka_unit_test(an_epoch_ends),
        cmocka_unit_test(costs_change),
        cmocka_unit_test(two_odd_windows_are_not_enough),
        cmocka_unit_test(little_nodes),
        cmocka_unit_test(bytes_change),
        cmocka_unit_test(the_trainer_changes),
        cmocka_unit_test(workers_room_and_prices_change),
        cmocka_unit_test(what_is_cached),
        cmocka_unit_test(gains),
        cmocka_unit_test(a_change_brings_what_it_should),
        cmocka_unit_test(a_change_brings_nothing),
        cmocka_unit_test(many_are_barred),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
