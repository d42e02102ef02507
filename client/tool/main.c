/* SPDX-License-Identifier: Apache-2.0 */
/* cachew: the command-line tool. Finds the command and runs it. */
#include <stdio.h>
#include <string.h>

#include "base/version.h"
#include "client/tool/tool.h"

static const struct tool_command commands[] = {
#define TOOL(name, summary) {#name, summary, tool_cmd_##name},
#include "client/tool/tool_list.h"
#undef TOOL
};

static void print_help(FILE *out)
{
    fprintf(out, "usage: cachew COMMAND [options]\n\n"
                 "Input data processing for machine learning, as a service.\n\ncommands:\n");
    for (size_t i = 0; i < CW_ARRAY_LEN(commands); i++)
        fprintf(out, "  %-11s %s\n", commands[i].name, commands[i].summary);
    fprintf(out, "\n`cachew COMMAND --help` describes a command. The dispatcher's address comes from\n"
                 "--dispatcher or $CACHEW_DISPATCHER; without one, commands that run pipelines use a\n"
                 "private service on this host (local:).\n");
}

static int unknown_command(const char *name)
{
    const char *names[CW_ARRAY_LEN(commands) + 1];
    for (size_t i = 0; i < CW_ARRAY_LEN(commands); i++)
        names[i] = commands[i].name;
    names[CW_ARRAY_LEN(commands)] = NULL;
    const char *near = cw_str_nearest(name, names);
    if (near)
        fprintf(stderr, "cachew: no command \"%s\": did you mean \"%s\"?\n", name, near);
    else
        fprintf(stderr, "cachew: no command \"%s\": see cachew --help\n", name);
    return TOOL_USAGE;
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        print_help(stderr);
        return TOOL_USAGE;
    }
    if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") || !strcmp(argv[1], "help")) {
        print_help(stdout);
        return TOOL_OK;
    }
    if (!strcmp(argv[1], "--version")) {
        printf("cachew %s\n", CW_VERSION);
        return TOOL_OK;
    }
    for (size_t i = 0; i < CW_ARRAY_LEN(commands); i++)
        if (!strcmp(argv[1], commands[i].name))
            return commands[i].run(argc - 1, argv + 1);
    return unknown_command(argv[1]);
}
