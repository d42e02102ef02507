/* SPDX-License-Identifier: Apache-2.0 */
/* See server_world.h. */
#include "server_world.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/rng.h"
#include "kube/field.h"
#include "support/cm.h"

struct server_world w;
const struct cw_kube_kind leases = {"coordination.k8s.io", "v1", "leases"};
static const struct cw_kube_kind namespaces = {"", "v1", "namespaces"};

static void start_fake(void)
{
    static const char *const argv[] = {API_SERVER, "--open", NULL};
    char line[256] = "";
    struct cw_err err = {0};
    assert_int_equal(cw_child_start(&w.server, argv, NULL, 0, &err), CW_OK);
    assert_int_equal(cw_child_read_line(&w.server, 60000, line, sizeof(line), &err), CW_OK);
    assert_true(cw_str_starts(line, "ready http://"));
    w.config.server = cw_mem_strdup(line + 6);
    w.config.name_space = cw_mem_strdup("default");
    snprintf(w.orders, sizeof(w.orders), "%s", w.config.server);
}

void on_answer(void *arg, struct cw_kube_answer *answer)
{
    const char *version = cw_kube_text(answer->object, "metadata.resourceVersion");
    const char *uid = cw_kube_text(answer->object, "metadata.uid");
    (void)arg;
    w.code = answer->code;
    w.http = answer->status.http;
    w.reason = answer->status.reason;
    snprintf(w.version, sizeof(w.version), "%s", version ? version : "");
    snprintf(w.uid, sizeof(w.uid), "%s", uid ? uid : "");
    snprintf(w.err, sizeof(w.err), "%s", answer->err->msg);
    cw_loop_stop(w.loop);
}

void server_run(const struct cw_kube_call *call)
{
    assert_non_null(call);
    cw_loop_run(w.loop);
}

void expect(int code)
{
    if (w.code != code)
        fail_msg("%d is not %d: %s", w.code, code, w.err);
}

struct cw_kube_target target(const char *name)
{
    return (struct cw_kube_target){&leases, w.name_space, name, NULL};
}

void make(const char *name, const char *holder)
{
    const struct cw_kube_target all = target(NULL);
    cw_autofree char *body = cw_mem_printf(
        "{\"apiVersion\":\"coordination.k8s.io/v1\",\"kind\":\"Lease\",\"metadata\":{"
        "\"name\":\"%s\",\"labels\":{\"holder\":\"%s\"}},\"spec\":{\"holderIdentity\":"
        "\"%s\"}}",
        name, holder, holder);
    server_run(cw_kube_create(w.kube, &all, body, on_answer, NULL));
}

static void on_pause(void *arg)
{
    (void)arg;
    cw_loop_stop(w.loop);
}

void server_pause(int64_t ms)
{
    cw_timer_start(w.pause, ms, 0);
    cw_loop_run(w.loop);
}

void server_order(const char *name, const char *body)
{
    cw_autofree char *url = cw_mem_printf("%s/fake/%s", w.orders, name);
    const char *const argv[] = {"/usr/bin/curl", "-sf", "-d", body, url, NULL};
    struct cw_child curl = {0};
    struct cw_err err = {0};
    assert_int_equal(cw_child_start(&curl, argv, NULL, 0, &err), CW_OK);
    assert_int_equal(cw_child_stop(&curl, 60000), 0);
}

int server_begin(void **state)
{
    const char *file = getenv("CACHEW_TEST_KUBECONFIG");
    const char *orders = getenv("CACHEW_TEST_ORDERS");
    const struct cw_kube_options options = {.program = "test"};
    const struct cw_kube_target all = {&namespaces, NULL, NULL, NULL};
    struct cw_err err = {0};

    (void)state;
    if (file && cw_kube_config_load(file, NULL, &w.config, &err) != CW_OK)
        fail_msg("%s", err.msg);
    snprintf(w.orders, sizeof(w.orders), "%s", orders ? orders : "");
    if (!file)
        start_fake();
    w.loop = cw_loop_new();
    w.pause = cw_timer_new(w.loop, on_pause, NULL);
    assert_int_equal(cw_kube_new(w.loop, &w.config, &options, &w.kube, &err), CW_OK);
    snprintf(w.name_space, sizeof(w.name_space), "cachew-test-%012llx",
             (unsigned long long)(cw_rng_process_id() & 0xffffffffffff));
    cw_autofree char *body = cw_mem_printf("{\"metadata\":{\"name\":\"%s\"}}", w.name_space);
    server_run(cw_kube_create(w.kube, &all, body, on_answer, NULL));
    if (w.reason != CW_KUBE_NotFound) /* a server of custom resources has no namespaces */
        expect(CW_OK);
    return 0;
}

int server_end(void **state)
{
    const struct cw_kube_target mine = {&namespaces, NULL, w.name_space, NULL};
    (void)state;
    server_run(cw_kube_delete(w.kube, &mine, NULL, NULL, NULL, on_answer, NULL));
    cw_kube_free(w.kube);
    cw_timer_free(w.pause);
    cw_loop_free(w.loop);
    cw_kube_config_fini(&w.config);
    if (w.server.pid)
        cw_child_kill(&w.server, SIGTERM);
    (void)cw_child_stop(&w.server, 10000);
    return 0;
}
