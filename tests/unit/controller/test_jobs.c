/* SPDX-License-Identifier: Apache-2.0 */
/* Reading jobs and pods, right and wrong ones. */
#include "controller/jobs.h"

#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "controller/job_specs.h"
#include "support/cm.h"

static struct cw_value parse(const char *text)
{
    struct cw_value value = {0};
    struct cw_err err = {0};
    if (cw_value_parse(text, strlen(text), "test", &value, &err) != 0)
        fail_msg("%s", err.msg);
    return value;
}

static struct cw_job_facts *read_job(const char *kind, const char *text)
{
    struct cw_value value = parse(text);
    struct cw_job_facts *job = cw_job_facts_read(cw_job_kind_find(kind), &value);
    cw_value_fini(&value);
    return job;
}

static void a_job_that_waits(void **state)
{
    struct cw_job_facts *job = read_job(
        "Job",
        "{\"metadata\":{\"namespace\":\"n\",\"name\":\"j\",\"uid\":\"u\",\"resourceVersion\":"
        "\"5\",\"annotations\":{\"cachew.dev/cache-backend\":\"c\"}},\"spec\":{\"suspend\":"
        "true,\"managedBy\":\"kubernetes.io/job-controller\"}}");
    (void)state;
    assert_string_equal(job->wants, "c");
    assert_string_equal(job->managed_by, "");
    assert_true(job->suspended && !job->finished && !job->is_queued && !job->is_owned);
    cw_job_facts_free(job);
}

static void a_job_of_others(void **state)
{
    struct cw_job_facts *job = read_job(
        "JobSet", "{\"metadata\":{\"name\":\"j\",\"labels\":{\"kueue.x-k8s.io/queue-name\":\"q\"},"
                  "\"ownerReferences\":[{\"controller\":true}]},\"spec\":{\"managedBy\":\"x/y\"}}");
    (void)state;
    assert_string_equal(job->wants, "");
    assert_string_equal(job->managed_by, "x/y");
    assert_true(!job->suspended && job->is_queued && job->is_owned);
    cw_job_facts_free(job);
}

static void a_job_that_has_ended(void **state)
{
    static const char *const jobs[] = {
        "{\"metadata\":{\"name\":\"j\"},\"status\":{\"conditions\":[{\"type\":\"Suspended\","
        "\"status\":\"False\"},{\"type\":\"Failed\",\"status\":\"True\",\"lastTransitionTime\":"
        "\"1970-01-01T00:00:01Z\"}]}}",
        "{\"metadata\":{\"name\":\"j\"},\"status\":{\"jobDeploymentStatus\":\"Complete\"}}"};
    (void)state;
    for (size_t i = 0; i < CW_ARRAY_LEN(jobs); i++) {
        struct cw_job_facts *job = read_job("RayJob", jobs[i]);
        assert_true(job->finished);
        assert_int_equal(job->finished_ms, i == 0 ? 1000 : 0);
        cw_job_facts_free(job);
    }
}

static void what_is_no_job(void **state)
{
    (void)state;
    assert_null(read_job("Job", "[]"));
    assert_null(read_job("Job", "{\"metadata\":{\"name\":7}}"));
    assert_null(cw_job_kind_find("Pod"));
    struct cw_job_facts *job = read_job(
        "Job", "{\"metadata\":{\"name\":\"j\",\"annotations\":[],\"labels\":7,\"ownerReferences\":"
               "{}},\"spec\":{\"suspend\":\"yes\"},\"status\":{\"conditions\":[7,{}]}}");
    assert_true(!job->suspended && !job->finished && !job->is_owned);
    cw_job_facts_free(job);
}

static void a_job_with_its_spec(void **state)
{
    struct cw_job_facts *job =
        read_job("Job", "{\"metadata\":{\"namespace\":\"n\",\"name\":\"j\",\"uid\":\"abcdefgh\","
                        "\"annotations\":{\"cachew.dev/cache-backend-spec\":\"cacheEngine:\\n  "
                        "memory: {}\\njobRef: {name: another}\\n\"}}}");
    CW_STR_AUTO body = {0};
    struct cw_err err = {0};
    (void)state;
    cw_job_name_spec(job);
    assert_string_equal(job->wants, "cache-j-abcde");
    assert_int_equal(cw_job_spec_print(job, &body, &err), 0);
    assert_string_equal(
        cw_str_text(&body),
        "{\"apiVersion\":\"cachew.dev/"
        "v1alpha1\",\"kind\":\"CacheBackend\",\"metadata\":{\"name\":\"cache-j-abcde\","
        "\"ownerReferences\":[{\"apiVersion\":\"batch/"
        "v1\","
        "\"kind\":\"Job\",\"name\":\"j\",\"uid\":\"abcdefgh\"}]},\"spec\":{\"cacheEngine\":{"
        "\"memory\":{}},\"jobRef\":{\"kind\":\"Job\",\"name\":\"j\"}}}");
    static const char *const wrong[] = {"[1]", "{", "text", "{a: &x 1, b: *x", "\t- :"};
    for (size_t i = 0; i < CW_ARRAY_LEN(wrong); i++) {
        cw_mem_free(job->spec);
        job->spec = cw_mem_strdup(wrong[i]);
        assert_true(cw_job_spec_print(job, &body, &err) < 0);
        assert_non_null(strstr(err.msg, "cachew.dev/cache-backend-spec"));
    }
    cw_job_facts_free(job);
}

#define ANNOTATIONS_MAX ((size_t)256 << 10) /* of one object, as API servers have it */

/* Annotations as long as all of an object's may be: BEGIN once, and REPEATED to the end. */
struct hostile {
    const char *begin, *repeated, *refusal;
};

static char *fill(const struct hostile *hostile)
{
    size_t begin = strlen(hostile->begin), one = strlen(hostile->repeated);
    char *text = CW_NEW_ARRAY(char, ANNOTATIONS_MAX + 1);
    memcpy(text, hostile->begin, begin);
    for (size_t at = begin; at < ANNOTATIONS_MAX; at++)
        text[at] = hostile->repeated[(at - begin) % one];
    text[ANNOTATIONS_MAX] = '\0';
    return text;
}

/* Each block is one deeper than the one before it. */
static char *fill_stairs(void)
{
    CW_STR_AUTO text = {0};
    for (size_t depth = 0; text.len + depth + 4 < ANNOTATIONS_MAX; depth++) {
        for (size_t i = 0; i < depth; i++)
            cw_str_add(&text, " ");
        cw_str_add(&text, "a:\n");
    }
    return cw_str_take(&text);
}

/* Takes TEXT. */
static void is_refused(char *text, const char *refusal)
{
    struct cw_job_facts *job = read_job("Job", "{\"metadata\":{\"name\":\"j\",\"uid\":\"u\"}}");
    CW_STR_AUTO body = {0};
    struct cw_err err = {0};
    cw_mem_free(job->spec);
    job->spec = text;
    assert_true(cw_job_spec_print(job, &body, &err) < 0);
    assert_non_null(strstr(err.msg, "cachew.dev/cache-backend-spec"));
    if (!strstr(err.msg, refusal))
        fail_msg("not \"%s\": %s", refusal, err.msg);
    assert_true(strlen(err.msg) < sizeof(err.msg) - 1);
    assert_int_equal(body.len, 0);
    cw_job_facts_free(job);
}

static void an_annotation_of_256_kib(void **state)
{
    static const struct hostile hostiles[] = {
        {"", "x", "it is no object"},
        {"", "[", "nested"},
        {"", "{a: ", "nested"},
        {"", "- ", "nested"},
        {"", "? ", "no plain text"},
        {"a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a]\nc: ", "[*b,*b],", "anchors"},
        {"a: &a {<<: *a}\nb: ", "x", "anchors"},
        {"a: \"", "\\u00e9", "end of stream"},
        {"cacheEngine: {memory: {}}\n", "---\na: 1\n", "a second document"},
        {"", "*a ", "aliases"},
        {"", "a: 1\n", "there already"},
    };
    (void)state;
    for (size_t i = 0; i < CW_ARRAY_LEN(hostiles); i++)
        is_refused(fill(&hostiles[i]), hostiles[i].refusal);
    is_refused(fill_stairs(), "nested");
}

static void pods(void **state)
{
    struct cw_value value =
        parse("{\"metadata\":{\"namespace\":\"n\",\"name\":\"p\",\"annotations\":{\"cachew.dev/"
              "cache-backend\":\"c\"}},\"spec\":{\"schedulingGates\":[{\"name\":\"a\"},{\"name\":"
              "\"cachew.dev/cache\"},{\"name\":\"b\"}]}}");
    struct cw_pod_facts *pod = cw_pod_facts_read(&value);
    (void)state;
    assert_true(pod->gated);
    assert_string_equal(pod->other_gates, "[{\"name\":\"a\"},{\"name\":\"b\"}]");
    cw_pod_facts_free(pod);
    cw_value_fini(&value);
    value =
        parse("{\"metadata\":{\"name\":\"p\"},\"spec\":{\"schedulingGates\":[{\"name\":\"a\"}]}}");
    pod = cw_pod_facts_read(&value);
    assert_false(pod->gated);
    cw_pod_facts_free(pod);
    cw_value_fini(&value);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_job_that_waits),
        cmocka_unit_test(a_job_of_others),
        cmocka_unit_test(a_job_that_has_ended),
        cmocka_unit_test(what_is_no_job),
        cmocka_unit_test(a_job_with_its_spec),
        cmocka_unit_test(an_annotation_of_256_kib),
        cmocka_unit_test(pods),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
