/* SPDX-License-Identifier: Apache-2.0 */
/* Resource usage as cells of tables and members of JSON objects. */
#include "client/tool/view/usage.h"

void tool_usage_members(struct cw_str *out, const Cachew__V1__Usage *usage)
{
    static const Cachew__V1__Usage none = CACHEW__V1__USAGE__INIT;
    const Cachew__V1__Usage *u = usage ? usage : &none;
    tool_json_real(out, "cpu_seconds", (double)u->cpu_ns / 1e9);
    tool_json_real(out, "worker_seconds", u->remote_s);
    tool_json_real(out, "local_worker_seconds", u->local_s);
    tool_json_real(out, "client_seconds", u->client_s);
    tool_json_real(out, "cost", u->cost);
}

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
