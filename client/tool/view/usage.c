/* SPDX-License-Identifier: Apache-2.0 */
/* Resource usage as cells of tables. */
#include "client/tool/view/usage.h"

void tool_usage_cells(struct tool_table *table, const Cachew__V1__Usage *usage)
{
    CW_STR_AUTO cpu = {0};
    CW_STR_AUTO workers = {0};
    tool_print_time(usage ? (double)usage->cpu_ns / 1e9 : 0, &cpu);
    tool_print_time(usage ? usage->remote_s : 0, &workers);
    if (usage && usage->local_s > 0) {
        cw_str_add(&workers, " + ");
        tool_print_time(usage->local_s, &workers);
        cw_str_add(&workers, " local");
    }
    tool_table_add(table, "%s", cw_str_text(&cpu));
    tool_table_add(table, "%s", cw_str_text(&workers));
    if (usage && usage->cost > 0)
        tool_table_add(table, "%.2f", usage->cost);
    else
        tool_table_add(table, "-");
}
