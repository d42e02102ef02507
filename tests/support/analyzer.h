/* SPDX-License-Identifier: Apache-2.0 */
/* Included before every source by tests/analyze.sh: tells analyzers, which see one file at a time, that what sets an error
 * returns a code that is not 0. Without it each of our functions seems to succeed with its results unset. */
#ifndef CW_TEST_ANALYZER_H
#define CW_TEST_ANALYZER_H
#include "base/err.h"

#define cw_err_set(err, code, ...) (cw_err_set((err), (code), __VA_ARGS__), (code))
#define cw_err_errno(err, sys_errno, ...) (cw_err_errno((err), (sys_errno), __VA_ARGS__), CW_E_IO)
#define cw_err_wrap(err, ...) (cw_err_wrap((err), __VA_ARGS__), CW_E_INTERNAL)

#endif
