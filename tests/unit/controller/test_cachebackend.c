/* SPDX-License-Identifier: Apache-2.0 */
/* Reading CacheBackends, right and wrong ones. */
#include "unit/controller/sight.h"

static void reads_all(void **state)
{
    struct cw_cachebackend *b = read_backend(
        "\"creationTimestamp\":\"2026-11-26T13:33:20Z\",\"annotations\":{\"" CW_BACKEND_FORCE
        "\":\"true\"}",
        "{\"jobRef\":{\"name\":\"j\",\"kind\":\"JobSet\"},\"mountPath\":\"/m\",\"suspend\":true,"
        "\"cacheEngine\":{\"glusterfs\":{\"volume\":\"v\"}},\"capacity\":{\"quota\":\"1.5Gi\","
        "\"sourceQuota\":1000,\"highWatermarkPercent\":90,\"lowWatermarkPercent\":0},"
        "\"dataset\":{\"dataSources\":[{\"location\":\"local:///d\",\"subDirName\":\"d\"}]},"
        "\"prefetch\":{\"enabled\":true,\"readyPercent\":20},"
        "\"options\":{\"idleTime\":\"1h30m\",\"deletionPolicy\":\"Retain\"}}",
        "{}");
    cw_autofree char *name = cw_cachebackend_cache_name(b);
    (void)state;
    assert_string_equal(b->problem, "");
    assert_string_equal(name, "team-a/c");
    assert_string_equal(b->engine, "glusterfs");
    assert_string_equal(b->job_kind, "JobSet");
    assert_string_equal(b->mount_path, "/m");
    assert_int_equal(b->created_ms, NOW_MS);
    assert_int_equal(b->quota, 1610612736);
    assert_int_equal(b->source_quota, 1000);
    assert_int_equal(b->high_percent, 90);
    assert_int_equal(b->low_percent, 1); /* 0 would be the dispatcher's default */
    assert_int_equal(b->sources_n, 1);
    assert_int_equal(b->ready_percent, 20);
    assert_int_equal(b->idle_ms, 5400000);
    assert_true(b->suspend && b->prefetch && b->keep && b->force && !b->deleting);
    cw_cachebackend_unref(b);
}

static void expect_problem(const char *spec, const char *problem, const char *field)
{
    struct cw_cachebackend *b = read_backend("", spec, "{}");
    assert_string_equal(b->problem, problem);
    assert_true(cw_str_starts(b->problem_text, field));
    cw_cachebackend_unref(b);
}

#define SPEC(more) "{\"cacheEngine\":{\"memory\":{}}," more "}"
#define SOURCE(url)                                                                                \
    SPEC("\"dataset\":{\"dataSources\":[{\"location\":\"file:///a\",\"subDirName\":\"a\"},"        \
         "{\"location\":\"" url "\",\"subDirName\":\"b\"}]}")

static void names_what_is_wrong(void **state)
{
    (void)state;
    expect_problem("{}", "EngineUnknown", "spec.cacheEngine");
    expect_problem("{\"cacheEngine\":{}}", "EngineUnknown", "spec.cacheEngine");
    expect_problem("{\"cacheEngine\":{\"a\":{},\"b\":{}}}", "EngineUnknown", "spec.cacheEngine");
    expect_problem("{\"cacheEngine\":7}", "EngineUnknown", "spec.cacheEngine");
    expect_problem(SPEC("\"capacity\":{\"quota\":\"ten\"}"), "QuotaInvalid", "spec.capacity.quota");
    expect_problem(SPEC("\"capacity\":{\"quota\":-1}"), "QuotaInvalid", "spec.capacity.quota");
    expect_problem(SPEC("\"capacity\":{\"sourceQuota\":\"9e99\"}"), "QuotaInvalid",
                   "spec.capacity.sourceQuota");
    expect_problem(SPEC("\"capacity\":{\"highWatermarkPercent\":50,\"lowWatermarkPercent\":50}"),
                   "WatermarksInvalid", "spec.capacity");
    expect_problem(SPEC("\"options\":{\"idleTime\":\"10\"}"), "IdleTimeInvalid",
                   "spec.options.idleTime");
    expect_problem(SOURCE("hdfs://name/x"), "SchemeUnknown",
                   "spec.dataset.dataSources[1].location");
    expect_problem(SOURCE("s3://bucket/../x"), "LocationInvalid",
                   "spec.dataset.dataSources[1].location");
    expect_problem(SOURCE("https://me:secret@host/x"), "LocationInvalid",
                   "spec.dataset.dataSources[1].location");
    expect_problem(SOURCE("s3://bucket/x"), "", "");
    expect_problem(SOURCE("file://host/x"), "SchemeUnknown",
                   "spec.dataset.dataSources[1].location");
    expect_problem(SOURCE("file:///x"), "", "");
}

static void needs_a_name(void **state)
{
    struct cw_value value = {0};
    const char *text = "{\"metadata\":{\"namespace\":\"a\",\"name\":\"b\",\"uid\":\"c\"}}";
    (void)state;
    assert_int_equal(cw_value_parse(text, strlen(text), "test", &value, NULL), 0);
    assert_null(cw_cachebackend_read(&value));
    cw_value_fini(&value);
    assert_int_equal(cw_value_parse("[1]", 3, "test", &value, NULL), 0);
    assert_null(cw_cachebackend_read(&value));
    cw_value_fini(&value);
}

static void durations(void **state)
{
    static const struct {
        const char *text;
        int64_t ms;
    } rows[] = {{"45s", 45000},
                {"10h", 36000000},
                {"1h30m", 5400000},
                {"1m1m", 120000},
                {"0s", 0},
                {"", -1},
                {"10", -1},
                {"h", -1},
                {"1d", -1},
                {"1h ", -1},
                {"-1h", -1},
                {"999999999999h", -1},
                {"99999999999999999999s", -1}};
    (void)state;
    for (size_t i = 0; i < CW_ARRAY_LEN(rows); i++) {
        int64_t ms = -1;
        (void)cw_duration_parse(rows[i].text, &ms, NULL);
        if (ms != rows[i].ms)
            fail_msg("%s is %lld", rows[i].text, (long long)ms);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_all),
        cmocka_unit_test(names_what_is_wrong),
        cmocka_unit_test(needs_a_name),
        cmocka_unit_test(durations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
