/* SPDX-License-Identifier: Apache-2.0 */
/* A copy that a watch keeps, against the objects of a whole server over HTTP: random changes, watches
 * that end all the time, a server that forgets what was before and one that is away for a while. Now
 * and then all is calm, and the copy must equal the server's objects. Always it holds only what was
 * once there. (tests/simulation/kube/test_watch_model.c does the same a hundred times, with faults.) */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/map.h"
#include "base/mem.h"
#include "kube/field.h"
#include "kube/kube_watch.h"
#include "server_world.h"
#include "support/cm.h"

#define CHANGES 600
#define CALM_EVERY 100 /* changes */
#define NAMES 12

static struct model {
    uint64_t seed;
    struct cw_kube_watch *watch;
    struct cw_strmap told;     /* name -> uid/version, as the watch tells it */
    struct cw_strmap there;    /* uid/version that was once there */
    struct cw_strmap unproven; /* uid/version that was told before it was known to be there */
    size_t listed;             /* objects of a list of the server's */
    bool equal, is_listed;
} m;

static unsigned below(unsigned n)
{
    m.seed = cw_mix64(m.seed + 1);
    return (unsigned)(m.seed % n);
}

/* The state of the last answer was there. */
static void remember(void)
{
    if (w.code != CW_OK || !w.uid[0])
        return;
    cw_autofree char *state = cw_mem_printf("%s/%s", w.uid, w.version);
    cw_strmap_set(&m.there, state, &m);
    cw_strmap_remove(&m.unproven, state);
}

/* ---- what is told ---- */
static void on_changed(void *arg, enum cw_kube_change change, const struct cw_kube_object *object,
                       void *before)
{
    const char *name = strchr(object->key, '/') + 1;
    cw_autofree char *state = cw_mem_printf("%s/%s", object->uid, object->version);
    char *known = cw_strmap_remove(&m.told, name);

    (void)arg;
    (void)before;
    assert_int_equal(known != NULL, change != CW_KUBE_ADDED);
    if (change == CW_KUBE_UPDATED)
        assert_true(strtoull(strchr(state, '/') + 1, NULL, 10) >
                    strtoull(strchr(known, '/') + 1, NULL, 10));
    cw_mem_free(known);
    if (change == CW_KUBE_DELETED)
        return;
    cw_strmap_set(&m.told, name, cw_mem_strdup(state));
    if (!cw_strmap_get(&m.there, state))
        cw_strmap_set(&m.unproven, state, &m);
}

/* ---- what the server has ---- */
static void on_item(void *arg, struct cw_value *object)
{
    const char *told = cw_strmap_get(&m.told, cw_kube_text(object, "metadata.name"));
    cw_autofree char *state = cw_mem_printf("%s/%s", cw_kube_text(object, "metadata.uid"),
                                            cw_kube_text(object, "metadata.resourceVersion"));
    (void)arg;
    m.listed++;
    m.equal = m.equal && cw_str_eq(told, state);
}

static void on_again(void *arg)
{
    (void)arg;
    m.listed = 0;
    m.equal = true;
}

static void on_list(void *arg, const char *version, const struct cw_kube_answer *answer)
{
    (void)arg;
    (void)version;
    m.is_listed = answer->code == CW_OK;
    cw_loop_stop(w.loop);
}

static bool is_equal(const char *labels)
{
    const struct cw_kube_list_request request = {
        .target = target(NULL), .labels = labels, .page = 5};
    const struct cw_kube_list_events events = {on_item, on_again, on_list, NULL};

    on_again(NULL);
    assert_non_null(cw_kube_list_new(w.kube, &request, &events));
    cw_loop_run(w.loop);
    return m.is_listed && m.equal && m.listed == m.told.n &&
           m.listed == cw_kube_objects_n(cw_kube_watch_objects(m.watch));
}

/* ---- what happens ---- */
/* A write had no answer: it was done, or not. */
static void find_out(const char *name)
{
    const struct cw_kube_target one = target(name);
    do {
        server_pause(50);
        server_run(cw_kube_get(w.kube, &one, on_answer, NULL));
        /* A server that has just begun knows of no rights yet. */
    } while (w.code != CW_OK && w.reason != CW_KUBE_NotFound);
}

static void change_one(void)
{
    char name[16], body[64];
    const char *label = below(2) ? "odd" : "even";

    snprintf(name, sizeof(name), "n%u", below(NAMES));
    snprintf(body, sizeof(body), "{\"metadata\":{\"labels\":{\"holder\":\"%s\"}}}", label);
    const struct cw_kube_target one = target(name);
    switch (below(3)) {
    case 0:
        make(name, label);
        break;
    case 1:
        server_run(cw_kube_patch(w.kube, &one, body, on_answer, NULL));
        break;
    default:
        server_run(cw_kube_delete(w.kube, &one, NULL, NULL, NULL, on_answer, NULL));
        break;
    }
    if (w.code != CW_OK && w.reason != CW_KUBE_NotFound && w.reason != CW_KUBE_AlreadyExists)
        find_out(name);
    remember();
}

/* Of six parts of the run, two begin with a server that forgets, two with one that is away. */
static void disturb(int part)
{
    if (!w.orders[0])
        return;
    if (part == 1 || part == 3)
        server_order("compact", "");
    if (part == 2 || part == 3)
        server_order("away", "{\"ms\": 200}");
}

static void follow(const char *labels)
{
    const struct cw_kube_watch_options options = {
        .target = target(NULL), .labels = labels, .page = 5, .timeout_s = 1, .retry_max_ms = 1000};
    const struct cw_kube_watch_events events = {{NULL, NULL, on_changed, NULL}, NULL, NULL, NULL};
    const char *key;
    void *state;

    m.watch = cw_kube_watch_new(w.kube, &options, &events);
    for (int i = 0; i < CHANGES; i++) {
        if (i % CALM_EVERY == 0)
            disturb(i / CALM_EVERY);
        change_one();
        if (i % CALM_EVERY == CALM_EVERY - 1) {
            while (!is_equal(labels))
                server_pause(20);
            assert_int_equal(m.unproven.n, 0);
        }
    }
    const struct cw_kube_watch_counts counts = cw_kube_watch_counts(m.watch);
    assert_true(counts.events > CHANGES / 8);
    assert_true(counts.watches > 2);
    assert_true(!w.orders[0] || counts.failures > 0);
    cw_kube_watch_free(m.watch);
    for (size_t i = 0; cw_strmap_next(&m.told, &i, &key, &state);)
        cw_mem_free(state);
    cw_strmap_fini(&m.told);
    cw_strmap_fini(&m.unproven);
}

static void follows_all(void **state)
{
    (void)state;
    follow(NULL);
}

static void follows_a_label(void **state)
{
    (void)state;
    follow("holder=even");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(follows_all),
        cmocka_unit_test(follows_a_label),
    };
    signal(SIGPIPE, SIG_IGN);
    int rc = cmocka_run_group_tests(tests, server_begin, server_end);
    cw_strmap_fini(&m.there);
    return rc;
}
