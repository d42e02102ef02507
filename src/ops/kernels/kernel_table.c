/* SPDX-License-Identifier: Apache-2.0 */
/* The table of kernels: a line for each, with a column for each level. */
#include "ops/kernels/kernel_table.h"

#include "ops/kernels/bands.h"
#include "ops/kernels/colour.h"
#include "ops/kernels/exact_f32.h"
#include "ops/kernels/columns.h"
#include "ops/kernels/neighbours.h"
#include "ops/kernels/normalize.h"
#include "ops/kernels/one_nan.h"
#include "ops/kernels/pixels.h"
#include "ops/kernels/resample.h"
#include "ops/kernels/sinc.h"
#include "ops/kernels/stft.h"
#include "ops/kernels/tone.h"

/* Where a level has no version of its own, the column repeats that of the level below. */
static const struct cw_kernels levels[CW_CPU_LEVELS] = {
    [CW_CPU_LEVEL_PLAIN] = {.bands_run = cw_bands_run_plain,
                            .blur_x = cw_blur_x_plain,
                            .blur_y = cw_blur_y_plain,
                            .column_bucket = cw_columns_bucket_plain,
                            .column_clip = cw_columns_clip_plain,
                            .column_fill = cw_columns_fill_plain,
                            .column_scale = cw_columns_scale_plain,
                            .exp_f32 = cw_exact_exp_f32_plain,
                            .expr_arith = cw_expr_loop_arith_plain,
                            .expr_load = cw_expr_loop_load_plain,
                            .expr_log = cw_expr_loop_log_plain,
                            .expr_round = cw_expr_loop_round_plain,
                            .expr_store = cw_expr_loop_store_plain,
                            .grey = cw_pixels_grey_plain,
                            .log_f32 = cw_exact_log_f32_plain,
                            .mirror3 = cw_pixels_mirror3_plain,
                            .normalize_u8 = cw_normalize_u8_plain,
                            .one_nan = cw_one_nan_plain,
                            .resample_x = cw_resample_x_plain,
                            .resample_y = cw_resample_y_plain,
                            .saturate = cw_colour_saturate_plain,
                            .shift_hue = cw_colour_shift_hue_plain,
                            .sinc_run = cw_sinc_run_plain,
                            .split3_f32 = cw_pixels_split3_f32_plain,
                            .split3_u8 = cw_pixels_split3_u8_plain,
                            .stft_block = cw_stft_block_plain,
                            .tone_map = cw_tone_map_plain},
    [CW_CPU_LEVEL_AVX2] = {.bands_run = cw_bands_run_avx2,
                           .blur_x = cw_blur_x_avx2,
                           .blur_y = cw_blur_y_avx2,
                           .column_bucket = cw_columns_bucket_avx2,
                           .column_clip = cw_columns_clip_avx2,
                           .column_fill = cw_columns_fill_avx2,
                           .column_scale = cw_columns_scale_avx2,
                           .exp_f32 = cw_exact_exp_f32_avx2,
                           .expr_arith = cw_expr_loop_arith_avx2,
                           .expr_load = cw_expr_loop_load_avx2,
                           .expr_log = cw_expr_loop_log_avx2,
                           .expr_round = cw_expr_loop_round_avx2,
                           .expr_store = cw_expr_loop_store_avx2,
                           .grey = cw_pixels_grey_avx2,
                           .log_f32 = cw_exact_log_f32_avx2,
                           .mirror3 = cw_pixels_mirror3_avx2,
                           .normalize_u8 = cw_normalize_u8_avx2,
                           .one_nan = cw_one_nan_avx2,
                           .resample_x = cw_resample_x_avx2,
                           .resample_y = cw_resample_y_avx2,
                           .saturate = cw_colour_saturate_avx2,
                           .shift_hue = cw_colour_shift_hue_avx2,
                           .sinc_run = cw_sinc_run_avx2,
                           .split3_f32 = cw_pixels_split3_f32_avx2,
                           .split3_u8 = cw_pixels_split3_u8_avx2,
                           .stft_block = cw_stft_block_avx2,
                           .tone_map = cw_tone_map_avx2},
    [CW_CPU_LEVEL_AVX512] = {.bands_run = cw_bands_run_avx2,
                             .blur_x = cw_blur_x_avx2,
                             .blur_y = cw_blur_y_avx2,
                             .column_bucket = cw_columns_bucket_avx2,
                             .column_clip = cw_columns_clip_avx2,
                             .column_fill = cw_columns_fill_avx2,
                             .column_scale = cw_columns_scale_avx2,
                             .exp_f32 = cw_exact_exp_f32_avx2,
                             .expr_arith = cw_expr_loop_arith_avx2,
                             .expr_load = cw_expr_loop_load_avx2,
                             .expr_log = cw_expr_loop_log_avx2,
                             .expr_round = cw_expr_loop_round_avx2,
                             .expr_store = cw_expr_loop_store_avx2,
                             .grey = cw_pixels_grey_avx2,
                             .log_f32 = cw_exact_log_f32_avx2,
                             .mirror3 = cw_pixels_mirror3_avx2,
                             .normalize_u8 = cw_normalize_u8_avx2,
                             .one_nan = cw_one_nan_avx2,
                             .resample_x = cw_resample_x_avx512,
                             .resample_y = cw_resample_y_avx512,
                             .saturate = cw_colour_saturate_avx2,
                             .shift_hue = cw_colour_shift_hue_avx2,
                             .sinc_run = cw_sinc_run_avx2,
                             .split3_f32 = cw_pixels_split3_f32_avx2,
                             .split3_u8 = cw_pixels_split3_u8_avx2,
                             .stft_block = cw_stft_block_avx2,
                             .tone_map = cw_tone_map_avx2},
};

const struct cw_kernels *cw_kernels(void)
{
    return &levels[cw_cpu_level()];
}

const struct cw_kernels *cw_kernels_at(enum cw_cpu_level level)
{
    return level <= cw_cpu_best() ? &levels[level] : NULL;
}
