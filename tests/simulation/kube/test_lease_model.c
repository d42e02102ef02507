/* SPDX-License-Identifier: Apache-2.0 */
/* Several that want to lead, in virtual time: they come, die, and give the Lease back; requests and
 * watches fail, and the server is away at times. Two never lead at once, and in the end one does. */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "fake_http.h"
#include "kube/kube_lease.h"
#include "sim.h"
#include "support/cm.h"

#define STEPS 2000
#define ONES 3
#define CALM_MS 60000 /* one leads after so long without faults */

int sim_program_main(void);

struct one {
    struct cw_kube *kube;
    struct cw_kube_lease *lease;
    bool leads, gone; /* gone: it has lost, or given back */
};
struct model {
    struct cw_loop *loop;
    struct fk_server *server;
    struct one ones[ONES];
    struct cw_timer *step;
    int steps, identities, taken, lost, released;
};
static struct model m;

static int leaders(void)
{
    int n = 0;
    for (int i = 0; i < ONES; i++)
        n += m.ones[i].lease && cw_kube_lease_holds(m.ones[i].lease);
    return n;
}

static void on_taken(void *arg)
{
    struct one *one = arg;
    assert_false(one->leads || one->gone);
    one->leads = true;
    m.taken++;
    assert_int_equal(leaders(), 1);
}

static void on_lost(void *arg, const struct cw_err *why)
{
    struct one *one = arg;
    assert_true(one->leads && why->msg[0]);
    one->leads = false;
    one->gone = true;
    m.lost++;
}

static void on_released(void *arg)
{
    struct one *one = arg;
    one->gone = true;
    m.released++;
}

static void join(struct one *one)
{
    struct cw_kube_config config = {.server = (char[]){"http://api"},
                                    .name_space = (char[]){"ns0"}};
    const struct cw_kube_options kube = {.program = "test"};
    cw_autofree char *identity = cw_mem_printf("one-%d", ++m.identities);
    const struct cw_kube_lease_options options = {.name = "leader", .identity = identity};
    const struct cw_kube_lease_events events = {on_taken, on_lost, NULL, NULL, one};
    *one = (struct one){0};
    assert_int_equal(cw_kube_new(m.loop, &config, &kube, &one->kube, NULL), CW_OK);
    assert_int_equal(cw_kube_lease_new(one->kube, &options, &events, &one->lease, NULL), CW_OK);
}

static void leave(struct one *one)
{
    cw_kube_lease_free(one->lease);
    cw_kube_free(one->kube);
    *one = (struct one){0};
}

static void change(struct one *one)
{
    if (!one->lease) {
        join(one);
    } else if (one->gone || sim_one_in(4)) {
        leave(one); /* dies */
    } else if (sim_one_in(3)) {
        one->leads = false;
        cw_kube_lease_release(one->lease, on_released, one);
        one->gone = true;
    }
}

static void calm_down(void)
{
    fake_http_set_away(false);
    fk_server_set_fault_rate(m.server, 0);
    for (int i = 0; i < ONES; i++) {
        if (m.ones[i].gone)
            leave(&m.ones[i]);
        if (!m.ones[i].lease)
            join(&m.ones[i]);
    }
}

static void on_step(void *arg)
{
    (void)arg;
    assert_true(leaders() <= 1);
    if (m.steps > STEPS) {
        assert_int_equal(leaders(), 1);
        cw_loop_stop(m.loop);
    } else if (m.steps == STEPS) {
        calm_down();
        cw_timer_start(m.step, CALM_MS, 0);
    } else {
        if (sim_one_in(20))
            change(&m.ones[sim_below(ONES)]);
        if (sim_one_in(60))
            fake_http_set_away(sim_one_in(2));
        cw_timer_start(m.step, sim_between(1, 3000), 0);
    }
    m.steps++;
    fake_http_settle();
}

static void make_namespace(void)
{
    static const char body[] = "{\"metadata\":{\"name\":\"ns0\"}}";
    struct fk_answer answer = {0};
    const struct fk_request request = {.method = "POST",
                                       .path = "/api/v1/namespaces",
                                       .content_type = "application/json",
                                       .body = body,
                                       .body_n = sizeof(body) - 1};
    fk_server_handle(m.server, cw_clock_ms(), &request, &answer);
    assert_int_equal(answer.status, 201);
    fk_answer_fini(&answer);
}

static void two_never_lead(void **state)
{
    const struct fk_options options = {.seed = sim_random(), .wall_ms = cw_clock_wall_ms()};

    (void)state;
    m.loop = cw_loop_new();
    m.server = fk_server_new(&options);
    fk_server_open_to_all(m.server);
    make_namespace();
    fk_server_set_fault_rate(m.server, 0.1);
    fake_http_begin(m.loop, m.server, sim_between(0, 1000));
    for (int i = 0; i < ONES; i++)
        join(&m.ones[i]);
    m.step = cw_timer_new(m.loop, on_step, NULL);
    cw_timer_start(m.step, 0, 0);
    cw_loop_run(m.loop);
    assert_true(m.taken > 5);
    for (int i = 0; i < ONES; i++)
        leave(&m.ones[i]);
    cw_timer_free(m.step);
    fake_http_end();
    fk_server_free(m.server);
    cw_loop_free(m.loop);
}

int sim_program_main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_never_lead),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
