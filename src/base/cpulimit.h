/* SPDX-License-Identifier: Apache-2.0 */
/* How many CPUs the system lets this process use: those that it may run on, and the quota of its
 * cgroup (version 2 or 1; the smallest one on the path to the root). What the host has and how busy
 * it is, hostload.h says. */
#ifndef CW_BASE_CPULIMIT_H
#define CW_BASE_CPULIMIT_H

#include <stdint.h>

/* Returns the quota of the cgroup in CPUs, rounded up; 0: none. root: "", or in tests a folder with
 * copies of /proc and /sys. */
uint32_t cw_cpulimit_cgroup(const char *root);
/* Returns how many CPUs this process may use, at least 1: the default number of threads. */
uint32_t cw_cpulimit(void);

#endif
