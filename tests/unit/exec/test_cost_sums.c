/* SPDX-License-Identifier: Apache-2.0 */
/* What timed calls of operators sum up, for the line of their costs. */
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "run.h"
#include "support/cm.h"

#define NODES_MAX 8

static struct cw_plan *run_once(const char *nodes, struct cw_exec_count *ret_counts)
{
    struct cw_plan *plan = plan_of(nodes, 1);
    struct cw_exec *exec = cw_exec_new(2);
    size_t n = cw_plan_info(plan)->items;
    free_jobs(run_all(exec, plan, 0, CW_BAD_FAIL, n), n);
    cw_exec_free(exec);
    cw_exec_counts(plan, ret_counts);
    return plan;
}

/* Sums of quotients are rounded. */
static bool is_near(double a, double b)
{
    return fabs(a - b) <= 1e-9 * fabs(b);
}

/* The bytes are those of the fields that an operator reads and writes, and of none for `burn`. */
static void test_bytes(void **state)
{
    struct cw_exec_count counts[NODES_MAX];
    struct cw_plan *plan = run_once(
        "{\"op\":\"range\",\"stop\":5000},{\"op\":\"cast\",\"dtype\":\"i32\"},{\"op\":\"burn\","
        "\"ms\":0.001},{\"op\":\"eval\",\"expr\":\"x * 2\",\"out\":\"y\"},{\"op\":\"eval\","
        "\"name\":\"of_y\",\"expr\":\"y + 1\",\"out\":\"z\"},{\"op\":\"batch\",\"size\":50}",
        counts);
    const struct {
        const char *name;
        double in, out;
    } expected[] = {
        {"range", 0, 8}, {"cast", 8, 4}, {"burn", 0, 0}, {"eval", 4, 8}, {"of_y", 8, 8}};
    (void)state;
    for (size_t i = 0; i < CW_ARRAY_LEN(expected); i++) {
        const struct cw_cost_sums *sums = &counts[node_of(plan, expected[i].name)].sums;
        if (!(sums->timed >= 1 && sums->calls + sums->batch_calls >= sums->timed &&
              sums->calls <= 5000))
            fail_msg("%s: %g timed, %g calls", expected[i].name, sums->timed, sums->calls);
        if (!is_near(sums->in_bytes, expected[i].in * sums->calls) ||
            !is_near(sums->out_bytes, expected[i].out * sums->calls))
            fail_msg("%s: %g bytes in, %g out", expected[i].name, sums->in_bytes / sums->calls,
                     sums->out_bytes / sums->calls);
        assert_true(is_near(sums->in_bytes_squared, expected[i].in * expected[i].in * sums->calls));
        assert_true(sums->dropped == 0);
    }
    const struct cw_exec_count *cast = &counts[node_of(plan, "cast")];
    /* one call in many is followed by one for many elements, whose costs are counted by themselves */
    const struct cw_cost_sums *sums = &cast->sums;
    assert_true(sums->batch_calls > 0 && is_near(sums->batch_in_bytes, 8 * sums->batch_calls));
    assert_true(is_near(sums->cpu_ns_bytes, 8 * ((double)cast->cpu_ns - sums->batch_cpu_ns)));
    assert_true(is_near(sums->wall_ns_bytes, 8 * ((double)cast->wall_ns - sums->batch_wall_ns)));
    cw_plan_unref(plan);
}

/* All elements that are left out are counted, not only those of timed calls. */
static void test_dropped(void **state)
{
    struct cw_exec_count counts[NODES_MAX];
    struct cw_plan *plan = run_once("{\"op\":\"range\",\"stop\":3000},{\"op\":\"filter\",\"expr\":"
                                    "\"x % 20 == 0\"},{\"op\":\"batch\",\"size\":8}",
                                    counts);
    const struct cw_exec_count *filter = &counts[node_of(plan, "filter")];
    struct cw_cost_line line;
    (void)state;
    assert_int_equal(filter->elements, 3000);
    assert_true(filter->sums.dropped == 2850);
    const struct cw_cost_measured measured = {.elements = 3000,
                                              .cpu_ns = (double)filter->cpu_ns,
                                              .wall_ns = (double)filter->wall_ns,
                                              .sums = filter->sums};
    cw_cost_line_fit(&measured, false, &line);
    assert_true(fabs(line.keep - 0.05) < 1e-9);
    cw_plan_unref(plan);
}

/* A decoder reads few bytes and writes many. */
static void test_decoder(void **state)
{
    struct cw_exec_count counts[NODES_MAX];
    struct cw_plan *plan = run_once("{\"op\":\"files\",\"pattern\":\"" CW_TEST_IMAGES
                                    "/image_4*.jpg\"},{\"op\":\"repeat\","
                                    "\"count\":20},{\"op\":\"read_file\"},{\"op\":\"decode_image\"}"
                                    ",{\"op\":\"batch\",\"size\":1}",
                                    counts);
    const struct cw_cost_sums *sums = &counts[node_of(plan, "decode_image")].sums;
    (void)state;
    assert_true(sums->calls >= 20 && sums->in_bytes > 100 * sums->calls);
    assert_true(sums->in_bytes_squared * sums->calls >= sums->in_bytes * sums->in_bytes * 0.999);
    assert_true(sums->out_bytes > sums->in_bytes);
    assert_true(sums->cpu_ns_bytes > 0 && sums->wall_ns_bytes > 0);
    cw_plan_unref(plan);
}

/* A decoder before a crop makes a part of the image, and now and then the whole. */
static void test_whole_images(void **state)
{
    struct cw_exec_count counts[NODES_MAX];
    struct cw_plan *plan = run_once(
        "{\"op\":\"files\",\"pattern\":\"" CW_TEST_IMAGES "/image_4*.jpg\"},{\"op\":\"repeat\","
        "\"count\":600},{\"op\":\"read_file\"},{\"op\":\"decode_image\",\"channels\":3},"
        "{\"op\":\"center_crop\",\"size\":[8,8]},{\"op\":\"batch\",\"size\":20}",
        counts);
    const struct cw_exec_count *decode = &counts[node_of(plan, "decode_image")];
    const struct cw_cost_sums *sums = &decode->sums;
    (void)state;
    double whole = sums->whole_timed;
    if (whole < (double)decode->elements / 256 - 4 || whole > (double)decode->elements / 256 + 4)
        fail_msg("%g whole ones of %g", whole, (double)decode->elements);
    assert_true(
        is_near(sums->out_bytes, 8 * 8 * 3 * sums->calls)); /* they are not among the others */
    assert_true(sums->whole_out_bytes > 2 * 8 * 8 * 3 * whole);
    assert_true(sums->whole_in_bytes > 100 * whole && sums->whole_wall_ns >= sums->whole_cpu_ns);
    assert_true(counts[node_of(plan, "center_crop")].sums.whole_timed <= 0);
    cw_plan_unref(plan);
}

/* Strings of 1000 and of 5000 bytes, of which each byte takes 20 ns: that is the line that comes out. The
 * bars are wide, and the time is that of the CPU. */
static void test_line(void **state)
{
    struct cw_exec_count counts[NODES_MAX];
    struct cw_cost_line line;
    char small[1001] = "", large[5001] = "";
    (void)state;
    memset(small, 'a', sizeof(small) - 1);
    memset(large, 'b', sizeof(large) - 1);
    cw_autofree char *nodes = cw_mem_printf(
        "{\"op\":\"from_values\",\"values\":[\"%s\",\"%s\"]},{\"op\":\"repeat\",\"count\":300},"
        "{\"op\":\"emulate\",\"ns_per_byte\":20},{\"op\":\"batch\",\"size\":10}",
        small, large);
    struct cw_plan *plan = run_once(nodes, counts);
    const struct cw_exec_count *emulate = &counts[node_of(plan, "emulate")];
    const struct cw_cost_measured measured = {.elements = (double)emulate->elements,
                                              .cpu_ns = (double)emulate->cpu_ns,
                                              .wall_ns = (double)emulate->wall_ns,
                                              .sums = emulate->sums};
    cw_cost_line_fit(&measured, false, &line);
    if (line.assumed || line.in_bytes < 2000 || line.in_bytes > 4000 || line.cpu_ns_byte < 14 ||
        line.cpu_ns_byte > 40 || line.cpu_ns > 20000)
        fail_msg("%g ns and %g a byte, of %g bytes, %g timed", line.cpu_ns, line.cpu_ns_byte,
                 line.in_bytes, emulate->sums.timed);
    cw_plan_unref(plan);
}

/* ---- sets of filters ---- */

#define FILTER_NAMED(name, expr) "{\"op\":\"filter\",\"name\":\"" name "\",\"expr\":\"" expr "\"}"

/* Runs a pipeline, and returns what part of the elements that were shown to all filters of a set passes all. */
static double share_of(struct cw_exec_filters *filters, unsigned set)
{
    return filters->shown[set] > 0 ? (double)filters->passed[set] / (double)filters->shown[set]
                                   : -1;
}

static struct cw_plan *run_filters(const char *nodes, struct cw_exec_filters *ret_filters)
{
    struct cw_exec_count counts[NODES_MAX];
    struct cw_plan *plan = run_once(nodes, counts);
    cw_exec_filter_counts(plan, ret_filters);
    return plan;
}

/* The second filter leaves out nothing that the first one lets pass, and half of what that leaves out: both are known,
 * and what passes both. The elements that are seen are few. */
static void test_filters(void **state)
{
    struct cw_exec_filters filters;
    (void)state;
    struct cw_plan *plan = run_filters(
        "{\"op\":\"range\",\"stop\":60000}," FILTER_NAMED("a", "x % 10 < 2") "," FILTER_NAMED(
            "b", "x % 10 < 6") ",{\"op\":\"batch\",\"size\":8}",
        &filters);
    assert_true(filters.node[0] == node_of(plan, "a") && filters.node[1] == node_of(plan, "b"));
    assert_true(filters.node[2] == SIZE_MAX);
    assert_in_range(filters.shown[3], 200, 1000);
    assert_true(fabs(share_of(&filters, 1) - 0.2) < 0.1 &&
                fabs(share_of(&filters, 2) - 0.6) < 0.15);
    assert_true(filters.passed[3] == filters.passed[1] && filters.shown[3] == filters.shown[1]);
    cw_plan_unref(plan);
}

/* A filter is not shown what the one before it guards it from, nor what is written between. */
static void test_guarded(void **state)
{
    static const char *const cases[] = {
        "{\"op\":\"range\",\"stop\":9000}," FILTER_NAMED("a", "x > 0") "," FILTER_NAMED(
            "b", "100 % x < 50") ",{\"op\":\"batch\",\"size\":8}",
        "{\"op\":\"range\",\"stop\":9000}," FILTER_NAMED(
            "a", "x > 5000") ",{\"op\":\"eval\",\"expr\":"
                             "\"x - 1\"}," FILTER_NAMED(
                                 "b", "x % 2 == 0") ",{\"op\":\"batch\",\"size\":8}",
        "{\"op\":\"range\",\"stop\":9000}," FILTER_NAMED(
            "a", "x > 5000") ",{\"op\":\"batch\",\"size\":8}"};
    (void)state;
    for (size_t i = 0; i < CW_ARRAY_LEN(cases); i++) {
        struct cw_exec_filters filters;
        cw_plan_unref(run_filters(cases[i], &filters));
        for (size_t set = 1; set < CW_FILTER_SETS; set++)
            assert_int_equal(filters.shown[set], 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bytes),   cmocka_unit_test(test_dropped),
        cmocka_unit_test(test_filters), cmocka_unit_test(test_guarded),
        cmocka_unit_test(test_decoder), cmocka_unit_test(test_whole_images),
        cmocka_unit_test(test_line)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
