/* SPDX-License-Identifier: Apache-2.0 */
/* What a relaxed order changes, tried on a few elements before a job is started with it. */
#ifndef CW_EXEC_RELAXED_TRIAL_H
#define CW_EXEC_RELAXED_TRIAL_H

#include "base/str.h"
#include "graph/check.h"

/* Computes the first 16 elements (seed 0, epoch 0) of the written pipeline and of the relaxed one, and adds a line to the
 * notes for how much each field differs: mean absolute difference and PSNR (with 255 as the peak of u8, else the range of
 * the written values). Returns false if the relaxed order gives other shapes, or an error that the written one does not
 * have: then the written order is to be used, and the note says why. Where the files are not there nothing is compared,
 * which is said as well. */
bool cw_relaxed_trial(const struct cw_checked *written, const struct cw_checked *relaxed,
                      struct cw_str *notes);

#endif
