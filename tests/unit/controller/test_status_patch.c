/* SPDX-License-Identifier: Apache-2.0 */
/* What is written of a status, and when nothing is. */
#include "controller/status_patch.h"
#include "kube/field.h"
#include "unit/controller/sight.h"

#define GOES "\"deletionTimestamp\":\"2026-11-26T13:33:20Z\""
#define SPEC "{\"cacheEngine\":{\"localfs\":{}},\"jobRef\":{\"name\":\"train\"}}"

/* Applies the merge patch's status to an empty one: what the server would have. */
static char *status_of(const char *patch)
{
    struct cw_value value = {0};
    CW_STR_AUTO out = {0};
    struct cw_err err = {0};
    if (cw_value_parse(patch, strlen(patch), "patch", &value, &err) != 0)
        fail_msg("%s: %s", err.msg, patch);
    assert_string_equal(cw_kube_text(&value, "metadata.resourceVersion"), "7");
    cw_value_print(cw_kube_field(&value, "status"), &out);
    cw_value_fini(&value);
    return cw_str_take(&out);
}

static enum cw_status_change ask(struct world *w, struct cw_str *out)
{
    cw_str_clear(out);
    cw_decide(&w->s, &w->plan);
    return cw_status_patch(&w->s, &w->plan, out);
}

static void is_written_once(void **state)
{
    struct world w;
    CW_STR_AUTO patch = {0};
    (void)state;
    set_up(&w, "", SPEC, "{}");
    w.s.job = &w.job;
    w.job.suspended = false;
    w.users[0] = lit("other");
    w.cache.users_n = 1;
    assert_int_equal(ask(&w, &patch), CW_STATUS_STATE);
    cw_autofree char *status = status_of(cw_str_text(&patch));
    assert_non_null(strstr(status, "\"cacheStatus\":\"CacheReady\""));
    assert_non_null(strstr(status, "\"usedBy\":[\"train\",\"other\"],\"usedNum\":2"));
    assert_non_null(strstr(status, "\"releasedJob\":\"j1\""));
    assert_non_null(strstr(status, "\"lastTransitionTime\":\"2026-11-26T13:33:20Z\""));
    tear_down(&w);
    /* With that status, an hour later, there is nothing to write. */
    set_up(&w, "", SPEC, status);
    w.s.job = &w.job;
    w.job.suspended = false;
    w.users[0] = lit("other");
    w.cache.users_n = 1;
    w.s.now_ms += 3600000;
    assert_int_equal(ask(&w, &patch), CW_STATUS_SAME);
    assert_string_equal(cw_str_text(&patch), "");
    /* A job that the dispatcher knows by the name of jobRef is one user. */
    w.users[0] = lit("train");
    assert_int_equal(ask(&w, &patch), CW_STATUS_STATE);
    assert_non_null(strstr(cw_str_text(&patch), "\"usedBy\":[\"train\"],\"usedNum\":1"));
    tear_down(&w);
}

static void figures_are_rounded(void **state)
{
    struct world w;
    CW_STR_AUTO patch = {0};
    (void)state;
    set_up(&w, "", SPEC, "{}");
    w.cache.bytes = (uint64_t)3 << 30;
    w.cache.hits = 2;
    w.cache.misses = 1;
    (void)ask(&w, &patch);
    cw_autofree char *status = status_of(cw_str_text(&patch));
    assert_non_null(strstr(status, "\"cache\":{\"cached\":\"3.00GiB\",\"hitRatio\":\"67%\"}"));
    tear_down(&w);
    set_up(&w, "", SPEC, status);
    w.cache.bytes = ((uint64_t)3 << 30) + 1000;
    w.cache.hits = 2000;
    w.cache.misses = 1000;
    assert_int_equal(ask(&w, &patch), CW_STATUS_SAME);
    w.cache.bytes = (uint64_t)4 << 30;
    assert_int_equal(ask(&w, &patch), CW_STATUS_FIGURES);
    tear_down(&w);
}

#define WARM(more)                                                                                 \
    "{\"cacheEngine\":{\"localfs\":{}},\"prefetch\":{\"enabled\":true},\"dataset\":{"              \
    "\"dataSources\":"                                                                             \
    "[{\"location\":\"file:///d\",\"subDirName\":\"d\"}" more "]}}"

/* What was warmed is told with its mark; other sources are warmed anew, once, from a status that says so. */
static void other_sources_are_warmed_anew(void **state)
{
    const char *more = WARM(",{\"location\":\"file:///e\",\"subDirName\":\"e\"}");
    struct world w;
    CW_STR_AUTO patch = {0};
    (void)state;
    set_up(&w, "", WARM(""), "{\"prefetch\":{\"phase\":\"Executing\"}}");
    w.s.prefetch.state = CW_STEP_DONE;
    assert_int_equal(ask(&w, &patch), CW_STATUS_STATE);
    cw_autofree char *warmed = status_of(cw_str_text(&patch));
    assert_non_null(strstr(warmed, "\"phase\":\"Complete\""));
    tear_down(&w);
    set_up(&w, "", WARM(""), warmed); /* as another controller finds it */
    assert_int_equal(ask(&w, &patch), CW_STATUS_SAME);
    assert_int_equal(w.plan.todo, 0);
    tear_down(&w);
    set_up(&w, "", more, warmed);
    w.s.prefetch.state = CW_STEP_DONE; /* that of before */
    w.s.warming = "another";
    assert_int_equal(ask(&w, &patch), CW_STATUS_STATE);
    assert_int_equal(w.plan.todo, CW_DO_PREFETCH);
    assert_non_null(strstr(cw_str_text(&patch), "\"reason\":\"PrefetchRunning\""));
    assert_non_null(strstr(cw_str_text(&patch), "\"completionTime\":null,\"phase\":\"Pending\""));
    assert_string_equal(w.plan.word, "CacheReady"); /* what was ready stays so */
    tear_down(&w);
    /* A controller that marked nothing. */
    set_up(&w, "", more, "{\"prefetch\":{\"phase\":\"Complete\"}}");
    (void)ask(&w, &patch);
    assert_int_equal(w.plan.todo, 0);
    tear_down(&w);
}

/* How many files are left is a figure; that they are being deleted is a state, and so is what hinders it. */
static void counts_are_figures(void **state)
{
    struct world w;
    CW_STR_AUTO patch = {0};
    (void)state;
    set_up(&w, GOES, SPEC, "{}");
    w.cache.leaving = true;
    w.cache.files_left = 55;
    assert_int_equal(ask(&w, &patch), CW_STATUS_STATE);
    cw_autofree char *status = status_of(cw_str_text(&patch));
    assert_non_null(strstr(status, "\"message\":\"55 files are being deleted\",\"observed"));
    tear_down(&w);
    set_up(&w, GOES, SPEC, status);
    w.cache.leaving = true;
    w.cache.files_left = 55;
    assert_int_equal(ask(&w, &patch), CW_STATUS_SAME);
    w.cache.files_left = 39;
    assert_int_equal(ask(&w, &patch), CW_STATUS_FIGURES);
    assert_null(strstr(cw_str_text(&patch), "55 files"));
    w.cache.why = lit("the disk is away");
    assert_int_equal(ask(&w, &patch), CW_STATUS_STATE);
    tear_down(&w);
}

/* Members that are wanted no more become null; what has not flipped keeps its time. */
static void what_goes_is_null(void **state)
{
    struct world w;
    CW_STR_AUTO patch = {0};
    (void)state;
    set_up(&w, "", "{\"cacheEngine\":{\"localfs\":{}}}",
           "{\"expireTime\":\"2026-11-26T12:00:00Z\",\"cache\":{\"cached\":\"1B\",\"capacity\":"
           "\"9B\"},\"conditions\":[{\"type\":\"Accepted\",\"status\":\"True\",\"reason\":\"X\","
           "\"lastTransitionTime\":\"2026-01-01T00:00:00Z\"},{\"type\":\"Ready\",\"status\":"
           "\"False\",\"reason\":\"X\",\"lastTransitionTime\":\"2026-01-01T00:00:00Z\"}]}");
    assert_int_equal(ask(&w, &patch), CW_STATUS_STATE);
    const char *text = cw_str_text(&patch);
    assert_non_null(strstr(text, "\"expireTime\":null"));
    assert_non_null(strstr(text, "\"cache\":{\"cached\":\"0B\",\"capacity\":null}"));
    assert_non_null(strstr(text, "{\"lastTransitionTime\":\"2026-01-01T00:00:00Z\",\"message\":"
                                 "\"\",\"observedGeneration\":3,\"reason\":\"Understood\""));
    assert_non_null(strstr(text, "{\"lastTransitionTime\":\"2026-11-26T13:33:20Z\",\"message\":"
                                 "\"\",\"observedGeneration\":3,\"reason\":\"CacheReady\""));
    tear_down(&w);
}

static void sizes(void **state)
{
    static const struct {
        uint64_t bytes;
        const char *text;
    } rows[] = {
        {0, "0B"},          {999, "999B"},      {1000, "0.98KiB"},    {1024, "1.00KiB"},
        {10240, "10.0KiB"}, {102400, "100KiB"}, {1048575, "1.00MiB"}, {UINT64_MAX, "16.0EiB"}};
    (void)state;
    for (size_t i = 0; i < CW_ARRAY_LEN(rows); i++) {
        CW_STR_AUTO text = {0};
        cw_status_size(rows[i].bytes, &text);
        assert_string_equal(cw_str_text(&text), rows[i].text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(is_written_once),    cmocka_unit_test(figures_are_rounded),
        cmocka_unit_test(counts_are_figures), cmocka_unit_test(other_sources_are_warmed_anew),
        cmocka_unit_test(what_goes_is_null),  cmocka_unit_test(sizes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
