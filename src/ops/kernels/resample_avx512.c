/* SPDX-License-Identifier: Apache-2.0 */
/* The two passes of resample.c with AVX-512's dot products of bytes; they give the same bytes. A weight has
 * three digits of 8 bits; sums of each are kept apart and joined at the end. They are integers, so the order
 * of additions does not matter. Vectors have 32 bytes, with which no processor becomes slower. */
#include "ops/kernels/cpu.h"
#include "ops/kernels/resample.h"

#if CW_CPU_X86

#include <immintrin.h>
#include <string.h>

#define INLINE_AVX512 static inline CW_CPU_AVX512 __attribute__((always_inline))
/* rows that the horizontal pass computes at once: weights are loaded once for all of them */
#define ROWS 4
/* bytes of the digits of four taps, and of one digit of them */
#define BLOCK 12
#define DIGITS 4

/* One digit of four taps, in every lane; or sums of products with it. */
struct three {
    __m256i high, middle, low;
};

INLINE_AVX512 __m256i load_digit(const int8_t *digits)
{
    int32_t v;
    memcpy(&v, digits, sizeof(v));
    return _mm256_set1_epi32(v);
}

INLINE_AVX512 struct three load_digits(const int8_t *digits)
{
    return (struct three){load_digit(digits), load_digit(digits + DIGITS),
                          load_digit(digits + 2 * DIGITS)};
}

/* Adds products of four bytes in each lane with the digits of four taps. */
INLINE_AVX512 void add(struct three *sums, __m256i bytes, struct three digits)
{
    sums->high = _mm256_dpbusd_epi32(sums->high, bytes, digits.high);
    sums->middle = _mm256_dpbusd_epi32(sums->middle, bytes, digits.middle);
    sums->low = _mm256_dpbusd_epi32(sums->low, bytes, digits.low);
}

INLINE_AVX512 __m256i join(struct three sums)
{
    const __m256i half = _mm256_set1_epi32(1 << (CW_FILTER_BITS - 1));
    const __m256i upper =
        _mm256_add_epi32(_mm256_slli_epi32(sums.high, 16), _mm256_slli_epi32(sums.middle, 8));
    return _mm256_srai_epi32(_mm256_add_epi32(upper, _mm256_add_epi32(sums.low, half)),
                             CW_FILTER_BITS);
}

INLINE_AVX512 struct three nothing(void)
{
    const __m256i zero = _mm256_setzero_si256();
    return (struct three){zero, zero, zero};
}

/* Loads 16 bytes of each of two rows. */
INLINE_AVX512 __m256i load_rows(const uint8_t *a, const uint8_t *b)
{
    const __m128i lo = _mm_loadu_si128((const __m128i *)(const void *)a);
    const __m128i hi = _mm_loadu_si128((const __m128i *)(const void *)b);
    return _mm256_inserti128_si256(_mm256_castsi128_si256(lo), hi, 1);
}

INLINE_AVX512 void store_pixel(uint8_t *dst, int32_t rgb0)
{
    memcpy(dst, &rgb0, sizeof(rgb0));
}

/* Computes one output pixel of four rows. The fourth byte that is written belongs to the next pixel, and
 * is 0. */
INLINE_AVX512 void pixel_of_rows(const uint8_t *const src[ROWS], uint8_t *const dst[ROWS],
                                 size_t from, size_t to, const int8_t *digits, int32_t blocks)
{
    const __m256i taps = _mm256_broadcastsi128_si256(
        _mm_setr_epi8(0, 3, 6, 9, 1, 4, 7, 10, 2, 5, 8, 11, -1, -1, -1, -1));
    struct three a = nothing(), b = nothing();
    for (int32_t i = 0; i < blocks; i++, from += 12, digits += BLOCK) {
        const struct three digit = load_digits(digits);
        add(&a, _mm256_shuffle_epi8(load_rows(src[0] + from, src[1] + from), taps), digit);
        add(&b, _mm256_shuffle_epi8(load_rows(src[2] + from, src[3] + from), taps), digit);
    }
    const __m256i words = _mm256_packs_epi32(join(a), join(b));
    const __m256i bytes = _mm256_packus_epi16(words, words);
    const __m128i even = _mm256_castsi256_si128(bytes), odd = _mm256_extracti128_si256(bytes, 1);
    store_pixel(dst[0] + to, _mm_cvtsi128_si32(even));
    store_pixel(dst[1] + to, _mm_cvtsi128_si32(odd));
    store_pixel(dst[2] + to, _mm_extract_epi32(even, 1));
    store_pixel(dst[3] + to, _mm_extract_epi32(odd, 1));
}

CW_CPU_AVX512 void cw_resample_x_avx512(const struct cw_resample_x *pass)
{
    const struct cw_filter_axis *axis = pass->axis;
    if (pass->channels != 3 || pass->rows < ROWS || !axis->digits) {
        cw_resample_x_avx2(pass);
        return;
    }
    const int32_t blocks = (axis->used + 3) / 4, safe = cw_resample_x_safe(pass, blocks);
    const size_t step = 3 * (size_t)axis->taps;
    for (int32_t done = 0; done < pass->rows; done += ROWS) {
        /* The last group may have some rows of the one before it again. */
        const int32_t row = CW_MIN(done, pass->rows - ROWS);
        const uint8_t *src[ROWS];
        uint8_t *dst[ROWS];
        for (int32_t i = 0; i < ROWS; i++) {
            src[i] = pass->src + (size_t)(row + i) * pass->src_stride;
            dst[i] = pass->dst + (size_t)(row + i) * pass->dst_stride;
        }
        const int8_t *digits = axis->digits;
        if (blocks == 1) /* the usual cases get code without an inner loop */
            for (int32_t o = 0; o < safe; o++, digits += step)
                pixel_of_rows(src, dst, 3 * (size_t)(axis->first[o] - pass->first_col),
                              3 * (size_t)o, digits, 1);
        else if (blocks == 2)
            for (int32_t o = 0; o < safe; o++, digits += step)
                pixel_of_rows(src, dst, 3 * (size_t)(axis->first[o] - pass->first_col),
                              3 * (size_t)o, digits, 2);
        else
            for (int32_t o = 0; o < safe; o++, digits += step)
                pixel_of_rows(src, dst, 3 * (size_t)(axis->first[o] - pass->first_col),
                              3 * (size_t)o, digits, blocks);
        for (int32_t i = 0; i < ROWS; i++)
            cw_resample_x_tail(pass, row + i, safe);
    }
}

/* Loads 32 bytes of row i of n; instead of a row that is not there, whose weight is 0, the first. */
INLINE_AVX512 __m256i load_row(const uint8_t *at, size_t stride, int32_t i, int32_t n)
{
    const uint8_t *row = at + (i < n ? (size_t)i * stride : 0);
    return _mm256_loadu_si256((const __m256i *)(const void *)row);
}

/* Computes 32 bytes of an output row. */
INLINE_AVX512 void make_bytes(uint8_t *dst, const uint8_t *at, size_t stride, int32_t n,
                              const int8_t *digits)
{
    struct three s0 = nothing(), s1 = nothing(), s2 = nothing(), s3 = nothing();
    for (int32_t i = 0; i < n; i += 4, digits += BLOCK) {
        const struct three digit = load_digits(digits);
        const __m256i a = load_row(at, stride, i, n), b = load_row(at, stride, i + 1, n),
                      c = load_row(at, stride, i + 2, n), d = load_row(at, stride, i + 3, n);
        const __m256i ab_lo = _mm256_unpacklo_epi8(a, b), ab_hi = _mm256_unpackhi_epi8(a, b);
        const __m256i cd_lo = _mm256_unpacklo_epi8(c, d), cd_hi = _mm256_unpackhi_epi8(c, d);
        add(&s0, _mm256_unpacklo_epi16(ab_lo, cd_lo), digit);
        add(&s1, _mm256_unpackhi_epi16(ab_lo, cd_lo), digit);
        add(&s2, _mm256_unpacklo_epi16(ab_hi, cd_hi), digit);
        add(&s3, _mm256_unpackhi_epi16(ab_hi, cd_hi), digit);
    }
    const __m256i lo = _mm256_packs_epi32(join(s0), join(s1));
    const __m256i hi = _mm256_packs_epi32(join(s2), join(s3));
    _mm256_storeu_si256((__m256i *)(void *)dst, _mm256_packus_epi16(lo, hi));
}

CW_CPU_AVX512 void cw_resample_y_avx512(const struct cw_resample_y *pass)
{
    const struct cw_filter_axis *axis = pass->axis;
    const size_t stride = pass->src_stride;
    if (!axis->digits) {
        cw_resample_y_avx2(pass);
        return;
    }
    for (int32_t row = 0; row < axis->out; row++) {
        const uint8_t *src = pass->src + (size_t)(axis->first[row] - pass->first_row) * stride;
        uint8_t *dst = pass->dst + (size_t)row * pass->row_bytes;
        const int8_t *digits = axis->digits + (size_t)row * 3 * (size_t)axis->taps;
        const int32_t n = axis->n[row];
        size_t x = 0;
        if (n <= 4) /* the usual case gets code without an inner loop */
            for (; x + 32 <= pass->row_bytes; x += 32)
                make_bytes(dst + x, src + x, stride, CW_MIN(n, 4), digits);
        else
            for (; x + 32 <= pass->row_bytes; x += 32)
                make_bytes(dst + x, src + x, stride, n, digits);
        cw_resample_y_tail(pass, row, x);
    }
}

#else

void cw_resample_x_avx512(const struct cw_resample_x *pass)
{
    cw_resample_x_plain(pass);
}

void cw_resample_y_avx512(const struct cw_resample_y *pass)
{
    cw_resample_y_plain(pass);
}

#endif
