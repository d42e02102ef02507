/* SPDX-License-Identifier: Apache-2.0 */
/* Private mappings of shared memory: what this process writes into one is a page of its own, which
 * hides what others write there later. */
#ifndef CW_SHM_PRIVATE_PAGES_H
#define CW_SHM_PRIVATE_PAGES_H

#include <stddef.h>

/* Gives up the pages that this process has written in a private mapping, so that the shared ones show
 * again. `data` is the beginning of a page. Pages that were only read stay mapped, where the kernel
 * tells them apart: they cost no page faults when they are read again. */
void cw_private_pages_drop(void *data, size_t bytes);

/* Gives up all pages of a mapping of `cap` bytes if the first or the last one of `bytes` is of this
 * process, although none was written since cw_private_pages_drop(): a program that locks its memory
 * (mlock, mlockall) gets a copy of each page, which would hide what comes. Such a mapping is
 * unlocked. */
void cw_private_pages_check(void *data, size_t bytes, size_t cap);

#endif
