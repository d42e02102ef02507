/* SPDX-License-Identifier: Apache-2.0 */
/* The client against a whole server over HTTP: the fake one, or the one that CACHEW_TEST_KUBECONFIG
 * names, in a namespace of its own. It uses Leases, which a server of custom resources may have as
 * well, and Events where there are any. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/rng.h"
#include "kube/field.h"
#include "kube/kube.h"
#include "kube/kube_events.h"
#include "kube/kube_lease.h"
#include "kube/kube_list.h"
#include "kube/kube_watch.h"
#include "loop/child.h"
#include "support/cm.h"

static const struct cw_kube_kind leases = {"coordination.k8s.io", "v1", "leases"};
static const struct cw_kube_kind events_kind = {"events.k8s.io", "v1", "events"};
static const struct cw_kube_kind namespaces = {"", "v1", "namespaces"};

struct world {
    struct cw_child server;
    struct cw_kube_config config;
    struct cw_loop *loop;
    struct cw_kube *kube;
    char name_space[64];
    /* the last answer */
    int code;
    enum cw_kube_reason reason;
    char version[64], uid[64], err[1024];
    /* what was told */
    struct cw_str told;
    const char *until;
    size_t items;
};
static struct world w;

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
}

static void on_answer(void *arg, struct cw_kube_answer *answer)
{
    const char *version = cw_kube_text(answer->object, "metadata.resourceVersion");
    const char *uid = cw_kube_text(answer->object, "metadata.uid");
    (void)arg;
    w.code = answer->code;
    w.reason = answer->status.reason;
    snprintf(w.version, sizeof(w.version), "%s", version ? version : "");
    snprintf(w.uid, sizeof(w.uid), "%s", uid ? uid : "");
    snprintf(w.err, sizeof(w.err), "%s", answer->err->msg);
    cw_loop_stop(w.loop);
}

/* Waits for the answer of a call. */
static void run(const struct cw_kube_call *call)
{
    assert_non_null(call);
    cw_loop_run(w.loop);
}

static void expect(int code)
{
    if (w.code != code)
        fail_msg("%d is not %d: %s", w.code, code, w.err);
}

static struct cw_kube_target target(const char *name)
{
    return (struct cw_kube_target){&leases, w.name_space, name, NULL};
}

static void make(const char *name, const char *holder)
{
    const struct cw_kube_target all = target(NULL);
    cw_autofree char *body = cw_mem_printf(
        "{\"apiVersion\":\"coordination.k8s.io/v1\",\"kind\":\"Lease\",\"metadata\":{"
        "\"name\":\"%s\",\"labels\":{\"holder\":\"%s\"}},\"spec\":{\"holderIdentity\":"
        "\"%s\"}}",
        name, holder, holder);
    run(cw_kube_create(w.kube, &all, body, on_answer, NULL));
}

static int begin(void **state)
{
    const char *file = getenv("CACHEW_TEST_KUBECONFIG");
    const struct cw_kube_options options = {.program = "test"};
    const struct cw_kube_target all = {&namespaces, NULL, NULL, NULL};
    struct cw_err err = {0};

    (void)state;
    if (file && cw_kube_config_load(file, NULL, &w.config, &err) != CW_OK)
        fail_msg("%s", err.msg);
    if (!file)
        start_fake();
    w.loop = cw_loop_new();
    assert_int_equal(cw_kube_new(w.loop, &w.config, &options, &w.kube, &err), CW_OK);
    snprintf(w.name_space, sizeof(w.name_space), "cachew-test-%012llx",
             (unsigned long long)(cw_rng_process_id() & 0xffffffffffff));
    cw_autofree char *body = cw_mem_printf("{\"metadata\":{\"name\":\"%s\"}}", w.name_space);
    run(cw_kube_create(w.kube, &all, body, on_answer, NULL));
    if (w.reason != CW_KUBE_NotFound) /* a server of custom resources has no namespaces */
        expect(CW_OK);
    return 0;
}

static int end(void **state)
{
    const struct cw_kube_target mine = {&namespaces, NULL, w.name_space, NULL};
    (void)state;
    run(cw_kube_delete(w.kube, &mine, NULL, NULL, NULL, on_answer, NULL));
    cw_kube_free(w.kube);
    cw_loop_free(w.loop);
    cw_kube_config_fini(&w.config);
    cw_str_fini(&w.told);
    if (w.server.pid)
        cw_child_kill(&w.server, SIGTERM);
    (void)cw_child_stop(&w.server, 10000);
    return 0;
}

static void writes(void **state)
{
    (void)state;
    const struct cw_kube_target one = target("one"), none = target("none");
    char version[64], body[256];
    make("one", "a");
    expect(CW_OK);
    assert_true(w.version[0] && w.uid[0]);
    snprintf(version, sizeof(version), "%s", w.version);
    make("one", "b");
    assert_int_equal(w.reason, CW_KUBE_AlreadyExists);
    run(cw_kube_get(w.kube, &one, on_answer, NULL));
    expect(CW_OK);
    assert_string_equal(w.version, version);
    run(cw_kube_get(w.kube, &none, on_answer, NULL));
    assert_int_equal(w.reason, CW_KUBE_NotFound);
    snprintf(body, sizeof(body),
             "{\"metadata\":{\"resourceVersion\":\"%s\"},\"spec\":{\"holderIdentity\":\"c\"}}",
             version);
    run(cw_kube_patch(w.kube, &one, body, on_answer, NULL));
    expect(CW_OK);
    assert_string_not_equal(w.version, version);
    run(cw_kube_patch(w.kube, &one, body, on_answer, NULL));
    assert_int_equal(w.reason, CW_KUBE_Conflict);
    run(cw_kube_patch(w.kube, &one, "{", on_answer, NULL));
    assert_int_equal(w.reason, CW_KUBE_BadRequest);
    run(cw_kube_delete(w.kube, &one, "another", NULL, NULL, on_answer, NULL));
    assert_int_equal(w.reason, CW_KUBE_Conflict);
    run(cw_kube_delete(w.kube, &one, NULL, NULL, "Background", on_answer, NULL));
    expect(CW_OK);
    run(cw_kube_get(w.kube, &one, on_answer, NULL));
    assert_int_equal(w.reason, CW_KUBE_NotFound);
}

static void on_item(void *arg, struct cw_value *object)
{
    (void)arg;
    assert_non_null(cw_kube_text(object, "metadata.name"));
    w.items++;
}

static void on_again(void *arg)
{
    (void)arg;
    w.items = 0;
}

static void on_list(void *arg, const char *version, const struct cw_kube_answer *answer)
{
    (void)arg;
    w.code = answer->code;
    assert_true(version && *version);
    cw_loop_stop(w.loop);
}

static void remove_one(const char *name)
{
    const struct cw_kube_target t = target(name);
    run(cw_kube_delete(w.kube, &t, NULL, NULL, NULL, on_answer, NULL));
    expect(CW_OK);
}

static void lists(void **state)
{
    (void)state;
    static const char *const names[] = {"l1", "l2", "l3", "l4", "l5"};
    struct cw_kube_list_request request = {.target = target(NULL), .page = 2};
    const struct cw_kube_list_events events = {on_item, on_again, on_list, NULL};
    for (size_t i = 0; i < CW_ARRAY_LEN(names); i++)
        make(names[i], i % 2 ? "odd" : "even");
    w.items = 0;
    assert_non_null(cw_kube_list_new(w.kube, &request, &events));
    cw_loop_run(w.loop);
    assert_int_equal(w.items, 5);
    request.labels = "holder=even";
    w.items = 0;
    assert_non_null(cw_kube_list_new(w.kube, &request, &events));
    cw_loop_run(w.loop);
    assert_int_equal(w.items, 3);
    for (size_t i = 0; i < CW_ARRAY_LEN(names); i++)
        remove_one(names[i]);
}

static void tell(const char *what, const char *name)
{
    cw_str_addf(&w.told, "%s%s ", what, name);
    if (w.until && strstr(w.told.s, w.until))
        cw_loop_stop(w.loop);
}

static void wait_until(const char *told)
{
    w.until = told;
    if (!strstr(cw_str_text(&w.told), told))
        cw_loop_run(w.loop);
    w.until = NULL;
}

static void on_changed(void *arg, enum cw_kube_change change, const struct cw_kube_object *object,
                       void *before)
{
    static const char *const words[] = {"+", "~", "-"};
    (void)arg;
    (void)before;
    tell(words[change], strchr(object->key, '/') + 1);
}

static void on_listed(void *arg)
{
    (void)arg;
    tell("listed", "");
}

static void watches(void **state)
{
    (void)state;
    const struct cw_kube_target w1 = target("w1");
    const struct cw_kube_watch_options options = {.target = target(NULL), .without_managers = true};
    const struct cw_kube_watch_events events = {
        {NULL, NULL, on_changed, NULL}, on_listed, NULL, NULL};
    cw_str_clear(&w.told);
    make("w1", "a");
    struct cw_kube_watch *watch = cw_kube_watch_new(w.kube, &options, &events);
    wait_until("listed ");
    make("w2", "a");
    run(cw_kube_patch(w.kube, &w1, "{\"spec\":{\"holderIdentity\":\"b\"}}", on_answer, NULL));
    remove_one("w1");
    remove_one("w2");
    wait_until("-w2 ");
    assert_string_equal(w.told.s, "+w1 listed +w2 ~w1 -w1 -w2 ");
    cw_kube_watch_free(watch);
}

static void on_taken(void *arg)
{
    tell("+", arg);
}

static void on_lost(void *arg, const struct cw_err *why)
{
    (void)why;
    tell("-", arg);
}

static void on_released(void *arg)
{
    tell("back", arg);
}

static struct cw_kube_lease *join(const char *who)
{
    const struct cw_kube_lease_options options = {
        .name_space = w.name_space, .name = "leader", .identity = who};
    const struct cw_kube_lease_events events = {on_taken, on_lost, NULL, NULL,
                                                (void *)(uintptr_t)who};
    struct cw_kube_lease *lease = NULL;
    assert_int_equal(cw_kube_lease_new(w.kube, &options, &events, &lease, NULL), CW_OK);
    return lease;
}

static void leads(void **state)
{
    (void)state;
    cw_str_clear(&w.told);
    struct cw_kube_lease *a = join("A");
    wait_until("+A ");
    struct cw_kube_lease *b = join("B");
    cw_kube_lease_release(a, on_released, (void *)(uintptr_t) "A");
    wait_until("+B ");
    wait_until("backA ");
    assert_false(cw_kube_lease_holds(a));
    assert_true(cw_kube_lease_holds(b));
    cw_kube_lease_free(a);
    cw_kube_lease_free(b);
    remove_one("leader");
}

static void on_event(void *arg, struct cw_value *object)
{
    int64_t count = 0;
    (void)arg;
    if (!cw_str_eq(cw_kube_text(object, "reason"), "Tried"))
        return;
    assert_string_equal(cw_kube_text(object, "reportingController"), "cachew-test");
    assert_string_equal(cw_kube_text(object, "note"), "for the test");
    if (cw_kube_i64(object, "series.count", &count))
        w.items = (size_t)count;
}

static void on_events_failed(void *arg, const struct cw_err *err)
{
    (void)arg;
    fail_msg("%s", err->msg);
}

/* How many events there are of one kind, by the server's account. */
static size_t count_events(void)
{
    const struct cw_kube_list_request request = {
        .target = {&events_kind, w.name_space, NULL, NULL}};
    const struct cw_kube_list_events events = {on_event, on_again, on_list, NULL};
    w.items = 0;
    assert_non_null(cw_kube_list_new(w.kube, &request, &events));
    cw_loop_run(w.loop);
    assert_int_equal(w.code, CW_OK);
    return w.items;
}

static void tells_events(void **state)
{
    (void)state;
    const struct cw_kube_target all = {&events_kind, w.name_space, "none", NULL};
    const struct cw_kube_event event = {
        .regarding = {"coordination.k8s.io/v1", "Lease", w.name_space, "l", NULL},
        .warning = true,
        .reason = "Tried",
        .action = "Try",
        .note = "for the test"};
    const struct cw_kube_event other = {
        .regarding = event.regarding, .reason = "Other", .action = "Try", .note = "after it"};
    run(cw_kube_get(w.kube, &all, on_answer, NULL));
    if (strstr(w.err, "could not find the requested resource"))
        skip(); /* a server of custom resources */
    struct cw_kube_events *events = cw_kube_events_new(w.kube, "me", on_events_failed, NULL);
    for (int i = 0; i < 3; i++)
        cw_kube_events_tell(events, &event);
    cw_kube_events_tell(events, &other);
    while (count_events() != 3)
        ;
    cw_kube_events_free(events);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(writes), cmocka_unit_test(lists),        cmocka_unit_test(watches),
        cmocka_unit_test(leads),  cmocka_unit_test(tells_events),
    };
    signal(SIGPIPE, SIG_IGN);
    return cmocka_run_group_tests(tests, begin, end);
}
