/* SPDX-License-Identifier: Apache-2.0 */
/* In the coverage build included before all else into what ends a process by _exit, and there only
 * (tests/CMakeLists.txt): what the process has counted is written first. */
#ifndef CW_TESTS_SUPPORT_COVERAGE_EXIT_H
#define CW_TESTS_SUPPORT_COVERAGE_EXIT_H

/* As in unistd.h, which may not be included before a source has said what it wants of it. */
void _exit(int status) __attribute__((noreturn));
void __gcov_dump(void); /* gcc's */

__attribute__((noreturn, unused)) static inline void cw_coverage_exit(int status)
{
    __gcov_dump();
    _exit(status);
}
#define _exit(status) cw_coverage_exit(status)

#endif
