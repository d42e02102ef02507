/* SPDX-License-Identifier: Apache-2.0 */
/* The filters of a change of the sample rate. */
#include "ops/kernels/sinc.h"

#include <math.h>
#include "base/mem.h"
#include "ops/kernels/exact_math.h"
#include "ops/kernels/kernel_table.h"

#define PI 3.14159265358979323846
#define VECTOR 8 /* taps are whole vectors of the kernel's loop */
#define WEIGHTS_MAX ((double)(1 << 21))

const char *const cw_sinc_window_names[] = {"hann", "kaiser", NULL};

static int64_t common_divisor(int64_t a, int64_t b)
{
    while (b != 0) {
        const int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* The modified Bessel function of order 0, by its series. */
static double bessel_0(double x)
{
    double sum = 1, term = 1;
    for (int k = 1; k < 1000 && term > sum * 1e-18; k++) {
        term *= x / (2 * k) * (x / (2 * k));
        sum += term;
    }
    return sum;
}

/* The weight at t zero crossings from the middle. */
static double weight_at(const struct cw_sinc_design *design, double t)
{
    const double width = (double)design->width, x = PI * t;
    if (!(fabs(t) < width))
        return 0;
    double window = cw_exact_cos(x / width / 2);
    window *= window;
    if (design->window == CW_SINC_KAISER)
        window =
            bessel_0(design->beta * sqrt(1 - t / width * (t / width))) / bessel_0(design->beta);
    return t > 0 || t < 0 ? cw_exact_sin(x) / x * window : window;
}

/* Fills the filter of one place. Sample 0 of the filter is `before` samples before the output's. */
static void make_filter(struct cw_sinc *sinc, const struct cw_sinc_design *design, size_t place)
{
    const double from = (double)sinc->from, to = (double)sinc->to;
    const double base = (from < to ? from : to) * design->rolloff, scale = base / from;
    const double middle = (double)place / to * from; /* in input samples */
    /* t = (i - middle) x scale for sample i, and beyond `width` the weight is 0 */
    const double first = ceil(middle - (double)design->width / scale);
    sinc->first[place] = (size_t)(first + (double)sinc->before);
    for (size_t k = 0; k < sinc->taps; k++) {
        const double t = ((first + (double)k) - middle) * scale;
        sinc->weights[place * sinc->taps + k] = (float)(weight_at(design, t) * scale);
    }
}

int cw_sinc_init(struct cw_sinc *sinc, const struct cw_sinc_design *design, struct cw_err *err)
{
    const int64_t divisor = common_divisor(design->from, design->to);
    const double from = (double)(design->from / divisor), to = (double)(design->to / divisor);
    const double scale = (from < to ? from : to) * design->rolloff / from;
    const double before = ceil((double)design->width / scale), used = 2 * before + 1;
    if (used * to > WEIGHTS_MAX)
        return cw_err_set(
            err, CW_E_INVALID,
            "from %lld Hz to %lld Hz there are %.0f filters of %.0f weights: too many",
            (long long)design->from, (long long)design->to, to, used);
    *sinc = (struct cw_sinc){.from = (size_t)from,
                             .to = (size_t)to,
                             .before = (size_t)before,
                             .taps = ((size_t)used + VECTOR - 1) / VECTOR * VECTOR};
    sinc->first = CW_NEW_ARRAY(size_t, sinc->to);
    sinc->weights = cw_mem_try(sinc->to * sinc->taps * sizeof(float));
    if (!sinc->weights) {
        cw_sinc_fini(sinc);
        return cw_err_set(err, CW_E_NOMEM, "no memory for filters");
    }
    for (size_t place = 0; place < sinc->to; place++)
        make_filter(sinc, design, place);
    return 0;
}

void cw_sinc_fini(struct cw_sinc *sinc)
{
    cw_mem_free(sinc->first);
    cw_mem_free(sinc->weights);
    *sinc = (struct cw_sinc){0};
}

int64_t cw_sinc_length(const struct cw_sinc *sinc, int64_t n)
{
    int64_t product;
    if (__builtin_mul_overflow(n, (int64_t)sinc->to, &product) ||
        __builtin_add_overflow(product, (int64_t)sinc->from - 1, &product))
        return -1;
    return product / (int64_t)sinc->from;
}

size_t cw_sinc_padded(const struct cw_sinc *sinc, size_t n)
{
    /* the last output sample lies before the n-th input sample, and its filter begins at most there */
    return sinc->before + n + sinc->from + sinc->taps;
}

void cw_sinc_run(const struct cw_sinc_job *job)
{
    cw_kernels()->sinc_run(job);
}
