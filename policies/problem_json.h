/* SPDX-License-Identifier: Apache-2.0 */
/* Problems (optimize.h) as JSON: everything that a search saw, stored with its decision, so that
 * `cachew plan` of a file with it says the same again. docs/optimizing.md has the keys. */
#ifndef CW_POLICIES_PROBLEM_JSON_H
#define CW_POLICIES_PROBLEM_JSON_H

#include "conf/value.h"
#include "policies/optimize.h"

/* Appends {"problem": 1, ...}. Numbers read back the same. */
void cw_problem_print(const struct cw_optimize_problem *problem, struct cw_str *out);
/* Reads a problem, of which nothing is believed. Names belong to the value, which must live on. Messages
 * begin with `where` and name the key. */
int cw_problem_read(const struct cw_value *value, const char *where,
                    struct cw_optimize_problem *ret_problem, struct cw_err *err);

#endif
