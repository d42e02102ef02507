/* SPDX-License-Identifier: Apache-2.0 */
/* The inverse DCT of Loeffler, Ligtenberg and Moschytz (ICASSP 1989) with the integers of libjpeg's
 * jidctint.c, for two blocks at once: one in each half of the registers. Sums wrap and saturate
 * exactly where libjpeg-turbo's SIMD code does that. */
#include "ops/kernels/cpu.h"
#include "ops/kernels/jpeg_pixels.h"

#if CW_CPU_X86

#include <immintrin.h>
#include <string.h>

#define INLINE_AVX2 static inline CW_CPU_AVX2 __attribute__((always_inline))
#define CONST_BITS 13
#define PASS1_BITS 2

/* the constants of the transform, each times 2^13 */
#define F_0_298 2446
#define F_0_390 3196
#define F_0_541 4433
#define F_0_765 6270
#define F_0_899 7373
#define F_1_175 9633
#define F_1_501 12299
#define F_1_847 15137
#define F_1_961 16069
#define F_2_053 16819
#define F_2_562 20995
#define F_3_072 25172

/* Sums of 32 bits for the 8 columns of two blocks: columns 0-3 of each block in lo, 4-7 in hi. */
struct wide {
    __m256i lo, hi;
};

INLINE_AVX2 struct wide add(struct wide a, struct wide b)
{
    return (struct wide){_mm256_add_epi32(a.lo, b.lo), _mm256_add_epi32(a.hi, b.hi)};
}

INLINE_AVX2 struct wide sub(struct wide a, struct wide b)
{
    return (struct wide){_mm256_sub_epi32(a.lo, b.lo), _mm256_sub_epi32(a.hi, b.hi)};
}

/* Returns a * x + b * y for pairs that were interleaved. */
INLINE_AVX2 struct wide dot(struct wide xy, int a, int b)
{
    const __m256i k = _mm256_set1_epi32((int)((unsigned)b << 16 | (unsigned)(a & 0xffff)));
    return (struct wide){_mm256_madd_epi16(xy.lo, k), _mm256_madd_epi16(xy.hi, k)};
}

INLINE_AVX2 struct wide interleave(__m256i x, __m256i y)
{
    return (struct wide){_mm256_unpacklo_epi16(x, y), _mm256_unpackhi_epi16(x, y)};
}

/* Returns x << CONST_BITS. */
INLINE_AVX2 struct wide widen(__m256i x)
{
    const __m256i zero = _mm256_setzero_si256();
    return (struct wide){_mm256_srai_epi32(_mm256_unpacklo_epi16(zero, x), 16 - CONST_BITS),
                         _mm256_srai_epi32(_mm256_unpackhi_epi16(zero, x), 16 - CONST_BITS)};
}

INLINE_AVX2 __m256i narrow(struct wide x, int shift)
{
    const __m256i half = _mm256_set1_epi32(1 << (shift - 1));
    return _mm256_packs_epi32(_mm256_srai_epi32(_mm256_add_epi32(x.lo, half), shift),
                              _mm256_srai_epi32(_mm256_add_epi32(x.hi, half), shift));
}

/* Transforms the columns once. */
INLINE_AVX2 void dct(__m256i r[8], int shift)
{
    const struct wide in26 = interleave(r[2], r[6]);
    const struct wide tmp3 = dot(in26, F_0_541 + F_0_765, F_0_541),
                      tmp2 = dot(in26, F_0_541, F_0_541 - F_1_847);
    const struct wide tmp0 = widen(_mm256_add_epi16(r[0], r[4])),
                      tmp1 = widen(_mm256_sub_epi16(r[0], r[4]));
    const struct wide tmp10 = add(tmp0, tmp3), tmp13 = sub(tmp0, tmp3), tmp11 = add(tmp1, tmp2),
                      tmp12 = sub(tmp1, tmp2);

    const struct wide z34 = interleave(_mm256_add_epi16(r[7], r[3]), _mm256_add_epi16(r[5], r[1]));
    const struct wide z3 = dot(z34, F_1_175 - F_1_961, F_1_175),
                      z4 = dot(z34, F_1_175, F_1_175 - F_0_390);
    const struct wide in71 = interleave(r[7], r[1]), in53 = interleave(r[5], r[3]);
    const struct wide odd0 = add(dot(in71, F_0_298 - F_0_899, -F_0_899), z3),
                      odd3 = add(dot(in71, -F_0_899, F_1_501 - F_0_899), z4);
    const struct wide odd1 = add(dot(in53, F_2_053 - F_2_562, -F_2_562), z4),
                      odd2 = add(dot(in53, -F_2_562, F_3_072 - F_2_562), z3);

    r[0] = narrow(add(tmp10, odd3), shift);
    r[7] = narrow(sub(tmp10, odd3), shift);
    r[1] = narrow(add(tmp11, odd2), shift);
    r[6] = narrow(sub(tmp11, odd2), shift);
    r[2] = narrow(add(tmp12, odd1), shift);
    r[5] = narrow(sub(tmp12, odd1), shift);
    r[3] = narrow(add(tmp13, odd0), shift);
    r[4] = narrow(sub(tmp13, odd0), shift);
}

INLINE_AVX2 void transpose(__m256i r[8])
{
    __m256i a[8], b[8];
    for (int i = 0; i < 4; i++) {
        a[2 * i] = _mm256_unpacklo_epi16(r[2 * i], r[2 * i + 1]);
        a[2 * i + 1] = _mm256_unpackhi_epi16(r[2 * i], r[2 * i + 1]);
    }
    for (int i = 0; i < 2; i++) {
        b[4 * i] = _mm256_unpacklo_epi32(a[4 * i], a[4 * i + 2]);
        b[4 * i + 1] = _mm256_unpackhi_epi32(a[4 * i], a[4 * i + 2]);
        b[4 * i + 2] = _mm256_unpacklo_epi32(a[4 * i + 1], a[4 * i + 3]);
        b[4 * i + 3] = _mm256_unpackhi_epi32(a[4 * i + 1], a[4 * i + 3]);
    }
    for (int i = 0; i < 4; i++) {
        r[2 * i] = _mm256_unpacklo_epi64(b[i], b[i + 4]);
        r[2 * i + 1] = _mm256_unpackhi_epi64(b[i], b[i + 4]);
    }
}

INLINE_AVX2 __m256i both(const void *a, const void *b)
{
    return _mm256_inserti128_si256(_mm256_castsi128_si256(_mm_load_si128(a)), _mm_load_si128(b), 1);
}

/* Stores two rows of eight samples. */
INLINE_AVX2 void store_rows(const struct cw_jpeg_block *block, size_t row, __m128i two)
{
    _mm_storel_epi64((__m128i *)(void *)(block->dst + row * block->stride), two);
    _mm_storel_epi64((__m128i *)(void *)(block->dst + (row + 1) * block->stride),
                     _mm_unpackhi_epi64(two, two));
}

/* Whether both ways of computing agree: libjpeg-turbo shifts the first row to the left if all
 * others are 0, which wraps, while the transform saturates. */
INLINE_AVX2 bool is_usual(__m256i first)
{
    const __m256i shifted = _mm256_srai_epi16(_mm256_slli_epi16(first, PASS1_BITS), PASS1_BITS);
    return _mm256_movemask_epi8(_mm256_cmpeq_epi16(shifted, first)) == -1;
}

CW_CPU_AVX2 bool cw_jpeg_idct_pair(const struct cw_jpeg_block *a, const struct cw_jpeg_block *b)
{
    __m256i r[8];
    for (int i = 0; i < 8; i++)
        r[i] = _mm256_mullo_epi16(both(a->coef + 8 * i, b->coef + 8 * i),
                                  both(a->quant + 8 * i, b->quant + 8 * i));
    if (!is_usual(r[0]))
        return false;
    dct(r, CONST_BITS - PASS1_BITS);
    transpose(r);
    dct(r, CONST_BITS + PASS1_BITS + 3);
    transpose(r);
    const __m256i centre = _mm256_set1_epi8((char)-128);
    for (size_t i = 0; i < 8; i += 2) {
        const __m256i rows = _mm256_add_epi8(_mm256_packs_epi16(r[i], r[i + 1]), centre);
        store_rows(a, i, _mm256_castsi256_si128(rows));
        store_rows(b, i, _mm256_extracti128_si256(rows, 1));
    }
    return true;
}

void cw_jpeg_idct_flat(const struct cw_jpeg_block *block)
{
    /* The product is cut to 16 bits, as in the vector code. */
    const int16_t dc =
        (int16_t)(uint16_t)((uint32_t)(uint16_t)block->coef[0] * block->quant[0] << PASS1_BITS);
    int v = (dc + 16) >> 5;
    v = CW_MAX(CW_MIN(v, 127), -128) + 128;
    for (size_t i = 0; i < 8; i++)
        memset(block->dst + i * block->stride, v, 8);
}

#else

bool cw_jpeg_idct_pair(const struct cw_jpeg_block *a, const struct cw_jpeg_block *b)
{
    (void)a;
    (void)b;
    return false;
}

void cw_jpeg_idct_flat(const struct cw_jpeg_block *block)
{
    (void)block;
}

#endif
