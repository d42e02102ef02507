/* SPDX-License-Identifier: Apache-2.0 */
/* All kernels that exist for more than one level (kernels/cpu.h), by name: CW_KERNEL(NAME,
 * PARAMETERS). Each writes to memory and returns nothing; all levels write the same bytes. It is
 * included with CW_KERNEL defined. */
CW_KERNEL(bands_run, (const struct cw_bands_job *job))
CW_KERNEL(blur_x, (const struct cw_blur_x *pass))
CW_KERNEL(blur_y, (const struct cw_blur_y *pass))
CW_KERNEL(column_bucket,
          (int64_t * dst, const float *src, size_t n, const struct cw_columns_bounds *bounds))
CW_KERNEL(column_clip, (float *dst, const float *src, size_t n, const float *low, const float *high,
                        size_t period))
CW_KERNEL(column_fill, (float *dst, const float *src, size_t n, const float *value, size_t period))
CW_KERNEL(column_scale, (float *dst, const float *src, size_t n, const float *mean,
                         const float *std, size_t period))
CW_KERNEL(exp_f32, (float *dst, const float *src, size_t n))
CW_KERNEL(expr_arith, (double *dst, struct cw_expr_loop_operand a, struct cw_expr_loop_operand b,
                       size_t n, enum cw_expr_loop_sign sign))
CW_KERNEL(expr_load, (double *dst, const float *src, size_t n))
CW_KERNEL(expr_log, (double *v, size_t n))
CW_KERNEL(expr_round, (double *v, size_t n))
CW_KERNEL(expr_store, (float *dst, const double *src, size_t n))
CW_KERNEL(grey, (uint8_t * dst, const uint8_t *rgb, size_t n))
CW_KERNEL(log_f32, (float *dst, const float *src, size_t n))
CW_KERNEL(mirror3, (void *dst, const void *src, size_t rows, size_t n))
CW_KERNEL(normalize_u8, (const struct cw_normalize *normalize, float *dst, const uint8_t *src,
                         size_t n, size_t whole))
CW_KERNEL(one_nan, (float *v, size_t n))
CW_KERNEL(resample_x, (const struct cw_resample_x *pass))
CW_KERNEL(resample_y, (const struct cw_resample_y *pass))
CW_KERNEL(saturate, (uint8_t * dst, const uint8_t *src, size_t pixels, float factor))
CW_KERNEL(shift_hue, (uint8_t * dst, const uint8_t *src, size_t pixels, uint8_t shift))
CW_KERNEL(sinc_run, (const struct cw_sinc_job *job))
CW_KERNEL(split3_f32, (void *dst, const void *src, size_t pixels, size_t plane))
CW_KERNEL(split3_u8, (void *dst, const void *src, size_t pixels, size_t plane))
CW_KERNEL(stft_block, (const struct cw_stft_job *job))
CW_KERNEL(tone_map, (uint8_t * dst, const uint8_t *src, size_t n, const uint8_t *table))
