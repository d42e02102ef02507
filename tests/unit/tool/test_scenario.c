/* SPDX-License-Identifier: Apache-2.0 */
/* Scenario files of `cachew simulate`: what they mean, and what of them is refused. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "client/tool/scenario.h"
#include "support/cm.h"

static char path[] = "/tmp/cachew-scenario-XXXXXX";

static int load(const char *text, struct scenario **ret_scenario, struct cw_err *err)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
    *err = (struct cw_err){0};
    *ret_scenario = NULL;
    return scenario_load(path, ret_scenario, err);
}

static void what_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text, *says;
    } cases[] = {
        {"", ""},
        {"{}", "jobs"},
        {"{\"jobs\": 1}", "job must be a list, not "},
        {"{\"jobs\": [1]}", "job 0 must be an object, not "},
        {"{\"jobs\": [], \"tenants\": 1}", "tenant must be a list, not "},
        {"{\"jobs\": [{}, {\"batches\": 0}]}", "job 1: "},
        {"{\"jobs\": [{\"colour\": 1}]}", "colour"},
        {"{\"jobs\": [], \"tenants\": [{}]}", "tenant 0: "},
        {"{\"jobs\": [{\"step_s\": []}]}", "the same number of values"},
        {"{\"jobs\": [{\"step_s\": [1, 2]}]}", "the same number of values"},
        {"{\"jobs\": [{\"step_at_s\": [1]}]}", "the first time be 0"},
        {"{\"jobs\": [{\"step_s\": [1, 2], \"step_at_s\": [0, 0]}]}", "must rise"},
        {"{\"jobs\": [{\"epoch_s\": [1, 0]}]}", "epoch_s: times must be greater than 0"},
        {"{\"jobs\": [{\"name\": \"x\", \"tenant\": \"t\"}]}",
         "job 0 (x): tenant \"t\" is not in the list of tenants"},
        {"{\"jobs\": [{\"epochs\": 0}]}", "the scenario needs until_s"},
    };
    for (size_t i = 0; i < CW_ARRAY_LEN(cases); i++) {
        struct scenario *scenario;
        struct cw_err err;
        assert_true(load(cases[i].text, &scenario, &err) < 0);
        assert_null(scenario);
        if (!strstr(err.msg, cases[i].says) || !strstr(err.msg, path))
            fail_msg("\"%s\" does not say \"%s\" and the file's name", err.msg, cases[i].says);
    }
    struct scenario *scenario;
    struct cw_err err = {0};
    assert_true(scenario_load("/no/such/file", &scenario, &err) < 0);
}

static void what_it_means(void **state)
{
    (void)state;
    struct scenario *s;
    struct cw_err err;
    int rc = load("{\"name\": \"two\", \"workers\": 5, \"until_s\": 100, \"max_stall\": 0.1,"
                  " \"policies\": [\"auto\", \"place:pecan\"],"
                  " \"tenants\": [{\"name\": \"t\", \"weight\": 2, \"most\": 3}],"
                  " \"jobs\": [{\"name\": \"a\", \"epochs\": 0, \"tenant\": \"t\"},"
                  "            {\"name\": \"b\", \"count\": 2, \"every_s\": 10, \"arrive_s\": 5}]}",
                  &s, &err);
    if (rc != 0)
        fail_msg("%s", err.msg);
    assert_string_equal(s->name, "two");
    assert_int_equal(s->policies.n, 2);
    assert_true(s->sim.workers == 5 && s->sim.until_s == 100 && s->sim.options.max_stall == 0.1);
    assert_int_equal(s->sim.jobs_n, 3);
    assert_string_equal(s->sim.jobs[0].name, "a");
    assert_string_equal(s->sim.jobs[1].name, "b-1");
    assert_string_equal(s->sim.jobs[2].name, "b-2");
    assert_true(s->sim.jobs[1].arrive_s == 5 && s->sim.jobs[2].arrive_s == 15);
    assert_true(s->sim.jobs[0].tenant == 0 && s->sim.jobs[1].tenant == 1); /* "default" */
    assert_int_equal(s->sim.tenants_n, 2);
    assert_true(s->sim.tenants[0].weight == 2 && s->sim.tenants[0].most == 3);
    assert_int_equal(scenario_use(s, "auto", &err), 0);
    assert_false(s->sim.policy->places);
    assert_int_equal(scenario_use(s, "place:pecan", &err), 0);
    assert_true(s->sim.policy->places);
    assert_true(scenario_use(s, "fastest", &err) < 0);
    assert_true(scenario_use(s, "place:fastest", &err) < 0);
    scenario_free(s);
    scenario_free(NULL);
}

static int begin(void **state)
{
    (void)state;
    int fd = mkstemp(path);
    return fd < 0 || close(fd) != 0;
}

static int end(void **state)
{
    (void)state;
    return unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_refused),
        cmocka_unit_test(what_it_means),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
