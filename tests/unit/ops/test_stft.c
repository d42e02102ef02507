/* SPDX-License-Identifier: Apache-2.0 */
/* Short-time Fourier transforms against sums in double precision, for all sizes up to 128 and some larger
 * ones, in all forms. */
#include "support/cm.h"

#include <math.h>
#include <stdlib.h>
#include "base/rng.h"
#include "ops/kernels/stft.h"

#define PI 3.14159265358979323846
#define HOP 5

static float *noise(size_t n, uint64_t seed)
{
    struct cw_rng rng;
    cw_rng_init(&rng, seed, 0, 0, 0, 0);
    float *x = malloc(n * sizeof(*x));
    assert_non_null(x);
    for (size_t i = 0; i < n; i++)
        x[i] = (float)cw_rng_range(&rng, (uint32_t)i, -1, 1);
    return x;
}

/* Coefficient k of n samples times the window. */
static void sum_of(const float *x, const float *window, size_t n, size_t k, double ret[2])
{
    ret[0] = ret[1] = 0;
    for (size_t i = 0; i < n; i++) {
        const double angle = 2 * PI * (double)(i * k % n) / (double)n;
        ret[0] += (double)(x[i] * window[i]) * cos(angle);
        ret[1] -= (double)(x[i] * window[i]) * sin(angle);
    }
}

static void check_form(struct cw_stft_job *job, const float *window, enum cw_stft_form form)
{
    const size_t n = job->stft->n, values = form == CW_STFT_COMPLEX ? 2 : 1;
    const double tolerance = 4e-7 * sqrt((double)n);
    job->form = form;
    cw_stft_block(job);
    for (size_t t = 0; t < job->frames; t++)
        for (size_t k = 0; k < cw_stft_rows(job->stft); k++) {
            double right[2];
            sum_of(job->x + t * HOP, window, n, k, right);
            const float *got = job->dst + values * (k * job->row + t);
            const double power = right[0] * right[0] + right[1] * right[1];
            if (form == CW_STFT_COMPLEX)
                assert_true(fabs((double)got[0] - right[0]) <= tolerance &&
                            fabs((double)got[1] - right[1]) <= tolerance);
            else if (form == CW_STFT_MAGNITUDE)
                assert_true(fabs((double)got[0] - sqrt(power)) <= 2 * tolerance);
            else
                assert_true(fabs((double)got[0] - power) <= 4 * tolerance * (1 + sqrt(power)));
        }
}

static void check_size(size_t n)
{
    struct cw_stft stft;
    float *window = noise(n, 1), *x = noise(n + (CW_STFT_LANES - 1) * HOP, 2);
    cw_stft_init(&stft, n, window);
    float *work = malloc(cw_stft_work_floats(&stft) * sizeof(*work));
    float *dst = malloc(cw_stft_rows(&stft) * 2 * CW_STFT_LANES * sizeof(*dst));
    struct cw_stft_job job = {.stft = &stft,
                              .x = x,
                              .hop = HOP,
                              .frames = 1 + n % CW_STFT_LANES,
                              .dst = dst,
                              .row = CW_STFT_LANES,
                              .work = work};
    for (int form = 0; form <= CW_STFT_POWER; form++)
        check_form(&job, window, (enum cw_stft_form)form);
    free(work);
    free(dst);
    free(window);
    free(x);
    cw_stft_fini(&stft);
}

static void test_sizes(void **state)
{
    (void)state;
    static const size_t large[] = {135, 200, 225, 256, 400, 405, 512, 625, 1024, 1200};
    for (size_t n = 1; n <= 128; n++)
        if (cw_stft_can(n))
            check_size(n);
    for (size_t i = 0; i < CW_ARRAY_LEN(large); i++)
        check_size(large[i]);
}

static void test_can(void **state)
{
    (void)state;
    assert_true(cw_stft_can(1) && cw_stft_can(400) && cw_stft_can(CW_STFT_N_MAX));
    assert_false(cw_stft_can(0) || cw_stft_can(7) || cw_stft_can(22) ||
                 cw_stft_can(2 * CW_STFT_N_MAX));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_sizes), cmocka_unit_test(test_can)};
    return cmocka_run_group_tests_name("stft", tests, NULL, NULL);
}
