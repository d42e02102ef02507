/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "base/compiler.h"
#include "base/hash.h"
#include "policies/max_min_share.h"
#include "support/cm.h"

static void check(double workers, const struct cw_share_tenant *tenants, size_t tenants_n,
                  const struct cw_share_job *jobs, size_t n, const double *expected)
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
    /* one tenant with three jobs and one with one: tenants are equal, not jobs; what one does
     * not want the others get. The second tenant wants 3, so the first has 9, by weight */
    const struct cw_share_job jobs[] = {
        {0, 1, 0, 1, 10}, {0, 1, 0, 1, 10}, {0, 2, 0, 1, 10}, {1, 1, 0, 1, 3}};
    check(12, equal, 2, jobs, 4, (double[]){2.25, 2.25, 4.5, 3});
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
    /* the priority is worth nothing against another tenant */
    check(10, equal, 2, jobs, 3, (double[]){5, 4, 1});
    const struct cw_share_job few[] = {{0, 1, 5, 1, 4}, {1, 1, 0, 2, 5}, {1, 1, -3, 1, 20}};
    check(10, equal, 2, few, 3, (double[]){4, 5, 1});
}

/* A minimum is a floor, not something besides: by weight 2 and 1 of three, though each has a
 * right to 1. */
static void test_minimums_count(void **state)
{
    (void)state;
    const struct cw_share_tenant tenants[] = {{2, 0}, {1, 0}};
    const struct cw_share_job jobs[] = {{0, 1, 0, 1, 3}, {1, 1, 0, 1, 3}};
    check(3, tenants, 2, jobs, 2, (double[]){2, 1});
    check(2.4, tenants, 2, jobs, 2, (double[]){1.4, 1});
    const struct cw_share_job one[] = {{0, 3, 0, 1, 9}, {0, 1, 0, 1, 9}, {0, 1, 0, 3, 9}};
    check(10, tenants, 1, one, 3, (double[]){5.25, 1.75, 3});
}

/* Against what is asked of it: nobody can have more without one who has less for his weight
 * having less still. */
static void test_random(void **state)
{
    (void)state;
    enum { N = 9 };
    uint64_t dice = 1;
    for (int round = 0; round < 2000; round++) {
        struct cw_share_job jobs[N];
        double got[N], least = 0, most = 0, sum = 0;
        const struct cw_share_tenant tenant = {1, 0};
        dice = cw_mix64(dice + 0x9e3779b97f4a7c15u);
        double workers = (double)(dice % 200) / 10;
        for (size_t i = 0; i < N; i++) {
            uint64_t roll = cw_mix64(dice + i + 1);
            jobs[i] = (struct cw_share_job){0, 0.5 + (double)(roll % 4), 0, (double)(roll / 4 % 3),
                                            (double)(roll / 12 % 8)};
            least += jobs[i].least;
            most += fmax(jobs[i].want, jobs[i].least);
        }
        cw_share_out(workers, &tenant, 1, jobs, N, got);
        for (size_t i = 0; i < N; i++) {
            sum += got[i];
            assert_true(got[i] <= fmax(jobs[i].want, jobs[i].least) + 1e-9 &&
                        (least > workers || got[i] >= jobs[i].least - 1e-9));
            for (size_t k = 0; least <= workers && k < N; k++) /* k could give to i */
                if (got[i] < fmax(jobs[i].want, jobs[i].least) - 1e-6 &&
                    got[k] > jobs[k].least + 1e-6)
                    assert_true(got[i] / jobs[i].weight >= got[k] / jobs[k].weight - 1e-6);
        }
        assert_true(fabs(sum - fmin(workers, most)) < 1e-6);
    }
}

static void test_less_than_minimums(void **state)
{
    (void)state;
    const struct cw_share_job jobs[] = {
        {0, 1, 9, 1, 4}, {0, 1, 0, 1, 5}, {1, 1, 0, 1, 20}, {1, 3, 0, 1, 20}};
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
        cmocka_unit_test(test_enough_for_all),     cmocka_unit_test(test_max_min),
        cmocka_unit_test(test_weights_and_limits), cmocka_unit_test(test_priorities_do_not_starve),
        cmocka_unit_test(test_minimums_count),     cmocka_unit_test(test_random),
        cmocka_unit_test(test_less_than_minimums), cmocka_unit_test(test_no_jobs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
