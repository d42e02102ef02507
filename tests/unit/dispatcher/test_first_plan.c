/* SPDX-License-Identifier: Apache-2.0 */
/* Plans that a job's options name: what is refused, and what pipeline a relaxed one makes. */
#include "support/cm.h"

#include <string.h>

#include "base/mem.h"
#include "dispatcher/optimize/first_plan.h"

/* Two operators that change values of one field do not change sides exactly, since they round or add up
 * otherwise; a relaxed plan may do it. */
static const char text[] = "{\"pipeline\": [{\"op\": \"range\", \"name\": \"r\", \"stop\": 100}, "
                           "{\"op\": \"eval\", \"name\": \"a\", \"expr\": \"x + 1\"}, "
                           "{\"op\": \"eval\", \"name\": \"b\", \"expr\": \"x * 2\"}, "
                           "{\"op\": \"filter\", \"name\": \"f\", \"expr\": \"x % 20 == 3\"}, "
                           "{\"op\": \"batch\", \"name\": \"n\", \"size\": 4}]}";

static struct cw_graph *graph_of(void)
{
    struct cw_graph *graph = NULL;
    struct cw_err err = {0};
    if (cw_graph_parse(text, strlen(text), "test", &graph, &err) != 0)
        fail_msg("%s", err.msg);
    return graph;
}

/* The names of a pipeline, in its order. */
static char *names_of(const struct cw_graph *graph)
{
    CW_STR_AUTO names = {0};
    for (size_t i = 0; i < graph->n; i++)
        cw_str_add(&names, graph->nodes[i].name);
    return cw_mem_strdup(cw_str_text(&names));
}

struct given {
    const char *optimize, *plan, *profile;
    bool relaxed;
};
static int make(struct given given, char **ret_names, struct cw_err *err)
{
    Cachew__V1__JobOptions options = CACHEW__V1__JOB_OPTIONS__INIT;
    cw_autofree char *optimize = cw_mem_strdup(given.optimize ? given.optimize : "");
    cw_autofree char *plan = cw_mem_strdup(given.plan ? given.plan : "");
    cw_autofree char *profile = cw_mem_strdup(given.profile ? given.profile : "");
    struct cw_graph *graph = graph_of(), *relaxed = NULL;
    options.optimize = optimize;
    options.plan = plan;
    options.profile = profile;
    options.relaxed = given.relaxed;
    options.epochs = 1;
    int rc = cw_first_plan_make(&options, graph, &relaxed, err);
    *ret_names = relaxed ? names_of(relaxed) : NULL;
    cw_graph_unref(relaxed);
    cw_graph_unref(graph);
    return rc;
}

static void policies(void **state)
{
    (void)state;
    struct cw_err err = {0};
    assert_int_equal(cw_first_plan_check_policy("auto:once", &err), 0);
    assert_int_equal(cw_first_plan_check_policy("pecan", &err), 0);
    assert_int_equal(cw_first_plan_check_policy("best", &err), CW_E_INVALID);
    assert_non_null(strstr(err.msg, "\"best\" is not known: auto, auto:once, cedar, off, pecan"));
}

#define PROFILE                                                                                    \
    "{\"profile\": 1, \"elements\": 100, \"nodes\": {\"r\": {\"ns\": 1}, \"a\": {\"ns\": 10}, "    \
    "\"b\": {\"ns\": 900}, \"f\": {\"ns\": 5, \"keep\": 0.05}}}"
#define ORDER(exact, order) "{\"plan\": 1, " exact "\"order\": [" order "]}"
#define RELAXED ORDER("\"exact\": false, ", "\"r\", \"b\", \"a\", \"f\", \"n\"")

static void refused(void **state)
{
    (void)state;
    static const struct {
        struct given given;
        const char *says;
    } cases[] = {
        {{.plan = "[]"}, "job option plan: "},
        {{.plan = "{"}, "job option plan"},
        {{.profile = "{\"profile\": 2}"}, "job option profile: "},
        {{.plan = RELAXED}, "job option plan: exact is false"},
        {{.plan = ORDER("", "\"r\", \"b\", \"a\", \"f\", \"n\"")}, "job option plan: "},
        {{.plan = ORDER("", "\"r\", \"a\", \"b\", \"f\"")}, "job option plan: "},
        {{.plan = RELAXED, .profile = PROFILE, .relaxed = true}, "it says already in which order"},
        {{.plan = RELAXED, .optimize = "cedar", .relaxed = true}, "it says already"},
        {{.profile = PROFILE, .optimize = "off"}, "leaves the order as it is written"},
        {{.relaxed = true}, "job option relaxed: the order must be the same at every start"},
        {{.relaxed = true, .optimize = "cedar"}, "job option relaxed: "},
        {{.relaxed = true, .profile = "{\"profile\": 1, \"elements\": 1, \"nodes\": {}}"},
         "there is no \"r\""},
    };
    for (size_t i = 0; i < CW_ARRAY_LEN(cases); i++) {
        struct cw_err err = {0};
        char *names = NULL;
        int rc = make(cases[i].given, &names, &err);
        if (rc == 0 || !strstr(err.msg, cases[i].says))
            fail_msg("case %zu: %d \"%s\"", i, rc, err.msg);
        assert_null(names);
    }
}

static void makes(struct given given, const char *names)
{
    struct cw_err err = {0};
    char *made = NULL;
    if (make(given, &made, &err) != 0)
        fail_msg("%s", err.msg);
    if (!cw_str_eq(made, names))
        fail_msg("%s instead of %s", made ? made : "as written", names ? names : "as written");
    cw_mem_free(made);
}

static void pipelines(void **state)
{
    (void)state;
    makes((struct given){.optimize = "auto"}, NULL);
    makes((struct given){.plan = ORDER("", "\"r\", \"a\", \"b\", \"f\", \"n\"")}, NULL);
    makes((struct given){.profile = PROFILE, .optimize = "cedar"}, NULL);
    makes((struct given){.plan = RELAXED, .relaxed = true}, "rbafn");
    makes((struct given){.optimize = "pecan", .relaxed = true}, "rabfn");
    /* a filter goes by the exact rules, and what is as dear in either order stays */
    makes((struct given){.profile = PROFILE, .relaxed = true}, "rabfn");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(policies),
        cmocka_unit_test(refused),
        cmocka_unit_test(pipelines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
