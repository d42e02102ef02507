/* SPDX-License-Identifier: Apache-2.0 */
/* The cgroup of this process and those above it, of version 2 and 1. What a limit is, and in which
 * file it stands, is known by the callers (memlimit.c, cpulimit.c). */
#ifndef CW_BASE_CGROUP_H
#define CW_BASE_CGROUP_H

/* Called with the version (2 or 1) and the folder of a group, which need not exist. */
typedef void cw_cgroup_visit_fn(void *arg, int version, const char *folder);

/* Calls `visit` for each group from the own one up to the root in which limits of the controller
 * ("memory", "cpu") may stand. root: "", or in tests a folder with copies of /proc and /sys. */
void cw_cgroup_visit(const char *root, const char *controller, cw_cgroup_visit_fn *visit,
                     void *arg);

#endif
