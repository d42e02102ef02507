/* SPDX-License-Identifier: Apache-2.0 */
/* The loops of stft.h (kernels/lanes.h). A complex number of all lanes is two vectors side by side
 * in memory, the real parts and the imaginary ones. */
#include <math.h>
#include "ops/kernels/lanes.h"
#include "ops/kernels/stft.h"

struct lanes_complex {
    cw_lanes_f32 re, im;
};
#define COMPLEX_FLOATS ((size_t)2 * CW_LANES)

CW_LANES_FN void load(struct lanes_complex *a, const float *from)
{
    CW_LANES_LOAD(a->re, from);
    CW_LANES_LOAD(a->im, from + CW_LANES);
}

CW_LANES_FN void put(float *to, const struct lanes_complex *a)
{
    CW_LANES_STORE(to, a->re);
    CW_LANES_STORE(to + CW_LANES, a->im);
}

/* ---- butterflies: b becomes the transform of a; -i (x + iy) = y - ix ---- */

CW_LANES_FN void add_sub(const struct lanes_complex *a, const struct lanes_complex *b,
                         struct lanes_complex *sum, struct lanes_complex *difference)
{
    const struct lanes_complex s = {a->re + b->re, a->im + b->im},
                               d = {a->re - b->re, a->im - b->im};
    *sum = s;
    *difference = d;
}

/* *low = a - ib, *high = a + ib */
CW_LANES_FN void add_sub_i(const struct lanes_complex *a, const struct lanes_complex *b,
                           struct lanes_complex *low, struct lanes_complex *high)
{
    const struct lanes_complex l = {a->re + b->im, a->im - b->re},
                               h = {a->re - b->im, a->im + b->re};
    *low = l;
    *high = h;
}

/* a + f b + g c */
CW_LANES_FN void blend(const struct lanes_complex *a, float f, const struct lanes_complex *b,
                       float g, const struct lanes_complex *c, struct lanes_complex *ret)
{
    ret->re = a->re + (b->re * f + c->re * g);
    ret->im = a->im + (b->im * f + c->im * g);
}

CW_LANES_FN void butterfly_3(const struct lanes_complex *a, struct lanes_complex *b)
{
    const float sine = 0.866025403784438647f; /* of 2 pi / 3 */
    struct lanes_complex sum, difference, middle;
    add_sub(&a[1], &a[2], &sum, &difference);
    middle.re = a[0].re - sum.re * 0.5f;
    middle.im = a[0].im - sum.im * 0.5f;
    difference.re *= sine;
    difference.im *= sine;
    b[0].re = a[0].re + sum.re;
    b[0].im = a[0].im + sum.im;
    add_sub_i(&middle, &difference, &b[1], &b[2]);
}

CW_LANES_FN void butterfly_4(const struct lanes_complex *a, struct lanes_complex *b)
{
    struct lanes_complex s02, d02, s13, d13;
    add_sub(&a[0], &a[2], &s02, &d02);
    add_sub(&a[1], &a[3], &s13, &d13);
    add_sub(&s02, &s13, &b[0], &b[2]);
    add_sub_i(&d02, &d13, &b[1], &b[3]);
}

CW_LANES_FN void butterfly_5(const struct lanes_complex *a, struct lanes_complex *b)
{
    const float cos1 = 0.309016994374947424f, cos2 = -0.809016994374947424f;
    const float sin1 = 0.951056516295153572f, sin2 = 0.587785252292473129f;
    const struct lanes_complex zero = {{0}, {0}};
    struct lanes_complex s14, d14, s23, d23, m, n;
    add_sub(&a[1], &a[4], &s14, &d14);
    add_sub(&a[2], &a[3], &s23, &d23);
    blend(&a[0], 1.0f, &s14, 1.0f, &s23, &b[0]);
    blend(&a[0], cos1, &s14, cos2, &s23, &m);
    blend(&zero, sin1, &d14, sin2, &d23, &n);
    add_sub_i(&m, &n, &b[1], &b[4]);
    blend(&a[0], cos2, &s14, cos1, &s23, &m);
    blend(&zero, sin2, &d14, -sin1, &d23, &n);
    add_sub_i(&m, &n, &b[2], &b[3]);
}

/* ---- the transform ---- */

/* One pass of Stockham's algorithm: `n` numbers are still to be transformed together, of each of `stride`
 * transforms. */
struct stft_pass {
    const float *src, *twiddles;
    float *dst;
    size_t n, stride;
};

/* The butterfly of the numbers at `from`, `gap` numbers apart. */
CW_LANES_FN void butterfly(const float *from, size_t gap, int radix, struct lanes_complex *b)
{
    struct lanes_complex a[5];
    CW_LANES_UNROLL
    for (int j = 0; j < radix; j++)
        load(&a[j], from + (size_t)j * gap * COMPLEX_FLOATS);
    if (radix == 2)
        add_sub(&a[0], &a[1], &b[0], &b[1]);
    else if (radix == 3)
        butterfly_3(a, b);
    else if (radix == 4)
        butterfly_4(a, b);
    else
        butterfly_5(a, b);
}

CW_LANES_FN void store_turned(const struct lanes_complex *b, const float *twiddle, float *to)
{
    const cw_lanes_f32 c = CW_LANES_SET(twiddle[0]), s = CW_LANES_SET(twiddle[1]);
    const struct lanes_complex turned = {b->re * c - b->im * s, b->re * s + b->im * c};
    put(to, &turned);
}

CW_LANES_FN void run_pass(const struct stft_pass *pass, int radix)
{
    const size_t r = (size_t)radix, groups = pass->n / r, gap = groups * pass->stride;
    struct lanes_complex b[5];
    for (size_t q = 0; q < pass->stride; q++) { /* group 0: nothing is turned */
        butterfly(pass->src + q * COMPLEX_FLOATS, gap, radix, b);
        CW_LANES_UNROLL
        for (size_t k = 0; k < r; k++)
            put(pass->dst + (q + k * pass->stride) * COMPLEX_FLOATS, &b[k]);
    }
    const float *twiddle = pass->twiddles + 2 * (r - 1);
    for (size_t p = 1; p < groups; p++, twiddle += 2 * (r - 1))
        for (size_t q = 0; q < pass->stride; q++) {
            butterfly(pass->src + (q + p * pass->stride) * COMPLEX_FLOATS, gap, radix, b);
            float *to = pass->dst + (q + r * p * pass->stride) * COMPLEX_FLOATS;
            put(to, &b[0]);
            CW_LANES_UNROLL
            for (size_t k = 1; k < r; k++)
                store_turned(&b[k], twiddle + 2 * (k - 1), to + k * pass->stride * COMPLEX_FLOATS);
        }
}

/* Transforms the numbers at `from`; returns where they are then: `from` or `to`. */
CW_LANES_FN float *transform(const struct cw_stft *stft, float *from, float *to)
{
    struct stft_pass pass = {.twiddles = stft->twiddles, .n = stft->complex, .stride = 1};
    for (size_t i = 0; i < stft->passes; i++) {
        const size_t radix = (size_t)stft->radix[i];
        pass.src = from;
        pass.dst = to;
        if (radix == 2)
            run_pass(&pass, 2);
        else if (radix == 3)
            run_pass(&pass, 3);
        else if (radix == 4)
            run_pass(&pass, 4);
        else
            run_pass(&pass, 5);
        pass.n /= radix;
        pass.stride *= radix;
        pass.twiddles += pass.n * (radix - 1) * 2;
        float *const next = from;
        from = to;
        to = next;
    }
    return from;
}

/* ---- frames in ---- */

/* Lane l of vector i becomes lane i of vector l. */
CW_LANES_FN void transpose(cw_lanes_f32 v[CW_LANES])
{
    cw_lanes_f32 a[CW_LANES];
    CW_LANES_UNROLL
    for (int i = 0; i < 8; i += 2) { /* pairs of lanes */
        a[i] = __builtin_shufflevector(v[i], v[i + 1], 0, 8, 2, 10, 4, 12, 6, 14);
        a[i + 1] = __builtin_shufflevector(v[i], v[i + 1], 1, 9, 3, 11, 5, 13, 7, 15);
    }
    CW_LANES_UNROLL
    for (int i = 0; i < 8; i += 4) /* quadruples */
        CW_LANES_UNROLL
    for (int k = i; k < i + 2; k++) {
        v[k] = __builtin_shufflevector(a[k], a[k + 2], 0, 1, 8, 9, 4, 5, 12, 13);
        v[k + 2] = __builtin_shufflevector(a[k], a[k + 2], 2, 3, 10, 11, 6, 7, 14, 15);
    }
    CW_LANES_UNROLL
    for (int k = 0; k < 4; k++) {
        a[k] = __builtin_shufflevector(v[k], v[k + 4], 0, 1, 2, 3, 8, 9, 10, 11);
        a[k + 4] = __builtin_shufflevector(v[k], v[k + 4], 4, 5, 6, 7, 12, 13, 14, 15);
    }
    CW_LANES_UNROLL
    for (int k = 0; k < 8; k++)
        v[k] = a[k];
}

CW_LANES_FN void put_sample(const struct cw_stft *stft, size_t i, const cw_lanes_f32 *v, float *to)
{
    const cw_lanes_f32 sample = *v * stft->window[i], zero = {0};
    const size_t step = stft->n == stft->complex ? COMPLEX_FLOATS : CW_LANES;
    CW_LANES_STORE(to + i * step, sample);
    if (stft->n == stft->complex)
        CW_LANES_STORE(to + i * step + CW_LANES, zero);
}

/* Writes the samples of all frames, times the window, as complex numbers: two samples are one, unless their
 * number is odd. */
CW_LANES_FN void load_frames(const struct cw_stft_job *job, float *to)
{
    const struct cw_stft *stft = job->stft;
    size_t i = 0;
    cw_lanes_f32 v[CW_LANES] = {{0}};
    for (; i + CW_LANES <= stft->n; i += CW_LANES) {
        CW_LANES_UNROLL
        for (size_t t = 0; t < CW_LANES; t++)
            CW_LANES_LOAD(v[t], job->x + t * job->hop + i);
        transpose(v);
        CW_LANES_UNROLL
        for (size_t k = 0; k < CW_LANES; k++)
            put_sample(stft, i + k, &v[k], to);
    }
    for (; i < stft->n; i++) {
        for (size_t t = 0; t < CW_LANES; t++)
            v[0][t] = job->x[t * job->hop + i];
        put_sample(stft, i, &v[0], to);
    }
}

/* ---- coefficients out ---- */

CW_LANES_FN void store_complex(const struct cw_stft_job *job, size_t k,
                               const struct lanes_complex *x)
{
    float *dst = job->dst + 2 * k * job->row;
    for (size_t t = 0; t < job->frames; t++) {
        dst[2 * t] = x->re[t];
        dst[2 * t + 1] = x->im[t];
    }
}

CW_LANES_FN void store(const struct cw_stft_job *job, size_t k, const struct lanes_complex *x)
{
    if (job->form == CW_STFT_COMPLEX) {
        store_complex(job, k, x);
        return;
    }
    cw_lanes_f32 v = x->re * x->re + x->im * x->im;
    if (job->form == CW_STFT_MAGNITUDE)
        CW_LANES_UNROLL
    for (int t = 0; t < CW_LANES; t++)
        v[t] = sqrtf(v[t]);
    float *dst = job->dst + k * job->row;
    if (job->frames == CW_LANES)
        CW_LANES_STORE(dst, v);
    else
        memcpy(dst, &v, job->frames * sizeof(float));
}

/* Makes coefficients k and `complex` - k of n real samples out of those of half as many complex ones,
 * which are twice too large and so are these (the window makes up for it). */
CW_LANES_FN void unpack_pair(const struct cw_stft_job *job, const float *z, size_t k)
{
    const size_t n = job->stft->complex, mirrored = n - k;
    struct lanes_complex a, b, low, high;
    load(&a, z + k * COMPLEX_FLOATS);
    load(&b, z + mirrored % n * COMPLEX_FLOATS);
    const cw_lanes_f32 c = CW_LANES_SET(job->stft->unpack[2 * k]),
                       s = CW_LANES_SET(job->stft->unpack[2 * k + 1]);
    const struct lanes_complex even = {a.re + b.re, a.im - b.im}, odd = {a.im + b.im, b.re - a.re};
    const struct lanes_complex turned = {odd.re * c - odd.im * s, odd.re * s + odd.im * c};
    add_sub(&even, &turned, &low, &high);
    high.im = -high.im;
    store(job, k, &low);
    if (mirrored != k)
        store(job, mirrored, &high);
}

CW_LANES_TARGET void CW_LANES_NAME(cw_stft_block)(const struct cw_stft_job *job)
{
    const struct cw_stft *stft = job->stft;
    float *from = job->work, *to = job->work + stft->complex * COMPLEX_FLOATS;
    load_frames(job, from);
    const float *z = transform(stft, from, to);
    if (stft->complex < stft->n) {
        for (size_t k = 0; k <= stft->complex / 2; k++)
            unpack_pair(job, z, k);
        return;
    }
    for (size_t k = 0; k <= stft->n / 2; k++) {
        struct lanes_complex x;
        load(&x, z + k * COMPLEX_FLOATS);
        store(job, k, &x);
    }
}
