/* SPDX-License-Identifier: Apache-2.0 */
/* A copy that a watch keeps, against the server's own objects, in virtual time: random changes of the
 * objects, random faults of server, connections and watches, and a server that is away, forgets its
 * events, or is another one with the same name. Now and then all is calm, and the copy must equal the
 * server's objects. Always it holds only what was once there, and tells each change once. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/rng.h"
#include "fake_http.h"
#include "kube/kube_watch.h"
#include "sim.h"
#include "support/cm.h"

#define CHANGES 10000
#define CALM_EVERY 1000 /* changes */
#define NAMES 12
#define FAULT_RATE 0.05
#define CALM_MS INT64_C(3600000) /* so long it may take until all is told */

int sim_program_main(void);

static const struct cw_kube_kind config_maps = {"", "v1", "configmaps"};

struct model {
    struct cw_loop *loop;
    struct fk_server *server;
    struct cw_kube *kube;
    struct cw_kube_watch *watch;
    struct cw_strmap told;  /* name -> uid/version, by what was told */
    struct cw_strmap there; /* uid/version that was once there */
    struct cw_timer *change, *calm;
    int changes;
    int64_t calm_since_ms;
    bool is_selective; /* watches those with a label */
    int equal;         /* how often they were */
};

static void request(struct model *m, const char *method, const char *path, const char *body)
{
    struct fk_answer answer = {0};
    const struct fk_request r = {.method = method,
                                 .path = path,
                                 .content_type = method[0] == 'P' && method[1] == 'A'
                                                     ? "application/merge-patch+json"
                                                     : "application/json",
                                 .accept = "application/json",
                                 .user_agent = "someone/1",
                                 .body = body,
                                 .body_n = body ? strlen(body) : 0};
    fk_server_handle(m->server, cw_clock_ms(), &r, &answer);
    fk_watch_free(answer.watch);
    answer.watch = NULL;
    fk_answer_fini(&answer);
}

static void make_namespaces(struct model *m)
{
    request(m, "POST", "/api/v1/namespaces", "{\"metadata\":{\"name\":\"ns0\"}}");
    request(m, "POST", "/api/v1/namespaces", "{\"metadata\":{\"name\":\"ns1\"}}");
}

static const char *text_at(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(json_object_get(object, "metadata"), key));
}

static bool is_chosen(const struct model *m, const json_t *object)
{
    const json_t *labels = json_object_get(json_object_get(object, "metadata"), "labels");
    const char *label = json_string_value(json_object_get(labels, "cachew.dev/cache"));

    return !m->is_selective || cw_str_eq(label, "true");
}

/* Remembers what is there. */
static void remember(struct model *m)
{
    json_t *answer = fk_server_objects(m->server, "", "configmaps");
    const json_t *items = json_is_object(answer) ? json_object_get(answer, "items") : answer;
    for (size_t i = 0; i < json_array_size(items); i++) {
        const json_t *object = json_array_get(items, i);
        cw_autofree char *key =
            cw_mem_printf("%s/%s", text_at(object, "uid"), text_at(object, "resourceVersion"));
        cw_strmap_set(&m->there, key, m);
    }
    json_decref(answer);
}

/* ---- what is told ---- */

/* Whether a state of an object is a later one than another of the same object. */
static bool is_later(const char *state, const char *other)
{
    size_t n = (size_t)(strchr(state, '/') - state);

    return strncmp(state, other, n + 1) == 0 &&
           strtoull(state + n + 1, NULL, 10) > strtoull(other + n + 1, NULL, 10);
}

static void on_changed(void *arg, enum cw_kube_change change, const struct cw_kube_object *object,
                       void *before)
{
    struct model *m = arg;
    cw_autofree char *state = cw_mem_printf("%s/%s", object->uid, object->version);
    char *known = cw_strmap_get(&m->told, object->key);

    (void)before;
    assert_int_equal(known != NULL, change != CW_KUBE_ADDED);
    if (change != CW_KUBE_DELETED && !cw_strmap_get(&m->there, state))
        fail_msg("%s is invented: %s", object->key, state);
    if (change == CW_KUBE_UPDATED && !is_later(state, known))
        fail_msg("%s goes back: %s after %s", object->key, state, known);
    cw_mem_free(cw_strmap_remove(&m->told, object->key));
    if (change != CW_KUBE_DELETED)
        cw_strmap_set(&m->told, object->key, cw_mem_strdup(state));
}

/* Whether the copy, and what was told, is what the server has. */
static bool is_equal(const struct model *m)
{
    const struct cw_kube_objects *objects = cw_kube_watch_objects(m->watch);
    json_t *answer = fk_server_objects(m->server, "", "configmaps");
    const json_t *items = json_is_object(answer) ? json_object_get(answer, "items") : answer;
    size_t n = 0;
    bool equal = true;

    for (size_t i = 0; i < json_array_size(items); i++) {
        const json_t *object = json_array_get(items, i);
        const struct cw_kube_object *mine =
            cw_kube_objects_find(objects, text_at(object, "namespace"), text_at(object, "name"));
        if (!is_chosen(m, object))
            continue;
        n++;
        equal = equal && mine && cw_str_eq(mine->uid, text_at(object, "uid")) &&
                cw_str_eq(mine->version, text_at(object, "resourceVersion"));
    }
    equal = equal && n == cw_kube_objects_n(objects) && n == m->told.n;
    json_decref(answer);
    return equal;
}

/* ---- what happens ---- */

static void change_object(struct model *m)
{
    char path[128], body[300];
    unsigned name = (unsigned)sim_below(NAMES), ns = (unsigned)sim_below(2);
    const char *label = sim_one_in(2) ? "true" : "false";

    snprintf(path, sizeof(path), "/api/v1/namespaces/ns%u/configmaps", ns);
    snprintf(body, sizeof(body),
             "{\"metadata\":{\"name\":\"n%u\",\"labels\":{\"cachew.dev/cache\":\"%s\"}},\"data\":{"
             "\"x\":\"%d\"}}",
             name, label, m->changes);
    if (sim_one_in(3)) {
        request(m, "POST", path, body);
        return;
    }
    snprintf(path, sizeof(path), "/api/v1/namespaces/ns%u/configmaps/n%u", ns, name);
    if (sim_one_in(3))
        request(m, "DELETE", path, NULL);
    else
        request(m, "PATCH", path, body);
}

static void disturb(struct model *m)
{
    if (sim_one_in(300))
        fk_server_compact(m->server);
    if (sim_one_in(1500)) {
        fk_server_wipe(m->server, cw_clock_ms());
        fk_server_set_fault_rate(m->server, 0);
        make_namespaces(m);
        fk_server_set_fault_rate(m->server, FAULT_RATE);
    }
    if (sim_one_in(200))
        fk_server_jump_clock(m->server, sim_between(-3600000, 3600000));
    if (sim_one_in(100))
        fake_http_set_away(sim_one_in(2));
}

static void on_calm(void *arg)
{
    struct model *m = arg;

    if (!is_equal(m)) {
        if (cw_clock_ms() - m->calm_since_ms > CALM_MS)
            fail_msg("after %d changes the copy of %zu objects is not what the server has",
                     m->changes, cw_kube_objects_n(cw_kube_watch_objects(m->watch)));
        return;
    }
    m->equal++;
    cw_timer_stop(m->calm);
    if (m->changes >= CHANGES) {
        cw_loop_stop(m->loop);
        return;
    }
    fk_server_set_fault_rate(m->server, FAULT_RATE);
    cw_timer_start(m->change, 1, 0);
}

static void on_change(void *arg)
{
    struct model *m = arg;

    change_object(m);
    remember(m);
    disturb(m);
    m->changes++;
    if (m->changes % CALM_EVERY == 0) {
        fake_http_set_away(false);
        fk_server_set_fault_rate(m->server, 0);
        m->calm_since_ms = cw_clock_ms();
        cw_timer_start(m->calm, 1000, 1000);
    } else {
        cw_timer_start(m->change, sim_one_in(20) ? sim_between(0, 20000) : sim_between(0, 100), 0);
    }
    fake_http_settle();
}

static void begin(struct model *m)
{
    const struct fk_options options = {.seed = sim_random(),
                                       .wall_ms = cw_clock_wall_ms(),
                                       .window = (size_t)sim_between(5, 200),
                                       .bookmark_ms = sim_between(1000, 60000),
                                       .old_gone = sim_one_in(2)};
    struct cw_kube_config config = {
        .server = (char[]){"http://api"}, .name_space = (char[]){"ns0"}, .token = NULL};
    const struct cw_kube_options kube = {.program = "test"};
    m->loop = cw_loop_new();
    m->server = fk_server_new(&options);
    fk_server_open_to_all(m->server);
    make_namespaces(m);
    fk_server_set_fault_rate(m->server, FAULT_RATE);
    m->is_selective = sim_one_in(2);
    fake_http_begin(m->loop, m->server, sim_between(0, 200));
    assert_int_equal(cw_kube_new(m->loop, &config, &kube, &m->kube, NULL), CW_OK);
    const struct cw_kube_watch_options watch = {
        .target = {&config_maps, NULL, NULL, NULL},
        .labels = m->is_selective ? "cachew.dev/cache=true" : NULL,
        .page = (int)sim_between(1, 10),
        .without = sim_one_in(2) ? cw_kube_without_managers : NULL,
        .timeout_s = sim_between(5, 300)};
    const struct cw_kube_watch_events events = {{NULL, NULL, on_changed, m}, NULL, NULL, m};
    m->change = cw_timer_new(m->loop, on_change, m);
    m->calm = cw_timer_new(m->loop, on_calm, m);
    m->watch = cw_kube_watch_new(m->kube, &watch, &events);
    cw_timer_start(m->change, 0, 0);
}

static void end(struct model *m)
{
    cw_timer_free(m->change);
    cw_timer_free(m->calm);
    cw_kube_watch_free(m->watch);
    cw_kube_free(m->kube);
    fake_http_end();
    fk_server_free(m->server);
    cw_loop_free(m->loop);
    cw_strmap_fini(&m->there);
}

static void the_copy_is_what_the_server_has(void **state)
{
    static struct model m;
    const char *key;
    void *value;

    (void)state;
    begin(&m);
    cw_loop_run(m.loop);
    assert_int_equal(m.equal, CHANGES / CALM_EVERY);
    assert_true(m.there.n > CHANGES / 4); /* changes were made */
    for (size_t i = 0; cw_strmap_next(&m.told, &i, &key, &value);)
        cw_mem_free(value);
    cw_strmap_fini(&m.told);
    end(&m);
}

int sim_program_main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_copy_is_what_the_server_has),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
