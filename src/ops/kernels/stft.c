/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of short-time Fourier transforms. */
#include "ops/kernels/stft.h"

#include "base/mem.h"
#include "ops/kernels/exact_math.h"
#include "ops/kernels/kernel_table.h"

#define PI 3.14159265358979323846

/* Radices in the order in which passes take them. */
static const int radices[] = {4, 2, 3, 5};

bool cw_stft_can(size_t n)
{
    if (n == 0 || n > CW_STFT_N_MAX)
        return false;
    for (size_t i = 0; i < CW_ARRAY_LEN(radices); i++)
        while (n % (size_t)radices[i] == 0)
            n /= (size_t)radices[i];
    return n == 1;
}

static void find_passes(struct cw_stft *stft)
{
    size_t n = stft->complex;
    for (size_t i = 0; i < CW_ARRAY_LEN(radices); i++)
        for (; n % (size_t)radices[i] == 0; n /= (size_t)radices[i])
            stft->radix[stft->passes++] = radices[i];
}

/* e^(-2 pi i k / n) */
static void put_root(float *to, size_t k, size_t n)
{
    const double angle = -2 * PI * (double)(k % n) / (double)n;
    to[0] = (float)cw_exact_cos(angle);
    to[1] = (float)cw_exact_sin(angle);
}

static void make_twiddles(struct cw_stft *stft)
{
    size_t n = stft->complex, pairs = 0;
    for (size_t i = 0; i < stft->passes; i++) {
        n /= (size_t)stft->radix[i];
        pairs += n * (size_t)(stft->radix[i] - 1);
    }
    float *to = stft->twiddles = CW_NEW_ARRAY(float, 2 * pairs + 2);
    n = stft->complex;
    for (size_t i = 0; i < stft->passes; i++) {
        const size_t r = (size_t)stft->radix[i];
        for (size_t p = 0; p < n / r; p++)
            for (size_t k = 1; k < r; k++, to += 2)
                put_root(to, p * k, n);
        n /= r;
    }
}

void cw_stft_init(struct cw_stft *stft, size_t n, const float *window)
{
    CW_ASSERT(cw_stft_can(n));
    *stft = (struct cw_stft){.n = n, .complex = n % 2 ? n : n / 2};
    find_passes(stft);
    make_twiddles(stft);
    stft->unpack = CW_NEW_ARRAY(float, 2 * (n / 2 + 1));
    for (size_t k = 0; k <= n / 2; k++)
        put_root(stft->unpack + 2 * k, k, n);
    stft->window = CW_NEW_ARRAY(float, n);
    const float factor = n % 2 ? 1.0f : 0.5f; /* see unpack_pair */
    for (size_t i = 0; i < n; i++)
        stft->window[i] = window[i] * factor;
}

void cw_stft_fini(struct cw_stft *stft)
{
    cw_mem_free(stft->twiddles);
    cw_mem_free(stft->unpack);
    cw_mem_free(stft->window);
    *stft = (struct cw_stft){0};
}

size_t cw_stft_work_floats(const struct cw_stft *stft)
{
    return 2 * stft->complex * 2 * CW_STFT_LANES;
}

void cw_stft_block(const struct cw_stft_job *job)
{
    cw_kernels()->stft_block(job);
}
