/* SPDX-License-Identifier: Apache-2.0 */
/* Says how a pipeline goes on behind operators whose number of elements depends on data: which of three
 * ways was taken, and why (docs/pipelines.md). */
#ifndef CW_CLIENT_TOOL_VIEW_CHECK_WAYS_H
#define CW_CLIENT_TOOL_VIEW_CHECK_WAYS_H

#include "graph/check.h"

/* Appends a line for each such operator. */
void tool_check_ways(const struct cw_checked *checked, struct cw_str *out);
/* The same as members of objects in a JSON list, without its brackets. */
void tool_check_ways_json(const struct cw_checked *checked, struct cw_str *out);

#endif
