/* SPDX-License-Identifier: Apache-2.0 */
/* What a relaxed order changes, tried on a few elements before a job is started with it. */
#ifndef CW_EXEC_RELAXED_TRIAL_H
#define CW_EXEC_RELAXED_TRIAL_H

#include "base/str.h"
#include "plan/plan.h"

/* Computes the first 16 elements (of epoch 0) of the written pipeline and of the relaxed one, fewer where they are large,
 * and adds a line to the notes for how much each field differs: mean absolute difference and PSNR (with 255 as the peak of
 * u8, else the range of the written values). *ret_is_taken is false if the relaxed order gives other shapes, or an error
 * that the written one does not have: then the written order is to be used, and the note says why. Where the files are not
 * there nothing is compared, which is said as well. open: a plan with the same sources, which are then not opened again,
 * whose seed is taken, and whose stop flag ends the trial; NULL: they are opened once, with seed 0. Fails with CANCELLED
 * alone, if the flag is set. */
int cw_relaxed_trial(struct cw_plan *open, struct cw_checked *written, struct cw_checked *relaxed,
                     struct cw_str *notes, bool *ret_is_taken, struct cw_err *err);

#endif
