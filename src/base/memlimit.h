/* SPDX-License-Identifier: Apache-2.0 */
/* How much memory the system lets this process use: the limit of its cgroup (version 2 or 1; the
 * smallest one on the path to the root), and the limit of its address space. */
#ifndef CW_BASE_MEMLIMIT_H
#define CW_BASE_MEMLIMIT_H

#include "base/compiler.h"

#define CW_MEMLIMIT_NONE UINT64_MAX

/* Returns the limit of the cgroup. root: "", or in tests a folder with copies of /proc and /sys. */
uint64_t cw_memlimit_cgroup(const char *root);
/* Returns the limit of the address space. */
uint64_t cw_memlimit_address_space(void);
/* Returns the smaller of the two. */
uint64_t cw_memlimit(void);
/* Returns how many of `wanted` bytes for data fit into a limit of which `used` bytes are in use: a
 * quarter of the limit, and at least 32 MiB, is reserved for everything else. The result is never
 * below 16 MiB, unless less is wanted. */
uint64_t cw_memlimit_fit(uint64_t wanted, uint64_t limit, uint64_t used);
/* Returns how many of `wanted` bytes this process can rely on. */
uint64_t cw_memlimit_lower(uint64_t wanted);

#endif
