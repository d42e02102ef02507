/* SPDX-License-Identifier: Apache-2.0 */
/* The steps of an emulated trainer, in milliseconds: "200"; or, if they change, for example
 * "200,100@20s,200@60s": 100 from 20 seconds after the first batch on, and so on. */
#ifndef CW_CLIENT_TOOL_STEPS_H
#define CW_CLIENT_TOOL_STEPS_H

#include "base/err.h"

#define TOOL_STEPS_MAX 16

struct tool_steps {
    int64_t at_ns[TOOL_STEPS_MAX], step_ns[TOOL_STEPS_MAX];
    size_t n;
};
int tool_steps_parse(const char *text, struct tool_steps *ret_steps, struct cw_err *err);
/* Returns the length of the step in ns; 0 if there are no steps. */
int64_t tool_steps_at(const struct tool_steps *steps, int64_t since_first_ns);

#endif
