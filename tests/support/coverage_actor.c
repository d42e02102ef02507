/* SPDX-License-Identifier: Apache-2.0 */
/* In each program of actors of the coverage build, in place of gcc's libgcov, whose files would be
 * on the simulated disk: the counters are those of the executable (coverage_world.c), which writes
 * them at its end. */
#include <stdint.h>

struct gcov_info;
void coverage_init(struct gcov_info *info);
void coverage_merge(int64_t *counters, unsigned n);

/* What gcc's code calls. */
void __gcov_init(struct gcov_info *info);
void __gcov_exit(void);
void __gcov_merge_add(int64_t *counters, unsigned n);

void __gcov_init(struct gcov_info *info)
{
    coverage_init(info);
}

void __gcov_exit(void)
{
}

void __gcov_merge_add(int64_t *counters, unsigned n)
{
    coverage_merge(counters, n);
}
