/* SPDX-License-Identifier: Apache-2.0 */
/* Engines: where caches lie, what may not be, and whose a place is. */
#include "controller/engine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"
#include "controller/engine_run.h"
#include "support/cm.h"

static const char *const allowed[] = {"gluster://g1,g2/vol"};

static int place_named(const char *name, const char *engine, const char *options, const char *root,
                       struct cachew_engine_answer *ret)
{
    const struct cw_engine_settings settings = {
        .root = root, .allowed = allowed, .allowed_n = CW_ARRAY_LEN(allowed)};
    const struct cachew_engine_request request = {sizeof(request), "team-a",         name, "u1",
                                                  options,         root ? root : "", ""};
    const struct cachew_engine *found = NULL;
    const struct cw_value *rest = NULL;
    struct cw_err err = {0};
    if (cw_engine_find(&settings, engine, NULL, &found, &rest, &err) != 0)
        fail_msg("%s", err.msg);
    return cw_engine_place(&settings, found, &request, ret);
}

static int place(const char *engine, const char *options, const char *root,
                 struct cachew_engine_answer *ret)
{
    return place_named("c", engine, options, root, ret);
}

static void expect_place(const char *engine, const char *options, const char *root, const char *url)
{
    struct cachew_engine_answer answer;
    int verdict = place(engine, options, root, &answer);
    if (verdict != CACHEW_ENGINE_READY)
        fail_msg("%s: %s", options, answer.message);
    assert_string_equal(answer.url, url);
}

static void expect_refusal(const char *engine, const char *options, const char *root,
                           const char *reason)
{
    struct cachew_engine_answer answer;
    assert_int_equal(place(engine, options, root, &answer), CACHEW_ENGINE_REFUSED);
    assert_string_equal(answer.reason, reason);
    assert_non_null(strstr(answer.message, "spec.cacheEngine"));
}

static void places(void **state)
{
    (void)state;
    expect_place("localfs", "{}", "/r", "dir:/r/team-a/c-u1");
    expect_place("localfs", "{\"path\":\"a/b\"}", "/r", "dir:/r/a/b/team-a/c-u1");
    expect_place("memory", "{}", NULL, "");
    expect_place("glusterfs",
                 "{\"volume\":\"vol\",\"servers\":[{\"host\":\"g2\"},{\"host\":\"g1\"}]}", NULL,
                 "gluster://g2,g1/vol/cachew/team-a/c-u1");
    expect_place("glusterfs",
                 "{\"volume\":\"vol\",\"basePath\":\"/x/y\",\"servers\":[{\"host\":\"g1\"}]}", NULL,
                 "gluster://g1/vol/x/y/team-a/c-u1");
}

static void refusals(void **state)
{
    (void)state;
    expect_refusal("localfs", "{}", NULL, "NotAllowed");
    expect_refusal("localfs", "{\"path\":\"a/../b\"}", "/r", "PathInvalid");
    expect_refusal("localfs", "{\"path\":\"a//b\"}", "/r", "PathInvalid");
    expect_refusal("localfs", "{\"path\":\"a?timeout=1s\"}", "/r", "PathInvalid");
    expect_refusal("glusterfs", "{\"volume\":\"vol\"}", NULL, "ServerInvalid");
    expect_refusal("glusterfs", "{\"volume\":\"vol\",\"servers\":[{\"host\":\"g1/x\"}]}", NULL,
                   "ServerInvalid");
    expect_refusal("glusterfs", "{\"volume\":\"v/w\",\"servers\":[{\"host\":\"g1\"}]}", NULL,
                   "VolumeInvalid");
    expect_refusal("glusterfs", "{\"volume\":\"other\",\"servers\":[{\"host\":\"g1\"}]}", NULL,
                   "NotAllowed");
    expect_refusal("glusterfs",
                   "{\"volume\":\"vol\",\"servers\":[{\"host\":\"g1\"},{\"host\":\"evil\"}]}", NULL,
                   "NotAllowed");
}

/* A name of Kubernetes may be as long as that of a folder, which has the uid besides ("-u1" here). */
static void long_names(void **state)
{
    static const char *const engines[][2] = {
        {"localfs", "{}"}, {"glusterfs", "{\"volume\":\"vol\",\"servers\":[{\"host\":\"g1\"}]}"}};
    struct cachew_engine_answer answer;
    char name[254];
    (void)state;
    for (size_t i = 0; i < CW_ARRAY_LEN(engines); i++) {
        memset(name, 'n', sizeof(name));
        name[253] = '\0';
        assert_int_equal(place_named(name, engines[i][0], engines[i][1], "/r", &answer),
                         CACHEW_ENGINE_REFUSED);
        assert_string_equal(answer.reason, "NameInvalid");
        assert_non_null(strstr(answer.message, "metadata.name: "));
        name[252] = '\0';
        assert_int_equal(place_named(name, engines[i][0], engines[i][1], "/r", &answer),
                         CACHEW_ENGINE_READY);
    }
}

static void stop_loop(void *arg)
{
    cw_loop_stop(arg);
}

static void unknown_engines(void **state)
{
    const struct cw_engine_settings settings = {0};
    struct cw_loop *loop = cw_loop_new();
    struct cw_plugins *plugins = cw_plugins_new(loop, "/nowhere", stop_loop, loop);
    const struct cw_engine_settings with_dir = {.plugins = plugins};
    const struct cachew_engine *engine = NULL;
    const struct cw_value *rest = NULL;
    struct cw_value options = {0};
    struct cw_err err = {0};
    (void)state;
    assert_int_equal(cw_engine_find(&settings, "nfs", NULL, &engine, &rest, &err), CW_E_NOT_FOUND);
    assert_non_null(strstr(err.msg, "spec.cacheEngine.nfs"));
    assert_non_null(strstr(err.msg, "glusterfs, localfs, memory, plugin"));
    cw_value_set_object(&options);
    cw_value_set_str(cw_value_member(&options, "name"), "../x");
    assert_int_equal(cw_engine_find(&with_dir, "plugin", &options, &engine, &rest, &err),
                     CW_E_NOT_FOUND);
    cw_value_set_str(cw_value_member(&options, "name"), "x");
    assert_int_equal(cw_engine_find(&settings, "plugin", &options, &engine, &rest, &err),
                     CW_E_NOT_FOUND);
    assert_non_null(strstr(err.msg, "--plugin-dir"));
    assert_int_equal(cw_engine_find(&with_dir, "plugin", &options, &engine, &rest, &err),
                     CW_E_AGAIN);
    assert_false(cw_plugins_free(plugins)); /* it is being loaded */
    cw_loop_run(loop);
    int rc = cw_engine_find(&with_dir, "plugin", &options, &engine, &rest, &err);
    assert_true(rc != CW_OK && rc != CW_E_AGAIN);
    assert_non_null(strstr(err.msg, "/nowhere/libcachew_engine_x.so"));
    cw_value_fini(&options);
    assert_true(cw_plugins_free(plugins));
    cw_loop_free(loop);
}

/* ---- in a directory ---- */

struct done {
    struct cw_loop *loop;
    int verdict;
    char reason[64];
};

static void on_done(void *arg, int verdict, const struct cachew_engine_answer *answer)
{
    struct done *done = arg;
    done->verdict = verdict;
    snprintf(done->reason, sizeof(done->reason), "%s", answer->reason);
    cw_loop_stop(done->loop);
}

static int run(struct cw_engine_runs *runs, struct done *done, enum cw_engine_step step,
               const char *root, const char *uid)
{
    cw_autofree char *url = cw_mem_printf("dir:%s/c", root);
    const struct cachew_engine_request request = {
        sizeof(request), "team-a", "c", uid, "{}", root, url};
    assert_true(cw_engine_run(runs, &cw_engine_localfs, step, &request, on_done, done));
    assert_int_equal(cw_engine_runs_n(runs), 1);
    assert_false(cw_engine_runs_free(runs));
    cw_loop_run(done->loop);
    return done->verdict;
}

static void whose_it_is(void **state)
{
    char root[] = "/tmp/cachew-engine-XXXXXX";
    struct done done = {.loop = cw_loop_new()};
    struct cw_engine_runs *runs = cw_engine_runs_new(done.loop);
    (void)state;
    assert_non_null(mkdtemp(root));
    assert_int_equal(run(runs, &done, CW_ENGINE_OWNS, root, "u1"), CACHEW_ENGINE_REFUSED);
    assert_int_equal(run(runs, &done, CW_ENGINE_PREPARE, root, "u1"), CACHEW_ENGINE_READY);
    assert_int_equal(run(runs, &done, CW_ENGINE_PREPARE, root, "u1"), CACHEW_ENGINE_READY);
    assert_int_equal(run(runs, &done, CW_ENGINE_OWNS, root, "u1"), CACHEW_ENGINE_READY);
    assert_int_equal(run(runs, &done, CW_ENGINE_PREPARE, root, "u2"), CACHEW_ENGINE_REFUSED);
    assert_string_equal(done.reason, "NotOurs");
    assert_int_equal(run(runs, &done, CW_ENGINE_ERASE, root, "u2"), CACHEW_ENGINE_READY);
    assert_int_equal(run(runs, &done, CW_ENGINE_OWNS, root, "u1"), CACHEW_ENGINE_READY);
    assert_int_equal(run(runs, &done, CW_ENGINE_ERASE, root, "u1"), CACHEW_ENGINE_READY);
    assert_int_equal(run(runs, &done, CW_ENGINE_OWNS, root, "u1"), CACHEW_ENGINE_REFUSED);
    assert_int_equal(run(runs, &done, CW_ENGINE_PREPARE, "/nowhere", "u1"), CACHEW_ENGINE_RETRY);
    assert_string_equal(done.reason, "VolumeNotFound");
    assert_true(cw_engine_runs_free(runs));
    cw_loop_free(done.loop);
    cw_autofree char *inner = cw_mem_printf("%s/c", root);
    assert_int_equal(rmdir(inner), 0);
    assert_int_equal(rmdir(root), 0);
}

/* A byte of the marker that the store gives wrongly is a failure that may end, whatever byte it is: it
 * does not make the place another's, nor nobody's. */
static void a_damaged_marker_says_nothing(void **state)
{
    static const char wrong[] = {'\0', '\n', 'x'};
    char root[] = "/tmp/cachew-engine-XXXXXX";
    struct done done = {.loop = cw_loop_new()};
    struct cw_engine_runs *runs = cw_engine_runs_new(done.loop);
    (void)state;
    assert_non_null(mkdtemp(root));
    cw_autofree char *marker = cw_mem_printf("%s/c/cachew-owner", root);
    assert_int_equal(run(runs, &done, CW_ENGINE_PREPARE, root, "u1"), CACHEW_ENGINE_READY);
    for (long at = 0; at < 5; at++) {
        for (size_t k = 0; k < CW_ARRAY_LEN(wrong); k++) {
            char text[] = "u1\nu1\n";
            if (text[at] == wrong[k])
                continue;
            text[at] = wrong[k];
            FILE *file = fopen(marker, "w");
            assert_non_null(file);
            assert_int_equal(fwrite(text, 1, sizeof(text) - 1, file), sizeof(text) - 1);
            assert_int_equal(fclose(file), 0);
            if (at == 2 && wrong[k] == 'x') /* as a marker of an older controller, of another uid */
                continue;
            assert_int_equal(run(runs, &done, CW_ENGINE_ERASE, root, "u1"), CACHEW_ENGINE_RETRY);
            assert_int_equal(access(marker, F_OK), 0);
        }
    }
    assert_true(cw_engine_runs_free(runs));
    cw_loop_free(done.loop);
    assert_int_equal(unlink(marker), 0);
    cw_autofree char *inner = cw_mem_printf("%s/c", root);
    assert_int_equal(rmdir(inner), 0);
    assert_int_equal(rmdir(root), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(places),      cmocka_unit_test(refusals),
        cmocka_unit_test(long_names),  cmocka_unit_test(unknown_engines),
        cmocka_unit_test(whose_it_is), cmocka_unit_test(a_damaged_marker_says_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
