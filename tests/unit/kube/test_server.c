/* SPDX-License-Identifier: Apache-2.0 */
/* The client against a whole server over HTTP. It uses Leases, which a server of custom resources may
 * have as well, and Events where there are any. */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "kube/field.h"
#include "kube/kube_events.h"
#include "kube/kube_lease.h"
#include "kube/kube_watch.h"
#include "server_world.h"
#include "support/cm.h"

static const struct cw_kube_kind events_kind = {"events.k8s.io", "v1", "events"};

/* What was told. */
static struct {
    struct cw_str told;
    const char *until;
    size_t items;
} seen;

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
    server_run(cw_kube_get(w.kube, &one, on_answer, NULL));
    expect(CW_OK);
    assert_string_equal(w.version, version);
    server_run(cw_kube_get(w.kube, &none, on_answer, NULL));
    assert_int_equal(w.reason, CW_KUBE_NotFound);
    snprintf(body, sizeof(body),
             "{\"metadata\":{\"resourceVersion\":\"%s\"},\"spec\":{\"holderIdentity\":\"c\"}}",
             version);
    server_run(cw_kube_patch(w.kube, &one, body, on_answer, NULL));
    expect(CW_OK);
    assert_string_not_equal(w.version, version);
    server_run(cw_kube_patch(w.kube, &one, body, on_answer, NULL));
    assert_int_equal(w.reason, CW_KUBE_Conflict);
    server_run(cw_kube_patch(w.kube, &one, "{", on_answer, NULL));
    assert_int_equal(w.reason, CW_KUBE_BadRequest);
    server_run(cw_kube_delete(w.kube, &one, "another", NULL, NULL, on_answer, NULL));
    assert_int_equal(w.reason, CW_KUBE_Conflict);
    server_run(cw_kube_delete(w.kube, &one, NULL, NULL, "Background", on_answer, NULL));
    expect(CW_OK);
    server_run(cw_kube_get(w.kube, &one, on_answer, NULL));
    assert_int_equal(w.reason, CW_KUBE_NotFound);
}

static void on_item(void *arg, struct cw_value *object)
{
    (void)arg;
    assert_non_null(cw_kube_text(object, "metadata.name"));
    seen.items++;
}

static void on_again(void *arg)
{
    (void)arg;
    seen.items = 0;
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
    server_run(cw_kube_delete(w.kube, &t, NULL, NULL, NULL, on_answer, NULL));
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
    seen.items = 0;
    assert_non_null(cw_kube_list_new(w.kube, &request, &events));
    cw_loop_run(w.loop);
    assert_int_equal(seen.items, 5);
    request.labels = "holder=even";
    seen.items = 0;
    assert_non_null(cw_kube_list_new(w.kube, &request, &events));
    cw_loop_run(w.loop);
    assert_int_equal(seen.items, 3);
    for (size_t i = 0; i < CW_ARRAY_LEN(names); i++)
        remove_one(names[i]);
}

static void tell(const char *what, const char *name)
{
    cw_str_addf(&seen.told, "%s%s ", what, name);
    if (seen.until && strstr(seen.told.s, seen.until))
        cw_loop_stop(w.loop);
}

static void wait_until(const char *told)
{
    seen.until = told;
    if (!strstr(cw_str_text(&seen.told), told))
        cw_loop_run(w.loop);
    seen.until = NULL;
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
    const struct cw_kube_watch_options options = {.target = target(NULL),
                                                  .without = cw_kube_without_managers};
    const struct cw_kube_watch_events events = {
        {NULL, NULL, on_changed, NULL}, on_listed, NULL, NULL};
    cw_str_clear(&seen.told);
    make("w1", "a");
    struct cw_kube_watch *watch = cw_kube_watch_new(w.kube, &options, &events);
    wait_until("listed ");
    make("w2", "a");
    server_run(
        cw_kube_patch(w.kube, &w1, "{\"spec\":{\"holderIdentity\":\"b\"}}", on_answer, NULL));
    remove_one("w1");
    remove_one("w2");
    wait_until("-w2 ");
    assert_string_equal(seen.told.s, "+w1 listed +w2 ~w1 -w1 -w2 ");
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
    cw_str_clear(&seen.told);
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
        seen.items = (size_t)count;
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
    seen.items = 0;
    assert_non_null(cw_kube_list_new(w.kube, &request, &events));
    cw_loop_run(w.loop);
    assert_int_equal(w.code, CW_OK);
    return seen.items;
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
    server_run(cw_kube_get(w.kube, &all, on_answer, NULL));
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
    int rc = cmocka_run_group_tests(tests, server_begin, server_end);
    cw_str_fini(&seen.told);
    return rc;
}
