/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels of the level that was chosen (kernels/cpu.h). */
#ifndef CW_OPS_KERNELS_KERNEL_TABLE_H
#define CW_OPS_KERNELS_KERNEL_TABLE_H

#include <stdbool.h>
#include "ops/kernels/cpu.h"
#include "ops/kernels/expr_loops.h"

struct cw_bands_job;
struct cw_blur_x;
struct cw_blur_y;
struct cw_columns_bounds;
struct cw_normalize;
struct cw_resample_x;
struct cw_resample_y;
struct cw_sinc_job;
struct cw_stft_job;

struct cw_kernels {
#define CW_KERNEL(name, parameters) void(*name) parameters;
#include "ops/kernels/kernel_list.h"
#undef CW_KERNEL
};

/* Lends the kernels of cw_cpu_level(). */
const struct cw_kernels *cw_kernels(void);
/* Lends the kernels of a level, for tests: each is of this level or, if it has none, of the highest
 * below. NULL if this machine cannot run them. */
const struct cw_kernels *cw_kernels_at(enum cw_cpu_level level);

#endif
