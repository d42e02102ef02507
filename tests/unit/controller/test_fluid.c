/* SPDX-License-Identifier: Apache-2.0 */
/* Fluid's objects: what is read of them, what is asked for, and what is decided by them. */
#include "unit/controller/sight.h"

#define SPEC                                                                                       \
    "{\"dataset\":{\"dataSources\":[{\"location\":\"s3://b/x\",\"subDirName\":\"x\","              \
    "\"readOnly\":true}]},\"cacheEngine\":{\"fluid\":{\"alluxioRuntime\":{\"replicas\":3,"         \
    "\"tieredStorage\":[{\"mediumType\":\"MEM\",\"cachePath\":\"/dev/shm\",\"quota\":\"1Gi\"}]}}}" \
    "%s}"

static struct cw_fluid_object *read_object(const char *text)
{
    struct cw_value value = {0};
    struct cw_err err = {0};
    if (cw_value_parse(text, strlen(text), "test", &value, &err) != 0)
        fail_msg("%s", err.msg);
    struct cw_fluid_object *object = cw_fluid_object_read(&value);
    cw_value_fini(&value);
    return object;
}

/* Whatever is in an object, it is read. */
static void reads_any_object(void **state)
{
    static const char *const wrong[] = {
        "{}",
        "[]",
        "7",
        "{\"metadata\":[],\"status\":7}",
        ("{\"metadata\":{\"ownerReferences\":[7,{\"kind\":\"CacheBackend\"}],\"annotations\":7},"
         "\"status\":{\"cacheStates\":{\"cachedPercentage\":5}}}"),
    };
    (void)state;
    for (size_t i = 0; i < CW_ARRAY_LEN(wrong); i++) {
        struct cw_fluid_object *object = read_object(wrong[i]);
        assert_string_equal(object->owner, "");
        assert_string_equal(object->phase, "");
        assert_int_equal(cw_fluid_percent(object), -1);
        cw_fluid_object_free(object);
    }
    cw_fluid_object_free(NULL);
}

static void reads_percentages(void **state)
{
    static const struct {
        const char *text;
        int64_t percent;
    } rows[] = {{"0.0%", 0},   {"33.9%", 33}, {"100.0%", 100}, {"101%", -1},
                {"-1.0%", -1}, {"nan%", -1},  {"7", -1},       {"[Calculating]", -1}};
    (void)state;
    for (size_t i = 0; i < CW_ARRAY_LEN(rows); i++) {
        struct cw_fluid_object object = {.percent = lit(rows[i].text)};
        assert_int_equal(cw_fluid_percent(&object), rows[i].percent);
    }
    assert_int_equal(cw_fluid_percent(NULL), -1);
}

static void makes_specs(void **state)
{
    char text[1000], mark[CW_HASH_TEXT_BYTES], other[CW_HASH_TEXT_BYTES];
    struct cw_value spec = {0};
    CW_STR_AUTO printed = {0};
    (void)state;
    snprintf(text, sizeof(text), SPEC, "");
    struct cw_cachebackend *b = read_backend("", text, "{}");
    cw_fluid_dataset_spec(b, &spec);
    cw_fluid_spec_mark(&spec, mark);
    cw_value_print(&spec, &printed);
    cw_value_fini(&spec);
    cw_fluid_runtime_spec(b, &spec);
    cw_fluid_spec_mark(&spec, other);
    cw_value_print(&spec, &printed);
    cw_value_fini(&spec);
    assert_string_equal(
        cw_str_text(&printed),
        "{\"mounts\":[{\"mountPoint\":\"s3://b/x\",\"name\":\"x\",\"readOnly\":true}]}"
        "{\"replicas\":3,\"tieredstore\":{\"levels\":[{\"mediumtype\":\"MEM\",\"path\":"
        "\"/dev/shm\",\"quota\":\"1Gi\"}]}}");
    assert_string_not_equal(mark, other);
    cw_cachebackend_unref(b);
}

/* ---- decisions ---- */

struct fluid {
    struct world w;
    struct cw_fluid_sight sight;
    struct cw_fluid_object dataset, runtime;
};

/* Both are there, and nothing is said of them yet. */
static void set_up_fluid(struct fluid *f, const char *more, const char *status)
{
    char text[1000];
    snprintf(text, sizeof(text), SPEC, more);
    *f = (struct fluid){0};
    set_up(&f->w, "", text, status);
    f->dataset = (struct cw_fluid_object){.uid = lit("d1"),
                                          .owner = lit("u1"),
                                          .spec = lit("ds"),
                                          .phase = lit(""),
                                          .percent = lit(""),
                                          .phases = lit("")};
    f->runtime = (struct cw_fluid_object){.uid = lit("r1"),
                                          .owner = lit("u1"),
                                          .spec = lit("rs"),
                                          .phase = lit(""),
                                          .phases = lit("master Ready")};
    f->sight = (struct cw_fluid_sight){.known = true,
                                       .reason = "",
                                       .why = "",
                                       .refused = "",
                                       .dataset = &f->dataset,
                                       .runtime = &f->runtime,
                                       .dataset_spec = "ds",
                                       .runtime_spec = "rs"};
    f->w.place.url[0] = '\0';
    f->w.s.engine = &cw_engine_fluid;
    f->w.s.cache = NULL;
    f->w.s.dispatcher_known = false; /* the dispatcher has no part in it */
    f->w.s.fluid = &f->sight;
}

static void expect(struct fluid *f, const char *word, unsigned todo, const char *reason)
{
    cw_decide(&f->w.s, &f->w.plan);
    assert_string_equal(f->w.plan.word, word);
    assert_int_equal(f->w.plan.todo, todo);
    if (reason)
        assert_string_equal(condition(&f->w, "EngineReady")->reason, reason);
}

static void comes_to_life(void **state)
{
    struct fluid f;
    (void)state;
    set_up_fluid(&f, "", "{}");
    f.sight.known = false;
    expect(&f, "", 0, NULL); /* nobody knows yet */
    f.sight.known = true;
    f.sight.dataset = f.sight.runtime = NULL;
    expect(&f, "CacheCreating", CW_DO_WRITE_DATASET | CW_DO_WRITE_RUNTIME, "Creating");
    f.sight.dataset = &f.dataset;
    expect(&f, "CacheCreating", CW_DO_WRITE_RUNTIME, "Creating");
    f.sight.runtime = &f.runtime;
    expect(&f, "CacheCreating", 0, "DatasetNotBound");
    assert_non_null(strstr(f.w.plan.message, "master Ready"));
    f.dataset.phase = lit("Bound");
    expect(&f, "CacheReady", 0, "DatasetBound");
    f.dataset.phase = lit("Updating");
    expect(&f, "CacheReady", 0, "DatasetBound");
    f.runtime.spec = lit("another");
    expect(&f, "CacheReady", CW_DO_WRITE_RUNTIME, "DatasetBound");
    f.sight.refused = "no";
    expect(&f, "CacheCreating", CW_DO_WRITE_RUNTIME, "DatasetRefused");
    tear_down(&f.w);
}

static void has_no_fluid(void **state)
{
    struct fluid f;
    (void)state;
    set_up_fluid(&f, "", "{}");
    f.sight = (struct cw_fluid_sight){.reason = "FluidMissing", .why = "install it", .refused = ""};
    expect(&f, "CacheCreating", 0, "FluidMissing");
    f.w.b->deleting = true;
    f.w.s.map = CW_MAP_NONE;
    expect(&f, "Terminating", CW_DO_DROP_FINALIZER, NULL);
    tear_down(&f.w);
}

static void leaves_others_alone(void **state)
{
    struct fluid f;
    (void)state;
    set_up_fluid(&f, "", "{}");
    f.dataset.owner = lit("u0");
    f.dataset.spec = lit("another");
    expect(&f, "CacheCreating", 0, "DatasetTaken");
    f.dataset.deleting = true; /* of the last CacheBackend of this name */
    expect(&f, "CacheCreating", 0, "DatasetLeaving");
    f.dataset.deleting = false;
    f.w.b->deleting = true;
    f.runtime.owner = lit("");
    f.w.s.map = CW_MAP_NONE;
    expect(&f, "Terminating", CW_DO_DROP_FINALIZER, NULL);
    tear_down(&f.w);
}

static void goes(void **state)
{
    struct fluid f;
    (void)state;
    set_up_fluid(&f, ",\"mountPath\":\"/data\"", "{}");
    f.w.b->deleting = true;
    f.w.s.claim = CW_CLAIM_BOUND; /* Fluid's, which takes it away */
    expect(&f, "Terminating", CW_DO_DELETE_DATASET, NULL);
    f.dataset.deleting = true;
    expect(&f, "Terminating", 0, NULL);
    f.sight.dataset = NULL;
    expect(&f, "Terminating", CW_DO_DELETE_RUNTIME, NULL);
    f.sight.runtime = NULL;
    expect(&f, "Terminating", CW_DO_DELETE_MAP, NULL);
    tear_down(&f.w);
}

static void waits_for_claim_and_data(void **state)
{
    struct fluid f;
    (void)state;
    set_up_fluid(&f, ",\"mountPath\":\"/data\",\"prefetch\":{\"enabled\":true,\"readyPercent\":50}",
                 "{}");
    f.dataset.phase = lit("Bound");
    f.w.s.claim = CW_CLAIM_NONE;
    expect(&f, "PVCCreating", 0, "DatasetBound"); /* the claim is Fluid's to make */
    f.w.s.claim = CW_CLAIM_BOUND;
    f.dataset.percent = lit("49.9%");
    expect(&f, "CacheCreating", 0, "DatasetBound");
    assert_string_equal(condition(&f.w, "Prefetched")->reason, "PrefetchRunning");
    f.dataset.percent = lit("50.0%");
    expect(&f, "PVCCreated", 0, "DatasetBound");
    f.dataset.percent = lit("100.0%");
    expect(&f, "PVCCreated", 0, "DatasetBound");
    assert_string_equal(condition(&f.w, "Prefetched")->reason, "Complete");
    tear_down(&f.w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_any_object),
        cmocka_unit_test(reads_percentages),
        cmocka_unit_test(makes_specs),
        cmocka_unit_test(comes_to_life),
        cmocka_unit_test(has_no_fluid),
        cmocka_unit_test(leaves_others_alone),
        cmocka_unit_test(goes),
        cmocka_unit_test(waits_for_claim_and_data),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
