/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "base/compiler.h"
#include "policies/cost_line.h"
#include "support/cm.h"

/* Adds a call that stands for `calls`: in_bytes bytes in, and so much time. */
static void add(struct cw_cost_measured *m, double calls, double in_bytes, double cpu_ns,
                double wall_ns)
{
    m->elements += calls;
    m->cpu_ns += calls * cpu_ns;
    m->wall_ns += calls * wall_ns;
    const struct cw_cost_sums sums = {.timed = 1,
                                      .calls = calls,
                                      .in_bytes = calls * in_bytes,
                                      .in_bytes_squared = calls * in_bytes * in_bytes,
                                      .out_bytes = calls * 3 * in_bytes,
                                      .cpu_ns_bytes = calls * in_bytes * cpu_ns,
                                      .wall_ns_bytes = calls * in_bytes * wall_ns};
    cw_cost_sums_add(&m->sums, &sums);
}

static void assert_near(double got, double expected)
{
    if (fabs(got - expected) > 1e-6 * fmax(1, fabs(expected)))
        fail_msg("%.9g, %.9g is right", got, expected);
}

static void assert_line(const struct cw_cost_line *line, double ns, double ns_byte)
{
    assert_near(line->ns, ns);
    assert_near(line->ns_byte, ns_byte);
}

/* Sizes that differ show what a byte costs, whatever number of calls each one stands for. */
static void test_line(void **state)
{
    struct cw_cost_measured m = {0};
    struct cw_cost_line line;
    (void)state;
    for (int i = 0; i < 100; i++) {
        double bytes = 1000 * (1 + i % 7);
        add(&m, 1 + i % 5, bytes, 500 + 2 * bytes, 800 + 3 * bytes);
    }
    cw_cost_line_fit(&m, false, &line);
    assert_line(&line, 800, 3);
    assert_near(line.cpu_ns, 500);
    assert_near(line.cpu_ns_byte, 2);
    assert_near(line.out_bytes, 3 * line.in_bytes);
    assert_false(line.assumed);
    assert_near(line.keep, 1);
}

/* Where sizes hardly differ, the kind of the operator decides, and it is said. */
static void test_sizes_hardly_differ(void **state)
{
    struct cw_cost_measured m = {0};
    struct cw_cost_line line;
    (void)state;
    for (int i = 0; i < 100; i++)
        add(&m, 1, 1000 + i % 2, 3000, 3000);
    cw_cost_line_fit(&m, true, &line);
    assert_true(line.assumed);
    assert_line(&line, 0, 3000 / 1000.5);
    cw_cost_line_fit(&m, false, &line);
    assert_true(line.assumed);
    assert_line(&line, 3000, 0);
}

/* A few calls say nothing of bytes, and nor do those of an operator that reads no field. */
static void test_too_little(void **state)
{
    struct cw_cost_measured few = {0}, none = {0};
    struct cw_cost_line line;
    (void)state;
    add(&few, 1, 1000, 1000, 1000);
    add(&few, 1, 2000, 3000, 3000);
    cw_cost_line_fit(&few, false, &line);
    assert_true(line.assumed);
    assert_line(&line, 2000, 0);
    for (int i = 0; i < 100; i++)
        add(&none, 4, 0, 7, 7);
    cw_cost_line_fit(&none, true, &line);
    assert_line(&line, 7, 0);
}

/* Neither part is less than 0, and the mean stays: larger elements are cheaper here, or what does not
 * depend on bytes comes out below 0. */
static void test_not_below_zero(void **state)
{
    struct cw_cost_measured falls = {0}, steep = {0};
    struct cw_cost_line line;
    (void)state;
    for (int i = 0; i < 50; i++) {
        double bytes = 100 * (1 + i % 2);
        add(&falls, 1, bytes, 900 - bytes, 900 - bytes);
        add(&steep, 1, bytes, 4 * bytes - 300, 4 * bytes - 300);
    }
    cw_cost_line_fit(&falls, false, &line);
    assert_line(&line, 750, 0);
    cw_cost_line_fit(&steep, false, &line);
    assert_line(&line, 0, 2);
}

/* A filter; a worker that sends no sums; nothing at all; wall time below CPU time. */
static void test_counts(void **state)
{
    struct cw_cost_measured m = {.elements = 200, .cpu_ns = 2000, .wall_ns = 1000};
    struct cw_cost_line line;
    (void)state;
    m.sums.dropped = 150;
    cw_cost_line_fit(&m, true, &line);
    assert_near(line.keep, 0.25);
    assert_line(&line, 10, 0);
    assert_near(line.cpu_ns, 10);
    assert_true(line.assumed);
    m = (struct cw_cost_measured){0};
    cw_cost_line_fit(&m, true, &line);
    assert_line(&line, 0, 0);
    assert_near(line.keep, 1);
}

/* Whole images cost so many times what parts do. */
static void test_whole(void **state)
{
    struct cw_cost_line line;
    struct cw_cost_measured measured = {.elements = 100,
                                        .cpu_ns = 100 * 500,
                                        .wall_ns = 100 * 1000,
                                        .sums = {.timed = 4,
                                                 .calls = 100,
                                                 .in_bytes = 100 * 50,
                                                 .in_bytes_squared = 100 * 2500,
                                                 .out_bytes = 100 * 10,
                                                 .whole_timed = 2,
                                                 .whole_in_bytes = 2 * 100,
                                                 .whole_out_bytes = 2 * 90,
                                                 .whole_cpu_ns = 2 * 3000,
                                                 .whole_wall_ns = 2 * 4000}};
    (void)state;
    cw_cost_line_fit(&measured, true, &line); /* 20 ns a byte, so 2000 for the part of 100 bytes */
    assert_true(line.whole.ns_byte > 39.9 && line.whole.ns_byte < 40.1 && line.whole.ns <= 0);
    assert_true(line.whole.cpu_ns_byte > 29.9 && line.whole.cpu_ns_byte < 30.1);
    assert_true(line.whole.out_bytes > 89.9 && line.whole.out_bytes < 90.1);
    measured.sums.whole_timed = 0;
    cw_cost_line_fit(&measured, true, &line);
    assert_true(line.whole.ns_byte <= 0 && line.whole.out_bytes <= 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_line),
                                       cmocka_unit_test(test_whole),
                                       cmocka_unit_test(test_sizes_hardly_differ),
                                       cmocka_unit_test(test_too_little),
                                       cmocka_unit_test(test_not_below_zero),
                                       cmocka_unit_test(test_counts)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
