/* SPDX-License-Identifier: Apache-2.0 */
/* CPU time, worker time and cost of jobs and tenants, as cells of tables. usage is NULL if there is none. */
#ifndef CW_CLIENT_TOOL_VIEW_USAGE_H
#define CW_CLIENT_TOOL_VIEW_USAGE_H

#include "cachew/v1/admin.pb-c.h"
#include "client/tool/tool.h"

#define TOOL_USAGE_HEADS "CPU", "WORKER TIME", "COST"
void tool_usage_cells(struct tool_table *table, const Cachew__V1__Usage *usage);

#endif
