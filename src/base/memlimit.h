/* SPDX-License-Identifier: Apache-2.0 */
/* What the system lets this process hold: the memory limit of its cgroup (version 2 and 1, the
 * smallest on the way to the root), and of its address space. */
#ifndef CW_BASE_MEMLIMIT_H
#define CW_BASE_MEMLIMIT_H

#include "base/compiler.h"

#define CW_MEMLIMIT_NONE UINT64_MAX

/* Of the cgroup: root is "" but in tests, where it has the files of /proc and /sys. */
uint64_t cw_memlimit_cgroup(const char *root);
uint64_t cw_memlimit_address_space(void);
/* The smaller one of this process. */
uint64_t cw_memlimit(void);
/* How much of `wanted` bytes for data goes into a limit, of which `used` are taken already: a
 * quarter of the limit, at least 32 MiB, is left for what is not data. Never less than 16 MiB,
 * unless less is wanted. */
uint64_t cw_memlimit_fit(uint64_t wanted, uint64_t limit, uint64_t used);
/* The most of `wanted` bytes that this process may count on. */
uint64_t cw_memlimit_lower(uint64_t wanted);

#endif
