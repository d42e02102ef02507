/* SPDX-License-Identifier: Apache-2.0 */
/* Upsampling of chroma and conversion to RGB, row by row, with AVX2. */
#include "ops/kernels/cpu.h"
#include "ops/kernels/jpeg_pixels.h"

#if CW_CPU_X86

#include <immintrin.h>
#include <string.h>

#define INLINE_AVX2 static inline CW_CPU_AVX2 __attribute__((always_inline))

INLINE_AVX2 __m256i load_u8(const uint8_t *p)
{
    return _mm256_cvtepu8_epi16(_mm_loadu_si128((const __m128i *)(const void *)p));
}

INLINE_AVX2 __m256i load_sums(const uint16_t *p)
{
    return _mm256_loadu_si256((const __m256i *)(const void *)p);
}

INLINE_AVX2 __m256i times3(__m256i x)
{
    return _mm256_add_epi16(x, _mm256_add_epi16(x, x));
}

/* Writes the samples -1 to n of both rows as 3 * near + far, or of near alone. */
INLINE_AVX2 void put_sums(uint16_t *sums, const struct cw_jpeg_chroma *chroma)
{
    const uint8_t *near = chroma->near - 1, *far = chroma->far - 1;
    for (size_t i = 0; i < chroma->n + 2; i += 16) {
        __m256i sum = load_u8(near + i);
        if (chroma->vertical)
            sum = _mm256_add_epi16(times3(sum), load_u8(far + i));
        _mm256_storeu_si256((__m256i *)(void *)(sums + i - 1), sum);
    }
    if (chroma->at_left)
        sums[-1] = sums[0];
    if (chroma->at_right)
        sums[chroma->n] = sums[chroma->n - 1];
}

CW_CPU_AVX2 void cw_jpeg_upsample(uint8_t *dst, const struct cw_jpeg_chroma *chroma, uint16_t *sums)
{
    /* Halves are rounded down on the left and up on the right, so that there is no bias. */
    const __m256i round_left = _mm256_set1_epi16(chroma->vertical ? 8 : 1),
                  round_right = _mm256_set1_epi16(chroma->vertical ? 7 : 2);
    const __m128i shift = _mm_cvtsi32_si128(chroma->vertical ? 4 : 2);
    put_sums(sums, chroma);
    for (size_t i = 0; i < chroma->n; i += 16) {
        const __m256i here = times3(load_sums(sums + i));
        const __m256i left =
            _mm256_add_epi16(_mm256_add_epi16(here, load_sums(sums + i - 1)), round_left);
        const __m256i right =
            _mm256_add_epi16(_mm256_add_epi16(here, load_sums(sums + i + 1)), round_right);
        const __m256i pair = _mm256_or_si256(_mm256_srl_epi16(left, shift),
                                             _mm256_slli_epi16(_mm256_srl_epi16(right, shift), 8));
        _mm256_storeu_si256((__m256i *)(void *)(dst + 2 * i), pair);
    }
}

/* Converts 16 pixels to 48 bytes; the next 4 bytes are written too. The constants are those of
 * libjpeg's jdcolor.c, with what exceeds 16 bits split off. */
INLINE_AVX2 void rgb16(uint8_t *dst, const uint8_t *y_at, const uint8_t *cb_at,
                       const uint8_t *cr_at)
{
    const __m256i centre = _mm256_set1_epi16(128), one = _mm256_set1_epi16(1);
    const __m256i y = load_u8(y_at), cb = _mm256_sub_epi16(load_u8(cb_at), centre),
                  cr = _mm256_sub_epi16(load_u8(cr_at), centre);
    const __m256i cb2 = _mm256_add_epi16(cb, cb), cr2 = _mm256_add_epi16(cr, cr);
    /* 1.402 = 1 + 26345 / 65536; 1.772 = 2 - 14942 / 65536 */
    const __m256i red = _mm256_srai_epi16(
        _mm256_add_epi16(_mm256_mulhi_epi16(cr2, _mm256_set1_epi16(26345)), one), 1);
    const __m256i blue = _mm256_srai_epi16(
        _mm256_add_epi16(_mm256_mulhi_epi16(cb2, _mm256_set1_epi16(-14942)), one), 1);
    const __m256i r = _mm256_add_epi16(y, _mm256_add_epi16(red, cr)),
                  b = _mm256_add_epi16(y, _mm256_add_epi16(blue, cb2));
    /* -0.34414 cb - 0.71414 cr = (-22554 cb + 18734 cr) / 65536 - cr */
    const __m256i k = _mm256_set1_epi32((int)(18734u << 16 | (unsigned)(-22554 & 0xffff))),
                  half = _mm256_set1_epi32(1 << 15);
    const __m256i lo = _mm256_srai_epi32(
        _mm256_add_epi32(_mm256_madd_epi16(_mm256_unpacklo_epi16(cb, cr), k), half), 16);
    const __m256i hi = _mm256_srai_epi32(
        _mm256_add_epi32(_mm256_madd_epi16(_mm256_unpackhi_epi16(cb, cr), k), half), 16);
    const __m256i g = _mm256_add_epi16(y, _mm256_sub_epi16(_mm256_packs_epi32(lo, hi), cr));

    const __m256i rb = _mm256_packus_epi16(r, b), gg = _mm256_packus_epi16(g, g);
    const __m256i rg = _mm256_unpacklo_epi8(rb, gg), bg = _mm256_unpackhi_epi8(rb, gg);
    const __m256i squeeze = _mm256_broadcastsi128_si256(
        _mm_setr_epi8(0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, -1, -1, -1, -1));
    const __m256i first = _mm256_shuffle_epi8(_mm256_unpacklo_epi16(rg, bg), squeeze);
    const __m256i second = _mm256_shuffle_epi8(_mm256_unpackhi_epi16(rg, bg), squeeze);
    _mm_storeu_si128((__m128i *)(void *)dst, _mm256_castsi256_si128(first));
    _mm_storeu_si128((__m128i *)(void *)(dst + 12), _mm256_castsi256_si128(second));
    _mm_storeu_si128((__m128i *)(void *)(dst + 24), _mm256_extracti128_si256(first, 1));
    _mm_storeu_si128((__m128i *)(void *)(dst + 36), _mm256_extracti128_si256(second, 1));
}

CW_CPU_AVX2 void cw_jpeg_rgb(uint8_t *dst, const uint8_t *y, const uint8_t *cb, const uint8_t *cr,
                             size_t n)
{
    size_t i = 0;
    for (; i + 18 <= n; i += 16)
        rgb16(dst + 3 * i, y + i, cb + i, cr + i);
    for (; i < n; i += 16) {
        uint8_t last[CW_JPEG_SLACK];
        rgb16(last, y + i, cb + i, cr + i);
        memcpy(dst + 3 * i, last, 3 * CW_MIN(n - i, (size_t)16));
    }
}

#else

void cw_jpeg_upsample(uint8_t *dst, const struct cw_jpeg_chroma *chroma, uint16_t *sums)
{
    (void)dst;
    (void)chroma;
    (void)sums;
}

void cw_jpeg_rgb(uint8_t *dst, const uint8_t *y, const uint8_t *cb, const uint8_t *cr, size_t n)
{
    (void)dst;
    (void)y;
    (void)cb;
    (void)cr;
    (void)n;
}

#endif
