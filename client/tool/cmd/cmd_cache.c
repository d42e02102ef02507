/* SPDX-License-Identifier: Apache-2.0 */
/* cachew cache SUBCOMMAND: runs a subcommand of cache_list.h. */
#include "client/tool/tool.h"

static const struct tool_command list[] = {
#define TOOL(name, summary) {#name, summary, tool_cache_##name},
#include "client/tool/cache_list.h"
#undef TOOL
};

int tool_cmd_cache(int argc, char **argv)
{
    static const struct tool_commands commands = {.program = "cachew cache",
                                                  .about =
                                                      "What is kept in the cache, and its chunks.",
                                                  .tail = "",
                                                  .v = list,
                                                  .n = CW_ARRAY_LEN(list)};
    return tool_dispatch(&commands, argc, argv);
}
