/* SPDX-License-Identifier: Apache-2.0 */
/* Metrics: labels are escaped whatever jobs are called, what there is not is left out, and every
 * row keeps the rules. */
#include <regex.h>
#include <stdio.h>
#include <string.h>

#include "dispatcher/admin/admin.h"
#include "dispatcher/scaling/scaling.h"
#include "unit/dispatcher/made_up.h"

static int begin(void **state)
{
    struct cw_err err = {0};
    int rc = made_up_begin_caching(state);
    return rc == 0 ? cw_provision_find("none", &made_up.provision.kind, &err) : rc;
}

static struct cw_job *begin_job(const char *id, const char *name)
{
    Cachew__V1__JobOptions *options = cachew__v1__job_options__unpack(NULL, 0, NULL);
    if (name[0]) {
        Cachew__V1__JobOptions from = CACHEW__V1__JOB_OPTIONS__INIT;
        uint8_t bytes[512];
        cachew__v1__job_options__free_unpacked(options, NULL);
        from.name = (char *)(uintptr_t)name;
        options = cachew__v1__job_options__unpack(NULL, cachew__v1__job_options__pack(&from, bytes),
                                                  bytes);
    }
    return made_up_job(id, options, cachew__v1__plan_info__unpack(NULL, 0, NULL));
}

static void values_are_escaped(void **state)
{
    (void)state;
    CW_STR_AUTO out = {0};
    cw_metrics_add_value(&out, "a\\b\"c\nd\te\x1b f\xc3\xa4");
    assert_string_equal(cw_str_text(&out), "a\\\\b\\\"c\\nd?e? f\xc3\xa4");
}

/* Each line is a sample or a comment; the samples of a metric stand together behind its
 * comments, and none is there twice. */
static void check_text(const char *text)
{
    regex_t sample, label, help, type;
    char metric[128] = "";
    struct cw_strmap seen = {0}, metrics = {0};
    assert_int_equal(
        regcomp(&sample, "^([a-z_]+)(\\{.*\\})? -?[0-9.]+(e[+-][0-9]+)?$", REG_EXTENDED), 0);
    assert_int_equal(
        regcomp(&label, "^\\{([a-z]+=\"([^\"\\\\]|\\\\[\\\\n\"])*\",?)+\\}$", REG_EXTENDED), 0);
    assert_int_equal(regcomp(&help, "^# HELP ([a-z_]+) [A-Z1].*\\.$", REG_EXTENDED), 0);
    assert_int_equal(regcomp(&type, "^# TYPE ([a-z_]+) (counter|gauge)$", REG_EXTENDED), 0);
    for (const char *at = text; *at;) {
        size_t n = strcspn(at, "\n");
        cw_autofree char *line = cw_mem_strndup(at, n);
        regmatch_t m[3];
        assert_int_equal(at[n], '\n');
        at += n + 1;
        if (regexec(&help, line, 3, m, 0) == 0) {
            (void)snprintf(metric, sizeof(metric), "%.*s", (int)(m[1].rm_eo - m[1].rm_so),
                           line + m[1].rm_so);
            if (cw_strmap_set(&metrics, metric, metric))
                fail_msg("%s is there twice", metric);
        } else if (regexec(&type, line, 3, m, 0) == 0) {
            bool counter = line[m[2].rm_so] == 'c',
                 total = strcmp(metric + strlen(metric) - 6, "_total") == 0;
            if (strncmp(line + m[1].rm_so, metric, strlen(metric)) != 0 || counter != total)
                fail_msg("%s", line);
        } else if (regexec(&sample, line, 3, m, 0) == 0) {
            cw_autofree char *series = cw_mem_strndup(line, strcspn(line, " "));
            cw_autofree char *labels =
                m[2].rm_so < 0
                    ? NULL
                    : cw_mem_strndup(line + m[2].rm_so, (size_t)(m[2].rm_eo - m[2].rm_so));
            bool of =
                (size_t)m[1].rm_eo == strlen(metric) && strncmp(line, metric, strlen(metric)) == 0;
            if (!of || (labels && regexec(&label, labels, 0, NULL, 0) != 0) ||
                (!strchr(series, '"') && cw_strmap_set(&seen, series, metric)))
                fail_msg("behind %s: %s", metric, line);
        } else {
            fail_msg("%s", line);
        }
    }
    cw_strmap_fini(&seen);
    cw_strmap_fini(&metrics);
    regfree(&sample);
    regfree(&label);
    regfree(&help);
    regfree(&type);
}

static void print_all(struct cw_str *out)
{
    struct cw_metrics_page *page = cw_metrics_page_new();
    const char *name;
    void *tenant;
    cw_metrics_add_dispatcher(page, &made_up);
    for (size_t i = 0; cw_strmap_next(&made_up.tenants, &i, &name, &tenant);)
        cw_metrics_add_tenant(page, &made_up, tenant);
    for (struct cw_job *job = made_up.jobs; job; job = job->next)
        cw_metrics_add_job(page, job);
    for (const struct cw_worker *worker = made_up.workers; worker; worker = worker->next)
        cw_metrics_add_worker(page, worker);
    cw_metrics_add_states(page, &made_up);
    cw_metrics_page_print(page, out);
    cw_metrics_page_free(page);
}

/* What is not of one object is collected in one turn of the loop: without a look at any object. */
static void the_first_part_looks_at_no_worker_and_no_job(void **state)
{
    (void)state;
    struct cw_metrics_page *page = cw_metrics_page_new();
    struct cw_worker none = {.said_hello = true};
    struct cw_dispatcher other = made_up;
    none.next = &none; /* who walks along these would not come back */
    other.workers = &none;
    other.jobs = NULL;
    cw_metrics_add_dispatcher(page, &other);
    cw_metrics_add_states(page, &other);
    cw_metrics_page_free(page);
}

static void text_is_well_formed(void **state)
{
    (void)state;
    CW_STR_AUTO text = {0};
    begin_job("j1", "a \"name\" with \\ and\nmore");
    begin_job("j2", "");
    (void)made_up_worker(0xab, 4);
    made_up.workers->host_id = cw_mem_strdup("host");
    print_all(&text);
    check_text(cw_str_text(&text));
    static const char *const there[] = {
        "cachew_jobs{state=\"running\"} ",
        "cachew_workers{state=\"ready\"} 1.0\n",
        ("cachew_job_batches_total{job=\"j1\",name=\"a \\\"name\\\" with \\\\ and\\nmore\","
         "tenant=\"default\"} 0.0\n"),
        "cachew_job_batches_total{job=\"j2\",name=\"\",tenant=\"default\"} 0.0\n",
        "cachew_worker_threads{worker=\"00000000000000ab\",address=\"worker\",host=\"host\"} 4.0\n",
        "cachew_cache_bytes 0.0\n",
        "cachew_decisions_total{kind=\"evict\"} 0.0\n",
    };
    for (size_t i = 0; i < CW_ARRAY_LEN(there); i++)
        if (!strstr(cw_str_text(&text), there[i]))
            fail_msg("%s is missing in %s", there[i], cw_str_text(&text));
    /* no value: not even a head */
    static const char *const missing[] = {"cachew_job_step_seconds",  "cachew_worker_host_load",
                                          "cachew_cache_quota_bytes", "cachew_node_",
                                          "cachew_source_cache",      "cachew_workers_starting"};
    for (size_t i = 0; i < CW_ARRAY_LEN(missing); i++)
        assert_null(strstr(cw_str_text(&text), missing[i]));
}

static void every_row_keeps_the_rules(void **state)
{
    (void)state;
    CW_STR_AUTO text = {0};
    cw_metrics_markdown(&text);
    const char *at = strstr(cw_str_text(&text), "|---|");
    regex_t row;
    size_t rows = 0;
    assert_non_null(at);
    assert_int_equal(regcomp(&row,
                             "^\\| `cachew_([a-z_]+_total` \\| counter|[a-z_]+` \\| gauge) \\| "
                             "[a-z, ]* \\| [A-Z1][^|]*\\. \\|$",
                             REG_EXTENDED),
                     0);
    for (at = strchr(at, '\n') + 1; *at; rows++) {
        size_t n = strcspn(at, "\n");
        cw_autofree char *line = cw_mem_strndup(at, n);
        if (regexec(&row, line, 0, NULL, 0) != 0)
            fail_msg("%s", line);
        at += n + 1;
    }
    assert_true(rows > 50);
    regfree(&row);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_escaped),
        cmocka_unit_test_setup_teardown(text_is_well_formed, begin, made_up_end),
        cmocka_unit_test_setup_teardown(the_first_part_looks_at_no_worker_and_no_job, begin,
                                        made_up_end),
        cmocka_unit_test(every_row_keeps_the_rules),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
