/* SPDX-License-Identifier: Apache-2.0 */
/* The two passes of resample.c with AVX2; they give the same bytes. A weight of 22 bits does not
 * fit into a 16-bit multiplication, so sums of its high and of its low part are kept apart and
 * joined at the end. They are integers, so the order of additions does not matter. */
#include "ops/kernels/cpu.h"
#include "ops/kernels/resample.h"

#if CW_CPU_X86

#include <immintrin.h>
#include <string.h>

#define INLINE_AVX2 static inline CW_CPU_AVX2 __attribute__((always_inline))
/* rows that the horizontal pass computes at once: weights are loaded once for all of them */
#define ROWS 4

/* Loads two weights into every lane, as pairs of 16 bits. */
INLINE_AVX2 __m256i load_pair(const int16_t *pair)
{
    int32_t v;
    memcpy(&v, pair, sizeof(v));
    return _mm256_set1_epi32(v);
}

/* Loads 16 bytes of each of two rows. */
INLINE_AVX2 __m256i load_rows(const uint8_t *a, const uint8_t *b)
{
    const __m128i lo = _mm_loadu_si128((const __m128i *)(const void *)a);
    const __m128i hi = _mm_loadu_si128((const __m128i *)(const void *)b);
    return _mm256_inserti128_si256(_mm256_castsi128_si256(lo), hi, 1);
}

INLINE_AVX2 __m256i join(__m256i high, __m256i low)
{
    const __m256i half = _mm256_set1_epi32(1 << (CW_FILTER_BITS - 1));
    const __m256i sum =
        _mm256_add_epi32(_mm256_slli_epi32(high, CW_FILTER_LOW), _mm256_add_epi32(low, half));
    return _mm256_srai_epi32(sum, CW_FILTER_BITS);
}

INLINE_AVX2 void store_pixel(uint8_t *dst, int32_t rgb0)
{
    memcpy(dst, &rgb0, sizeof(rgb0));
}

/* Computes one output pixel of four rows. The fourth byte that is written belongs to the next
 * pixel, and is 0. */
INLINE_AVX2 void pixel_of_rows(const uint8_t *const src[ROWS], uint8_t *const dst[ROWS],
                               size_t from, size_t to, const int16_t *split, int32_t blocks)
{
    const __m256i taps01 = _mm256_broadcastsi128_si256(
        _mm_setr_epi8(0, -1, 3, -1, 1, -1, 4, -1, 2, -1, 5, -1, -1, -1, -1, -1));
    const __m256i taps23 = _mm256_broadcastsi128_si256(
        _mm_setr_epi8(6, -1, 9, -1, 7, -1, 10, -1, 8, -1, 11, -1, -1, -1, -1, -1));
    __m256i high_a = _mm256_setzero_si256(), low_a = high_a, high_b = high_a, low_b = high_a;
    for (int32_t i = 0; i < blocks; i++, from += 12, split += 8) {
        const __m256i a = load_rows(src[0] + from, src[1] + from),
                      b = load_rows(src[2] + from, src[3] + from);
        const __m256i a01 = _mm256_shuffle_epi8(a, taps01), a23 = _mm256_shuffle_epi8(a, taps23);
        const __m256i b01 = _mm256_shuffle_epi8(b, taps01), b23 = _mm256_shuffle_epi8(b, taps23);
        const __m256i high01 = load_pair(split), low01 = load_pair(split + 2);
        const __m256i high23 = load_pair(split + 4), low23 = load_pair(split + 6);
        high_a = _mm256_add_epi32(high_a, _mm256_add_epi32(_mm256_madd_epi16(a01, high01),
                                                           _mm256_madd_epi16(a23, high23)));
        low_a = _mm256_add_epi32(
            low_a, _mm256_add_epi32(_mm256_madd_epi16(a01, low01), _mm256_madd_epi16(a23, low23)));
        high_b = _mm256_add_epi32(high_b, _mm256_add_epi32(_mm256_madd_epi16(b01, high01),
                                                           _mm256_madd_epi16(b23, high23)));
        low_b = _mm256_add_epi32(
            low_b, _mm256_add_epi32(_mm256_madd_epi16(b01, low01), _mm256_madd_epi16(b23, low23)));
    }
    const __m256i words = _mm256_packs_epi32(join(high_a, low_a), join(high_b, low_b));
    const __m256i bytes = _mm256_packus_epi16(words, words);
    const __m128i even = _mm256_castsi256_si128(bytes), odd = _mm256_extracti128_si256(bytes, 1);
    store_pixel(dst[0] + to, _mm_cvtsi128_si32(even));
    store_pixel(dst[1] + to, _mm_cvtsi128_si32(odd));
    store_pixel(dst[2] + to, _mm_extract_epi32(even, 1));
    store_pixel(dst[3] + to, _mm_extract_epi32(odd, 1));
}

CW_CPU_AVX2 void cw_resample_x_avx2(const struct cw_resample_x *pass)
{
    if (pass->channels != 3) {
        cw_resample_x_plain(pass);
        return;
    }
    const struct cw_filter_axis *axis = pass->axis;
    const int32_t blocks = (axis->used + 3) / 4, safe = cw_resample_x_safe(pass, blocks);
    const size_t split_step = 2 * (size_t)axis->taps;
    for (int32_t done = 0; done < pass->rows; done += ROWS) {
        /* The last group may have some rows of the one before it again. */
        const int32_t row = CW_MIN(done, pass->rows - ROWS);
        if (row < 0)
            break;
        const uint8_t *src[ROWS];
        uint8_t *dst[ROWS];
        for (int32_t i = 0; i < ROWS; i++) {
            src[i] = pass->src + (size_t)(row + i) * pass->src_stride;
            dst[i] = pass->dst + (size_t)(row + i) * pass->dst_stride;
        }
        const int16_t *split = axis->split;
        if (blocks == 1) /* the usual case gets code without an inner loop */
            for (int32_t o = 0; o < safe; o++, split += split_step)
                pixel_of_rows(src, dst, 3 * (size_t)(axis->first[o] - pass->first_col),
                              3 * (size_t)o, split, 1);
        else
            for (int32_t o = 0; o < safe; o++, split += split_step)
                pixel_of_rows(src, dst, 3 * (size_t)(axis->first[o] - pass->first_col),
                              3 * (size_t)o, split, blocks);
        for (int32_t i = 0; i < ROWS; i++)
            cw_resample_x_tail(pass, row + i, safe);
    }
    for (int32_t row = 0; pass->rows < ROWS && row < pass->rows; row++)
        cw_resample_x_tail(pass, row, 0);
}

/* Adds 32 bytes of two rows, times their weights, to the sums. */
INLINE_AVX2 void add_pair(__m256i high[4], __m256i low[4], const uint8_t *a, const uint8_t *b,
                          const int16_t *split)
{
    const __m256i zero = _mm256_setzero_si256(), kh = load_pair(split), kl = load_pair(split + 2);
    const __m256i va = _mm256_loadu_si256((const __m256i *)(const void *)a);
    const __m256i vb = _mm256_loadu_si256((const __m256i *)(const void *)b);
    const __m256i first = _mm256_unpacklo_epi8(va, vb), second = _mm256_unpackhi_epi8(va, vb);
    const __m256i pair[4] = {_mm256_unpacklo_epi8(first, zero), _mm256_unpackhi_epi8(first, zero),
                             _mm256_unpacklo_epi8(second, zero),
                             _mm256_unpackhi_epi8(second, zero)};
    for (int i = 0; i < 4; i++) {
        high[i] = _mm256_add_epi32(high[i], _mm256_madd_epi16(pair[i], kh));
        low[i] = _mm256_add_epi32(low[i], _mm256_madd_epi16(pair[i], kl));
    }
}

CW_CPU_AVX2 void cw_resample_y_avx2(const struct cw_resample_y *pass)
{
    const struct cw_filter_axis *axis = pass->axis;
    const size_t stride = pass->src_stride;
    for (int32_t row = 0; row < axis->out; row++) {
        const uint8_t *src = pass->src + (size_t)(axis->first[row] - pass->first_row) * stride;
        uint8_t *dst = pass->dst + (size_t)row * pass->row_bytes;
        const int16_t *split = axis->split + (size_t)row * 2 * (size_t)axis->taps;
        const int32_t n = axis->n[row];
        size_t x = 0;
        for (; x + 32 <= pass->row_bytes; x += 32) {
            __m256i high[4], low[4];
            for (int i = 0; i < 4; i++)
                high[i] = low[i] = _mm256_setzero_si256();
            const uint8_t *at = src + x;
            /* The weight of a missing second row is 0. */
            for (int32_t i = 0; i < n; i += 2, at += 2 * stride)
                add_pair(high, low, at, i + 1 < n ? at + stride : at, split + 2 * i);
            const __m256i lo = _mm256_packs_epi32(join(high[0], low[0]), join(high[1], low[1]));
            const __m256i hi = _mm256_packs_epi32(join(high[2], low[2]), join(high[3], low[3]));
            _mm256_storeu_si256((__m256i *)(void *)(dst + x), _mm256_packus_epi16(lo, hi));
        }
        cw_resample_y_tail(pass, row, x);
    }
}

#else

void cw_resample_x_avx2(const struct cw_resample_x *pass)
{
    cw_resample_x_plain(pass);
}

void cw_resample_y_avx2(const struct cw_resample_y *pass)
{
    cw_resample_y_plain(pass);
}

#endif
