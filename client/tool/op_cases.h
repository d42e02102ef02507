/* SPDX-License-Identifier: Apache-2.0 */
/* Runs the cases of operators of one's own: each is a small pipeline with the elements that must come out
 * (docs/user-operators.md). */
#ifndef CW_CLIENT_TOOL_OP_CASES_H
#define CW_CLIENT_TOOL_OP_CASES_H

/* Runs the cases of a file and prints those that fail. Returns an exit code of the tool. */
int tool_op_cases(const char *path);

#endif
