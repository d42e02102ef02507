/* SPDX-License-Identifier: Apache-2.0 */
/* What a peer may say and hold. docs/limits.md explains each limit and says what happens beyond it.
 * They are enforced where messages come in, so that what is behind need not ask again. */
#ifndef CW_BASE_LIMITS_H
#define CW_BASE_LIMITS_H

/* ---- sets of items ---- */
/* The most items that a job is leased ahead of what is consumed. */
#define CW_WINDOW_MAX (1u << 20)
/* The most intervals of one set in a message: no window has more gaps. */
#define CW_INTERVALS_MAX CW_WINDOW_MAX
/* Sets are sent in ascending order. As many intervals may come in another one. */
#define CW_INTERVALS_UNSORTED_MAX 4096
/* The most epochs of a job of which items or batches are left out by request. */
#define CW_SKIPPED_EPOCHS_MAX 4096
/* The most runs of items or batches of one epoch that are left out by request. */
#define CW_SKIPPED_RUNS_MAX 65536

#endif
