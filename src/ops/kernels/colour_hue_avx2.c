/* SPDX-License-Identifier: Apache-2.0 */
/* Shifting the hue with AVX2: eight pixels at a time, with the operations of the plain loop in their order
 * and their precisions. */
#include "ops/kernels/colour.h"
#include "ops/kernels/cpu.h"

#if CW_CPU_X86

#include "ops/kernels/pixels8_avx2.h"

CW_PIXELS8_INLINE __m256d low_f64(__m256 x)
{
    return _mm256_cvtps_pd(_mm256_castps256_ps128(x));
}

CW_PIXELS8_INLINE __m256d high_f64(__m256 x)
{
    return _mm256_cvtps_pd(_mm256_extractf128_ps(x, 1));
}

CW_PIXELS8_INLINE __m256i join(__m128i low, __m128i high)
{
    return _mm256_inserti128_si256(_mm256_castsi128_si256(low), high, 1);
}

CW_PIXELS8_INLINE __m256 join_f32(__m128 low, __m128 high)
{
    return _mm256_insertf128_ps(_mm256_castps128_ps256(low), high, 1);
}

CW_PIXELS8_INLINE __m256d f64(double x)
{
    return _mm256_set1_pd(x);
}

/* (int)(x * 255), in double precision */
CW_PIXELS8_INLINE __m256i times_255(__m256 x)
{
    return join(_mm256_cvttpd_epi32(_mm256_mul_pd(low_f64(x), f64(255))),
                _mm256_cvttpd_epi32(_mm256_mul_pd(high_f64(x), f64(255))));
}

/* base + x - y, as a share of a turn of six, without whole turns */
CW_PIXELS8_INLINE __m128 turn4(__m256d base, __m256d x, __m256d y)
{
    const __m256d sixths =
        _mm256_cvtps_pd(_mm256_cvtpd_ps(_mm256_sub_pd(_mm256_add_pd(base, x), y)));
    const __m256d turn = _mm256_add_pd(_mm256_div_pd(sixths, f64(6)), f64(1));
    const __m256d is_whole = _mm256_cmp_pd(turn, f64(1), _CMP_GE_OQ);
    return _mm256_cvtpd_ps(_mm256_sub_pd(turn, _mm256_and_pd(is_whole, f64(1))));
}

/* H of pixels whose greatest sample is `most`, and the least one is `range` less. */
CW_PIXELS8_INLINE __m256i hue_of(__m256i r, __m256i g, __m256i b, __m256i most, __m256 range)
{
    const __m256 from_r = _mm256_div_ps(_mm256_cvtepi32_ps(_mm256_sub_epi32(most, r)), range),
                 from_g = _mm256_div_ps(_mm256_cvtepi32_ps(_mm256_sub_epi32(most, g)), range),
                 from_b = _mm256_div_ps(_mm256_cvtepi32_ps(_mm256_sub_epi32(most, b)), range);
    const __m256 is_r = _mm256_castsi256_ps(_mm256_cmpeq_epi32(r, most)),
                 is_g = _mm256_castsi256_ps(_mm256_cmpeq_epi32(g, most));
    /* b - g, 2 + r - b, or 4 + g - r; the first in double precision is exact, as in single */
    const __m256 base = _mm256_blendv_ps(
        _mm256_blendv_ps(_mm256_set1_ps(4), _mm256_set1_ps(2), is_g), _mm256_setzero_ps(), is_r);
    const __m256 x = _mm256_blendv_ps(_mm256_blendv_ps(from_g, from_r, is_g), from_b, is_r);
    const __m256 y = _mm256_blendv_ps(_mm256_blendv_ps(from_r, from_b, is_g), from_g, is_r);
    const __m256 turn = join_f32(turn4(low_f64(base), low_f64(x), low_f64(y)),
                                 turn4(high_f64(base), high_f64(x), high_f64(y)));
    return _mm256_min_epi32(times_255(turn), _mm256_set1_epi32(255));
}

/* v (1 - x), rounded half away from zero */
CW_PIXELS8_INLINE __m128i share4(__m256d v, __m256d x)
{
    const __m256d left = _mm256_mul_pd(v, _mm256_sub_pd(f64(1), x));
    return _mm256_cvttpd_epi32(_mm256_add_pd(left, f64(0.5)));
}

/* What a pixel's samples are besides v, in the bytes 1, 2 and 3: p, q and t of hsv2rgb. */
CW_PIXELS8_INLINE __m128i shares4(__m256d v, __m256d s, __m256d sf, __m256d f)
{
    const __m128i p = share4(v, s), q = share4(v, sf),
                  t = share4(v, _mm256_mul_pd(s, _mm256_sub_pd(f64(1), f)));
    return _mm_or_si128(_mm_slli_epi32(p, 8),
                        _mm_or_si128(_mm_slli_epi32(q, 16), _mm_slli_epi32(t, 24)));
}

/* x / 255 in double precision, of which all is kept in single precision but what `whole` has of it */
CW_PIXELS8_INLINE __m256 share_of_255(__m256 x, __m256 whole)
{
    const __m256d low = _mm256_div_pd(low_f64(x), f64(255)),
                  high = _mm256_div_pd(high_f64(x), f64(255));
    return join_f32(_mm256_cvtpd_ps(_mm256_sub_pd(low, low_f64(whole))),
                    _mm256_cvtpd_ps(_mm256_sub_pd(high, high_f64(whole))));
}

/* Which of the bytes v, p, q and t are r, g and b, for each sixth of the turn; 6 is 0 again. */
CW_PIXELS8_INLINE __m256i places_of(__m256i sixth)
{
    const __m256i places = _mm256_setr_epi32(0x010300, 0x010002, 0x030001, 0x000201, 0x000103,
                                             0x020100, 0x010300, 0x010300);
    const __m256i pixel = _mm256_broadcastsi128_si256(
        _mm_setr_epi32((int)0x80000000, (int)0x80040404, (int)0x80080808, (int)0x800c0c0c));
    return _mm256_or_si256(_mm256_permutevar8x32_epi32(places, sixth), pixel);
}

/* hsv2rgb of Pillow */
CW_PIXELS8_INLINE __m256i to_rgb(__m256i h, __m256i s, __m256i v)
{
    const __m256 six_h = _mm256_mul_ps(_mm256_cvtepi32_ps(h), _mm256_set1_ps(6));
    const __m256i sixth = join(_mm256_cvttpd_epi32(_mm256_div_pd(low_f64(six_h), f64(255))),
                               _mm256_cvttpd_epi32(_mm256_div_pd(high_f64(six_h), f64(255))));
    const __m256 f = share_of_255(six_h, _mm256_cvtepi32_ps(sixth)),
                 fs = share_of_255(_mm256_cvtepi32_ps(s), _mm256_setzero_ps()),
                 fsf = _mm256_mul_ps(fs, f), fv = _mm256_cvtepi32_ps(v);
    const __m256i shares = join(shares4(low_f64(fv), low_f64(fs), low_f64(fsf), low_f64(f)),
                                shares4(high_f64(fv), high_f64(fs), high_f64(fsf), high_f64(f)));
    return _mm256_shuffle_epi8(_mm256_or_si256(v, shares), places_of(sixth));
}

/* shift: what is added to H, in each lane */
CW_PIXELS8_INLINE __m256i shift8(__m256i pixels, __m256i shift)
{
    const __m256i r = cw_pixels8_channel(pixels, 0), g = cw_pixels8_channel(pixels, 1),
                  b = cw_pixels8_channel(pixels, 2);
    const __m256i most = _mm256_max_epi32(r, _mm256_max_epi32(g, b)),
                  least = _mm256_min_epi32(r, _mm256_min_epi32(g, b));
    const __m256 range = _mm256_cvtepi32_ps(_mm256_sub_epi32(most, least));
    /* Where the samples are equal there are numbers that are none; what comes of them is not taken. */
    const __m256i s = times_255(_mm256_div_ps(range, _mm256_cvtepi32_ps(most)));
    const __m256i h = _mm256_and_si256(_mm256_add_epi32(hue_of(r, g, b, most, range), shift),
                                       _mm256_set1_epi32(255));
    const __m256i grey = _mm256_mullo_epi32(most, _mm256_set1_epi32(0x010101));
    const __m256i has_colour = _mm256_cmpgt_epi32(s, _mm256_setzero_si256());
    return _mm256_blendv_epi8(grey, to_rgb(h, s, most), has_colour);
}

CW_CPU_AVX2 void cw_colour_shift_hue_avx2(uint8_t *dst, const uint8_t *src, size_t pixels,
                                          uint8_t shift)
{
    const size_t done = cw_pixels8_change(dst, src, pixels, shift8, _mm256_set1_epi32(shift));
    cw_colour_shift_hue_plain(dst + 3 * done, src + 3 * done, pixels - done, shift);
}

#else

void cw_colour_shift_hue_avx2(uint8_t *dst, const uint8_t *src, size_t pixels, uint8_t shift)
{
    cw_colour_shift_hue_plain(dst, src, pixels, shift);
}

#endif
