/* SPDX-License-Identifier: Apache-2.0 */
/* Who may fetch from a worker by its certificate, and of whom. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "worker/serve/fetch_gate.h"

#define FETCH "/cachew.v1.Data/Fetch"

static struct cw_worker_state worker; /* without TLS rules of its own */

static void *ask(const char *name, const char *method, const char **ret_why)
{
    const char *const names[] = {name};
    const struct cw_gate_question question = {.method = method,
                                              .peer = "ipv4:192.0.2.1:1",
                                              .tls = true,
                                              .names = names,
                                              .names_n = name ? 1 : 0};
    void *caller = NULL;
    *ret_why = NULL;
    enum cw_gate answer = cw_wclients_gate(&worker, &question, &caller, ret_why);
    assert_int_equal(answer, caller ? CW_GATE_PASS : CW_GATE_DENY);
    return caller;
}

static void test_roles(void **state)
{
    const char *why;
    (void)state;
    static const char *const strangers[] = {"cachew-worker", "cachew-dispatcher", "x.example",
                                            NULL};
    for (size_t i = 0; i < 4; i++) {
        assert_null(ask(strangers[i], FETCH, &why));
        assert_non_null(strstr(why, "the role client is missing (TENANT.cachew-client"));
        assert_non_null(strstr(why, strangers[i] ? strangers[i] : "no DNS name"));
        void *caller = ask(strangers[i], "/grpc.health.v1.Health/Check", &why);
        assert_non_null(caller);
        cw_mem_free(caller);
    }
}

static void test_tenants(void **state)
{
    const char *why;
    (void)state;
    void *vision = ask("vision.cachew-client", FETCH, &why),
         *admin = ask("cachew-admin", FETCH, &why),
         *other = ask("default.cachew-client", FETCH, &why);
    assert_true(cw_wclients_is_of_tenant(vision, "vision"));
    assert_false(cw_wclients_is_of_tenant(vision, "audio"));
    assert_false(cw_wclients_is_of_tenant(vision, ""));
    assert_false(cw_wclients_is_of_tenant(vision, NULL));
    assert_true(cw_wclients_is_of_tenant(other, ""));
    assert_true(cw_wclients_is_of_tenant(other, NULL));
    assert_true(cw_wclients_is_of_tenant(admin, "audio"));
    assert_true(cw_wclients_is_of_tenant(NULL, "audio")); /* no TLS */
    cw_mem_free(vision);
    cw_mem_free(admin);
    cw_mem_free(other);
}

int main(void)
{
    struct cw_loop *loop = cw_loop_new();
    worker.rpc = cw_rpc_new(loop);
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_roles),
                                       cmocka_unit_test(test_tenants)};
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    cw_rpc_free(worker.rpc);
    cw_loop_free(loop);
    return failed;
}
