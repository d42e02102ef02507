/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "base/compiler.h"
#include "policies/share.h"
#include "support/cm.h"

static void check(double workers, const struct cw_share_tenant *tenants, size_t tenants_n, const struct cw_share_job *jobs, size_t n,
                  const double *expected)
{
    double got[16], sum = 0;
    cw_share_out(workers, tenants, tenants_n, jobs, n, got);
    for (size_t i = 0; i < n; i++) {
        sum += got[i];
        if (fabs(got[i] - expected[i]) > 1e-6)
            fail_msg("job %zu got %g, %g is right", i, got[i], expected[i]);
    }
    assert_true(sum <= workers + 1e-6);
}

static const struct cw_share_tenant equal[] = {{1, 0}, {1, 0}};

static void test_enough_for_all(void **state)
{
    (void)state;
    const struct cw_share_job jobs[] = {{0, 1, 0, 1, 3}, {1, 1, 0, 1, 4}};
    check(10, equal, 2, jobs, 2, (double[]){3, 4});
}

static void test_max_min(void **state)
{
    (void)state;
    /* one tenant with three jobs and one with one: tenants are equal, not jobs; what one does not want the others get. First 1 each; of the other 8
     * the second tenant wants 2, so the first has 6 by weight */
    const struct cw_share_job jobs[] = {{0, 1, 0, 1, 10}, {0, 1, 0, 1, 10}, {0, 2, 0, 1, 10}, {1, 1, 0, 1, 3}};
    check(12, equal, 2, jobs, 4, (double[]){2.5, 2.5, 4, 3});
}

static void test_weights_and_limits(void **state)
{
    (void)state;
    const struct cw_share_tenant tenants[] = {{3, 0}, {1, 0}, {1, 2}};
    const struct cw_share_job jobs[] = {{0, 1, 0, 0, 100}, {1, 1, 0, 0, 100}, {2, 1, 0, 0, 100}};
    check(14, tenants, 3, jobs, 3, (double[]){9, 3, 2});
}

static void test_priorities_do_not_starve(void **state)
{
    (void)state;
    const struct cw_share_job jobs[] = {{0, 1, 5, 1, 20}, {1, 1, 0, 2, 20}, {1, 1, -3, 1, 20}};
    check(10, equal, 2, jobs, 3, (double[]){7, 2, 1});
    const struct cw_share_job few[] = {{0, 1, 5, 1, 4}, {1, 1, 0, 2, 5}, {1, 1, -3, 1, 20}};
    check(10, equal, 2, few, 3, (double[]){4, 5, 1});
}

static void test_less_than_minimums(void **state)
{
    (void)state;
    const struct cw_share_job jobs[] = {{0, 1, 9, 1, 4}, {0, 1, 0, 1, 5}, {1, 1, 0, 1, 20}, {1, 3, 0, 1, 20}};
    check(2, equal, 2, jobs, 4, (double[]){0.5, 0.5, 0.25, 0.75});
    check(0, equal, 2, jobs, 4, (double[]){0, 0, 0, 0});
}

static void test_no_jobs(void **state)
{
    (void)state;
    cw_share_out(5, equal, 2, NULL, 0, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_enough_for_all), cmocka_unit_test(test_max_min), cmocka_unit_test(test_weights_and_limits),
        cmocka_unit_test(test_priorities_do_not_starve), cmocka_unit_test(test_less_than_minimums), cmocka_unit_test(test_no_jobs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
