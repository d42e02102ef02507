/* SPDX-License-Identifier: Apache-2.0 */
/* cachew cache SUBCOMMAND: finds the subcommand and runs it. */
#include <stdio.h>
#include <string.h>

#include "client/tool/tool.h"

static const struct tool_command commands[] = {
#define TOOL(name, summary) {#name, summary, tool_cache_##name},
#include "client/tool/cache_list.h"
#undef TOOL
};

static void print_help(FILE *out)
{
    fprintf(out, "usage: cachew cache COMMAND [options]\n\nWhat is kept in the cache, and its chunks.\n\ncommands:\n");
    for (size_t i = 0; i < CW_ARRAY_LEN(commands); i++)
        fprintf(out, "  %-10s %s\n", commands[i].name, commands[i].summary);
    fprintf(out, "\n`cachew cache COMMAND --help` describes a command.\n");
}

static int unknown_command(const char *name)
{
    const char *names[CW_ARRAY_LEN(commands) + 1] = {NULL};
    for (size_t i = 0; i < CW_ARRAY_LEN(commands); i++)
        names[i] = commands[i].name;
    const char *near = cw_str_nearest(name, names);
    if (near)
        fprintf(stderr, "cachew cache: no command \"%s\": did you mean \"%s\"?\n", name, near);
    else
        fprintf(stderr, "cachew cache: no command \"%s\": see cachew cache --help\n", name);
    return TOOL_USAGE;
}

int tool_cmd_cache(int argc, char **argv)
{
    if (argc < 2) {
        print_help(stderr);
        return TOOL_USAGE;
    }
    if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") || !strcmp(argv[1], "help")) {
        print_help(stdout);
        return TOOL_OK;
    }
    for (size_t i = 0; i < CW_ARRAY_LEN(commands); i++)
        if (!strcmp(argv[1], commands[i].name))
            return commands[i].run(argc - 1, argv + 1);
    return unknown_command(argv[1]);
}
